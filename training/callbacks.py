"""What happens around the epochs of a training: validation, best weights, saved state, progress, alarms."""

import math
import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
from tqdm import tqdm

from data_prep.errors import UserError
from training.batch_stream import Batches
from training.training_state import TrainingState


class TrainingDivergedError(UserError):
    """The loss or its gradient stopped being finite; the message names the step and the cause."""


class KeepEpoch(keras.callbacks.Callback):
    """Tells the batches which epoch begins, since order and draws of negatives depend on it."""

    def __init__(self, batches: Batches):
        super().__init__()
        self.batches = batches

    def on_epoch_begin(self, epoch, logs=None):
        """Set the number of the epoch."""
        self.batches.epoch = epoch


class StopOnDivergence(keras.callbacks.Callback):
    """Ends a training whose loss, gradient or weights are not finite.

    Raises:
        TrainingDivergedError: out of `fit`, at the end of the batch or of the group of batches that ran as
            one.
    """

    def on_train_batch_end(self, batch, logs=None):
        """Look whether a step failed."""
        if all(map(math.isfinite, (logs or {}).values())):
            return
        step = int(self.model.failed_step.value)
        loss, norm = map(float, self.model.failed_values.value.numpy())
        where, cause = ("the loss", loss) if not math.isfinite(loss) else ("the gradient's norm", norm)
        self._stop(step, f"{where} is {cause} (loss {loss}, gradient norm {norm}, ")

    def on_epoch_end(self, epoch, logs=None):
        """Look whether the last update, which no further step could notice, left the weights finite."""
        if not all(np.isfinite(v.numpy()).all() for v in self.model.ranker.trainable_variables):
            step = int(self.model.optimizer.iterations.value) - 1
            self._stop(step, f"the update gave weights that are not finite (loss {logs['loss']}, ")

    def _stop(self, step: int, cause: str) -> None:
        largest = max(float(np.abs(v.numpy()).max()) for v in self.model.ranker.trainable_variables)
        raise TrainingDivergedError(
            f"Training stopped at step {step}: {cause}largest weight {largest:.3g}). A lower "
            "learning rate or --clip-norm usually mends it. What was saved after the epochs before is kept."
        )


class DevSelection(keras.callbacks.Callback):
    """Measures every epoch on dev, keeps the weights of the best one, and saves the state after each.

    The figures join the epoch's logs under the names `dev_...`, so the history, TensorBoard and any later
    callback see them. Training stops when `patience` epochs passed without a better one. After the training
    the model has the best weights.

    Args:
        measure: returns the figures on dev under the current weights; `map` chooses.
        patience: how many epochs to wait for a better one; None for ever.
        state_path: where to keep the state after every epoch; None keeps none.
        state_key: names the configuration; see `TrainingState`.
        resumed: the state that this training goes on from.
    """

    def __init__(
        self,
        measure: Callable[[], dict[str, float]],
        *,
        patience: int | None = None,
        state_path: Path | None = None,
        state_key: str = "",
        resumed: TrainingState | None = None,
    ):
        super().__init__()
        self.measure = measure
        self.patience = patience
        self.state_path = state_path
        self.state = resumed or TrainingState([], [], [], key=state_key)
        self._began = 0.0

    def on_train_begin(self, logs=None):
        """Take up the saved weights and the optimizer's variables."""
        if self.state.history:
            _assign(self.model.ranker.trainable_variables, self.state.weights)
            _assign(self._further_variables(), self.state.optimizer)

    def on_epoch_begin(self, epoch, logs=None):
        """Start the clock."""
        self._began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Measure, compare, save."""
        logs["seconds"] = time.perf_counter() - self._began
        logs |= {f"dev_{name}": value for name, value in self.measure().items()}
        state = self.state
        state.history.append({name: float(value) for name, value in logs.items()})
        state.weights = [v.numpy() for v in self.model.ranker.trainable_variables]
        state.optimizer = [v.numpy() for v in self._further_variables()]
        # Of equal epochs the first: later ones had more chance to overfit.
        if state.best_epoch < 0 or logs["dev_map"] > state.history[state.best_epoch]["dev_map"]:
            state.best_epoch = epoch
            state.best_weights = state.weights
        if self.state_path is not None:
            state.save(self.state_path)
        if self.patience is not None and epoch - state.best_epoch >= self.patience:
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        """Give the model the best weights."""
        if state_weights := self.state.best_weights:
            _assign(self.model.ranker.trainable_variables, state_weights)

    def _further_variables(self) -> list[keras.Variable]:
        """Give the optimizer's variables and the states of the random numbers of dropout layers."""
        seeds = [v for v in self.model.ranker.non_trainable_variables if "seed_generator_state" in v.path]
        return [*self.model.optimizer.variables, *seeds]


class ProgressLine(keras.callbacks.Callback):
    """One line for a whole training: share done, epoch, loss, dev MAP, time left.

    Args:
        label: what is being trained.
        epochs: how many epochs the training has.
        steps: how many steps an epoch has.
        first_epoch: the epoch that this run starts with.
        best: the best dev MAP of the epochs before.
    """

    def __init__(
        self,
        label: str,
        epochs: int,
        steps: int,
        first_epoch: int = 0,
        best: float = -math.inf,
    ):
        super().__init__()
        self.epochs, self.steps, self.best = epochs, steps, best
        self.bar = tqdm(
            total=epochs * steps,
            initial=first_epoch * steps,
            desc=label,
            bar_format="{desc}: {percentage:3.0f}%|{bar:20}| {elapsed}<{remaining} left{postfix}",
            mininterval=0.2,
            dynamic_ncols=True,
        )

    def on_train_batch_end(self, batch, logs=None):
        """Move the bar."""
        self.bar.n = self.bar.initial // self.steps * self.steps + batch + 1
        self.bar.refresh(nolock=True) if self.bar.n == self.bar.total else self.bar.update(0)

    def on_epoch_end(self, epoch, logs=None):
        """Show the epoch's figures."""
        self.best = max(self.best, logs["dev_map"])
        self.bar.initial = (epoch + 1) * self.steps
        self.bar.n = self.bar.initial
        self.bar.set_postfix_str(
            f"epoch {epoch + 1}/{self.epochs}, loss {logs['loss']:.4f}, "
            f"dev map {logs['dev_map']:.4f} (best {self.best:.4f})"
        )

    def on_train_end(self, logs=None):
        """Leave the finished line standing."""
        self.bar.close()


def _assign(variables: list[keras.Variable], values: list[np.ndarray]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
