"""Pairwise training from the first step to the best weights."""

from collections.abc import Callable
from typing import Unpack

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.fit import FitResult, fit
from training.fit_options import FitOptions
from training.negative_sampling import NegativeSampler
from training.pairwise_batches import PairwiseBatches, TextEncoding
from training.pairwise_settings import PairwiseSettings
from training.pairwise_trainer import PairwiseTrainer
from training.scoring import SplitScorer


def fit_pairwise(
    ranker: keras.Model,
    encoding: TextEncoding,
    train: EncodedSplit,
    dev: EncodedSplit,
    settings: PairwiseSettings,
    measure: Callable[[EncodedSplit, np.ndarray], dict[str, float]],
    *,
    seed: int = 0,
    edge_norm: float | None = None,
    **options: Unpack[FitOptions],
) -> FitResult:
    """Train a ranker with the pairwise hinge loss and leave it with the weights of its best epoch on dev.

    Args:
        ranker: `matcher([*encoder(question), *encoder(answer)])`, such as `models.hyperqa` builds.
        encoding: how texts become vectors: `PackedBagOfWords` or `PaddedTexts` of the ranker's encoder.
        train: the training questions.
        dev: the questions that choose the best epoch.
        settings: the options of the training.
        measure: maps a split and the scores of its rows to figures, `map` among them.
        seed: seeds order and draws; the ranker's initial weights have their own seed.
        edge_norm: see `PairwiseTrainer`.
        **options: `label`, `state_path`, `state_key`, `callbacks` and `verbose`, see `training.fit.fit`.

    Returns:
        The history; the ranker holds the best weights.

    Raises:
        TrainingDivergedError: see `training.fit.fit`.
        UserError: see there; or no question has answers to train on.

    Example:
        >>> settings = PairwiseSettings(epochs=5)  # doctest: +SKIP
        >>> result = fit_pairwise(model, encoding, data.train, data.dev, settings, measure)  # doctest: +SKIP
        >>> result.history[-1]["dev_map"]  # doctest: +SKIP
    """
    strategy = tf.distribute.get_strategy()
    sampler = NegativeSampler(
        train,
        sampling=settings.sampling,
        own_negatives=settings.own_negatives,
        foreign_negatives=settings.foreign_negatives,
        seed=seed,
    )
    batches = PairwiseBatches(
        sampler,
        encoding,
        settings.batch_size,
        reduction=settings.reduction,
        replicas=strategy.num_replicas_in_sync,
    )
    if sampler.needs_scores:
        batches.scores = SplitScorer(ranker, encoding, train)
    trainer = PairwiseTrainer(
        ranker,
        encoding,
        margin=settings.margin,
        eq9=settings.eq9,
        l2=settings.l2,
        clip_norm=settings.clip_norm,
        clip_value=settings.clip_value,
        edge_norm=edge_norm,
    )
    score_dev = SplitScorer(ranker, encoding, dev)
    return fit(trainer, batches, lambda: measure(dev, score_dev()), settings, **options)
