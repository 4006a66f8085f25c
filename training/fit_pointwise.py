"""Pointwise training from the first step to the best weights."""

from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.fit import FitResult, fit
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
    label: str = "training",
    state_path: Path | None = None,
    state_key: str = "",
    callbacks: Sequence[keras.callbacks.Callback] = (),
    verbose: bool = True,
) -> FitResult:
    """Train a ranker with binary cross entropy and leave it with the weights of its best epoch on dev.

    Args:
        ranker: scores padded pairs: inputs `question`, `answer` and, if it has any, `features`.
        train: the training pairs.
        dev: the questions that choose the best epoch.
        settings: the options.
        measure: maps a split and the scores of its rows to figures, `map` among them.
        seed: seeds the order of the pairs; the ranker's initial weights and dropout have their own seed.
        label: see `training.fit.fit`, as the remaining arguments.
        state_path: see there.
        state_key: see there.
        callbacks: see there.
        verbose: see there.

    Returns:
        The history; the ranker holds the best weights.

    Raises:
        TrainingDivergedError: see `training.fit.fit`.
        UserError: see there; or the training labels are all the same.
        ValueError: the ranker wants features that a split does not have.
    """
    if "features" in [x.name for x in ranker.inputs] and train.features is None:
        raise ValueError("the ranker has the input `features`. Received: training pairs without features")
    strategy = tf.distribute.get_strategy()
    batches = PointwiseBatches(train, settings.batch_size, seed=seed, replicas=strategy.num_replicas_in_sync)
    trainer = PointwiseTrainer(
        ranker, l2=settings.l2, clip_norm=settings.clip_norm, clip_value=settings.clip_value
    )
    score_dev = PairScorer(ranker, dev)
    return fit(
        trainer,
        batches,
        lambda: measure(dev, score_dev()),
        settings,
        label=label,
        state_path=state_path,
        state_key=state_key,
        callbacks=callbacks,
        verbose=verbose,
    )
