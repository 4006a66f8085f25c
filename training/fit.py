"""Training from the first step to the best weights, resumable, whatever the loss."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import keras
import tensorflow as tf

from data_prep import UserError
from training.batch_stream import Batches
from training.callbacks import (
    DevSelection,
    KeepEpoch,
    ProgressLine,
    StopOnDivergence,
    TrainingDivergedError,
)
from training.fit_settings import FitSettings
from training.ranker_trainer import RankerTrainer
from training.training_state import TrainingState


@dataclass(frozen=True)
class FitResult:
    """What a training brought about.

    Attributes:
        history: one dictionary of figures per epoch: the trainer's metrics, such as `loss`, then `seconds`
            and `dev_...`.
        best_epoch: the epoch, from 0, whose weights the ranker now has.
        seconds: the whole time of this call, with preparation and validation.
    """

    history: list[dict[str, float]]
    best_epoch: int
    seconds: float


def fit(
    trainer: RankerTrainer,
    batches: Batches,
    measure_dev: Callable[[], dict[str, float]],
    settings: FitSettings,
    *,
    label: str = "training",
    state_path: Path | None = None,
    state_key: str = "",
    callbacks: Sequence[keras.callbacks.Callback] = (),
    verbose: bool = True,
) -> FitResult:
    """Train a ranker and leave it with the weights of its best epoch on dev.

    Call it within the scope of a `tf.distribute.MirroredStrategy` (as the ranker must be built there) to
    train on several devices.

    Args:
        trainer: computes the steps; its `ranker` is what is trained.
        batches: the training data.
        measure_dev: returns figures on dev under the ranker's current weights, `map` among them.
        settings: the options.
        label: what the progress line calls this training.
        state_path: a file that keeps the state after every epoch; a training that finds its state there
            goes on from it.
        state_key: names the configuration; a state under another key is refused.
        callbacks: further Keras callbacks, such as `keras.callbacks.TensorBoard`.
        verbose: whether to show the progress line.

    Returns:
        The history; the ranker holds the best weights.

    Raises:
        TrainingDivergedError: the loss, its gradient or a weight is no longer finite; the ranker then has
            the best weights of the epochs before, and the saved state is theirs.
        UserError: the saved state is damaged or another configuration's, or the optimizer is unknown.
    """
    began = time.perf_counter()
    try:
        optimizer = keras.optimizers.get(
            {"class_name": settings.optimizer, "config": {"learning_rate": settings.learning_rate}}
        )
    except ValueError as error:
        raise UserError(
            f"Keras has no optimizer {settings.optimizer!r}: name one such as adagrad, adam or sgd."
        ) from error
    optimizer.build(trainer.ranker.trainable_variables)
    # Several steps run as one call into TensorFlow, since the call itself costs as much as a small step.
    # Keras' loop over steps does not compile for several replicas.
    steps = min(len(batches), 32) if tf.distribute.get_strategy().num_replicas_in_sync == 1 else 1
    trainer.compile(optimizer=optimizer, steps_per_execution=steps, jit_compile=False)

    state = TrainingState.load(state_path, state_key) if state_path else None
    first_epoch = len(state.history) if state else 0
    selection = DevSelection(
        measure_dev,
        patience=settings.patience,
        state_path=state_path,
        state_key=state_key,
        resumed=state,
    )
    waited = first_epoch - 1 - state.best_epoch if state else 0
    if settings.patience is not None and waited >= settings.patience:
        first_epoch = settings.epochs
    around = [KeepEpoch(batches), StopOnDivergence(), selection, *callbacks]
    best = max((epoch["dev_map"] for epoch in selection.state.history), default=-math.inf)
    progress = [ProgressLine(label, settings.epochs, len(batches), first_epoch, best)] if verbose else []
    try:
        trainer.fit(
            batches.dataset(),
            epochs=settings.epochs,
            initial_epoch=first_epoch,
            callbacks=[*around, *progress],
            shuffle=False,
            verbose=0,
        )
    except TrainingDivergedError:
        selection.on_train_end()
        raise
    finally:
        for line in progress:
            line.bar.close()
    return FitResult(selection.state.history, selection.state.best_epoch, time.perf_counter() - began)
