"""List-wise training from the first step to the best weights."""

from collections.abc import Callable
from typing import Unpack

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.fit import FitResult, fit
from training.fit_options import FitOptions
from training.list_scorer import ListScorer
from training.listwise_batches import ListwiseBatches
from training.listwise_settings import ListwiseSettings
from training.listwise_trainer import ListwiseTrainer


def fit_listwise(
    ranker: keras.Model,
    train: EncodedSplit,
    dev: EncodedSplit,
    settings: ListwiseSettings,
    measure: Callable[[EncodedSplit, np.ndarray], dict[str, float]],
    *,
    seed: int = 0,
    order_seed: int | None = None,
    **options: Unpack[FitOptions],
) -> FitResult:
    """Train a ranker on lists of candidates and leave it with the weights of its best epoch on dev.

    Args:
        ranker: scores lists: inputs `question` and `answers`, such as `models.cosinet` builds with
            objective="listwise".
        train: the training questions; those without a correct answer are left out.
        dev: the questions that choose the best epoch.
        settings: the options of the training.
        measure: maps a split and the scores of its rows to figures, `map` among them.
        seed: seeds the order of the questions; the ranker's initial weights and dropout have their own seed.
        order_seed: None shows candidates in the splits' order; else they are shuffled, in training and in
            scoring, as a data set wants whose order gives the label away (see `candidate_lists.list_rows`).
        **options: `label`, `state_path`, `state_key`, `callbacks` and `verbose`, see `training.fit.fit`.

    Returns:
        The history; the ranker holds the best weights.

    Raises:
        TrainingDivergedError: see `training.fit.fit`.
        UserError: see there; or no training question has both a correct answer and a wrong one.

    Example:
        >>> settings = ListwiseSettings(epochs=5)  # doctest: +SKIP
        >>> result = fit_listwise(model, data.train, data.dev, settings, measure)  # doctest: +SKIP
        >>> result.history[-1]["dev_map"]  # doctest: +SKIP
    """
    strategy = tf.distribute.get_strategy()
    batches = ListwiseBatches(
        train,
        settings.batch_size,
        seed=seed,
        order_seed=order_seed,
        max_candidates=settings.max_candidates,
        replicas=strategy.num_replicas_in_sync,
    )
    trainer = ListwiseTrainer(
        ranker, l2=settings.l2, clip_norm=settings.clip_norm, clip_value=settings.clip_value
    )
    score_dev = ListScorer(ranker, dev, order_seed=order_seed)
    return fit(trainer, batches, lambda: measure(dev, score_dev()), settings, **options)
