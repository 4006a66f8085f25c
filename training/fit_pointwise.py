"""Pointwise training from the first step to the best weights."""

from collections.abc import Callable
from typing import Unpack

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.fit import FitResult, fit
from training.fit_options import FitOptions
from training.pair_scorer import PairScorer
from training.pointwise_batches import PointwiseBatches
from training.pointwise_settings import PointwiseSettings
from training.pointwise_trainer import PointwiseTrainer


def fit_pointwise(
    ranker: keras.Model,
    train: EncodedSplit,
    dev: EncodedSplit,
    settings: PointwiseSettings,
    measure: Callable[[EncodedSplit, np.ndarray], dict[str, float]],
    *,
    seed: int = 0,
    **options: Unpack[FitOptions],
) -> FitResult:
    """Train a ranker with binary cross entropy and leave it with the weights of its best epoch on dev.

    Args:
        ranker: scores padded pairs: inputs `question`, `answer` and, if it has any, `features`.
        train: the training pairs.
        dev: the questions that choose the best epoch.
        settings: the options of the training.
        measure: maps a split and the scores of its rows to figures, `map` among them.
        seed: seeds the order of the pairs; the ranker's initial weights and dropout have their own seed.
        **options: `label`, `state_path`, `state_key`, `callbacks` and `verbose`, see `training.fit.fit`.

    Returns:
        The history; the ranker holds the best weights.

    Raises:
        TrainingDivergedError: see `training.fit.fit`.
        UserError: see there; or the training labels are all the same.
        ValueError: the ranker wants features that a split does not have.

    Example:
        >>> settings = PointwiseSettings(epochs=5)  # doctest: +SKIP
        >>> result = fit_pointwise(model, data.train, data.dev, settings, measure)  # doctest: +SKIP
        >>> result.history[-1]["dev_map"]  # doctest: +SKIP
    """
    if "features" in [x.name for x in ranker.inputs] and train.features is None:
        raise ValueError("the ranker has the input `features`. Received: training pairs without features")
    strategy = tf.distribute.get_strategy()
    batches = PointwiseBatches(train, settings.batch_size, seed=seed, replicas=strategy.num_replicas_in_sync)
    trainer = PointwiseTrainer(
        ranker, l2=settings.l2, clip_norm=settings.clip_norm, clip_value=settings.clip_value
    )
    score_dev = PairScorer(ranker, dev)
    return fit(trainer, batches, lambda: measure(dev, score_dev()), settings, **options)
