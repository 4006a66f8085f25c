"""Training a ranker from the first step to the best weights, resumable, whatever the loss."""

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from answer_ranking.base.errors import TrainingDivergedError, UserError
from answer_ranking.base.files import atomic_write
from answer_ranking.data_prep import EncodedSplit
from answer_ranking.evaluation import measure
from answer_ranking.models.sizes import n_trained
from answer_ranking.training.batch_stream import BatchStream, TrainingMethod
from answer_ranking.training.options import FitOptions
from answer_ranking.training.scoring import make_scorer

# Trained parameters of a model whose steps take about a second each.
_LARGE = 4_000_000
_CURE = "A lower learning rate usually helps; a saved state is that of the epochs before."
_OTHER = "{} belongs to another configuration. Remove it, or choose another --output folder."
_LISTS = ("weights", "optimizer", "best_weights")


@dataclass(frozen=True)
class FitResult:
    """The outcome of a training.

    Attributes:
        history: one dictionary of figures per epoch: the step's metrics, such as `loss`, then `seconds` and
            `dev_map`, `dev_mrr`, ...
        best_epoch: the epoch, from 0, whose weights the ranker now has; -1 without any epoch.
    """

    history: list[dict[str, float]]
    best_epoch: int


def fit(
    ranker: keras.Model,
    method: TrainingMethod,
    dev: EncodedSplit,
    *,
    state: str | Path | None = None,
    key: str = "",
    label: str = "training",
    callbacks: Sequence[keras.callbacks.Callback] = (),
    verbose: bool = True,
) -> FitResult:
    """Train a ranker, leave it with the weights of its best epoch on dev, and give the history.

    Args:
        ranker: the model to train, whose scores are float32 `(batch,)`, or of lists `(batch, candidates)`.
        method: `Pairwise`, `Pointwise` or another of `METHODS`, with the training data and options.
        dev: the questions that choose the best epoch, by MAP over those with a correct answer.
        state: a file that keeps the state after every epoch; a training that finds its state there goes on.
        key: names the configuration; a state under another key is refused. Without keys, any state is taken.
        label, verbose: what the progress line calls this training, and whether to show it.
        callbacks: further Keras callbacks, such as `keras.callbacks.TensorBoard`.

    Raises:
        TrainingDivergedError: loss, gradient, a weight or a score of dev is no longer finite; ranker and
            saved state then have the weights of the epochs before.
        UserError, ValueError: state, optimizer, dev, method, features or precision do not fit the ranker.

    Example:
        >>> from answer_ranking.data_prep import encode_dataset, load_dataset
        >>> from answer_ranking.models import hyperqa
        >>> from answer_ranking.training import Pairwise, PairwiseOptions
        >>> data = encode_dataset(load_dataset("sample"))
        >>> vectors = np.random.default_rng(0).normal(size=(len(data.vocabulary), 8))
        >>> method = Pairwise(data.train, PairwiseOptions(epochs=2))
        >>> len(fit(hyperqa(vectors, dimension=4), method, dev=data.dev, verbose=False).history)
        2
    """
    trainer, batches = _prepared(ranker, method)
    reached, options = TrainingState.load(state, key), method.options
    selection = DevSelection(_measurement(ranker, method, dev), reached, options.patience)
    start = keras.callbacks.LambdaCallback(on_epoch_begin=batches.start)
    around = [start, StopOnDivergence(), selection, *method.callbacks, *callbacks]
    if verbose:
        around.append(ProgressLine(label, options.epochs, len(batches), reached.history))
    try:
        trainer.fit(
            batches.dataset(),
            epochs=options.epochs,
            initial_epoch=_first_epoch(reached, options),
            callbacks=around,
            shuffle=False,
            verbose=0,
        )
    except TrainingDivergedError:
        selection.on_train_end()
        raise
    finally:
        if verbose:
            around[-1].bar.close()
    return FitResult(reached.history, reached.best_epoch)


def _prepared(ranker: keras.Model, method: TrainingMethod) -> tuple[keras.Model, BatchStream]:
    """Compile the training step of a ranker, and lay out its batches."""
    _check_ranker(ranker)
    if tf.distribute.get_strategy().num_replicas_in_sync > 1:
        raise UserError("a training has one device. Train seeds side by side: --jobs or --ray.")
    _check_weights(ranker)
    optimizer = _optimizer(method.options, ranker.trainable_variables)
    optimizer.build(ranker.trainable_variables)
    trainer = method.trainer(ranker)
    batches = BatchStream(method, trainer)
    # The step does not scale its loss.
    trainer.compile(
        optimizer,
        steps_per_execution=_steps_of_a_call(ranker, batches.n_batches),
        jit_compile=False,
        auto_scale_loss=False,
    )
    return trainer, batches


def _check_ranker(ranker: keras.Model) -> None:
    """Raise a UserError for a ranker that no step could train as it says."""
    if any(layer.compute_dtype == "float16" for layer in ranker._flatten_layers()):
        raise UserError("gradients in float16 fall to zero: use mixed_bfloat16 or float32.")
    if ranker.losses:
        raise UserError(
            f"{ranker.name} has penalties of its own (a regularizer, or add_loss), which are no part of the "
            "loss here: leave them out, and use the option l2."
        )
    of_lists = "answers" in [x.name for x in ranker.inputs]
    wanted, cure = ("(batch, candidates)", "") if of_lists else ("(batch,)", ", such as by Reshape(())")
    if [(len(x.shape), x.dtype) for x in ranker.outputs] != [(1 + of_lists, "float32")]:
        given = " and ".join(f"{tuple(x.shape)} in {x.dtype}" for x in ranker.outputs)
        raise UserError(f"{ranker.name} gives scores {given}: give one output, float32 {wanted}{cure}.")


def _steps_of_a_call(ranker: keras.Model, n_batches: int) -> int:
    """Say how many steps run as one call into TensorFlow, which costs as much as a small step.

    With a large model an interruption and the progress line need not wait for 32 steps.
    """
    return 1 if n_trained(ranker) > _LARGE else min(n_batches, 32)


def _measurement(
    ranker: keras.Model, method: TrainingMethod, dev: EncodedSplit
) -> Callable[[], dict[str, float]]:
    """Make the function that measures the ranker on the questions of dev with a correct answer."""
    # The other questions have no average precision.
    dev = dev.keep_questions(dev.counts_under("answerable"))
    if not dev.n_questions:
        raise UserError(
            "no dev question has a correct answer: nothing can choose the epoch. Check its labels."
        )
    score_dev = make_scorer(ranker, dev)

    def measured() -> dict[str, float]:
        scores = score_dev()
        if not np.isfinite(scores).all():
            raise TrainingDivergedError(f"Training stopped: scores of dev are not finite. {_CURE}")
        return {f"dev_{name}": value for name, value in measure(dev, scores).items()}

    return measured


def _first_epoch(reached: "TrainingState", options: FitOptions) -> int:
    """Say with which epoch a training goes on; after the last one where its patience is at an end."""
    done = len(reached.history)
    if options.patience is not None and done - 1 - reached.best_epoch >= options.patience:
        return options.epochs
    return done


def _check_weights(ranker: keras.Model) -> None:
    """Raise a UserError for weights from which no rate could train: they come from the word vectors."""
    for variable in ranker.weights:
        values = variable.numpy()
        if not np.issubdtype(values.dtype, np.floating):
            continue
        if not np.isfinite(values).all():
            raise UserError(
                f"the weights {variable.path} are not finite before the first step. Check the word vectors."
            )
        if variable.name == "embeddings" and not values.any():
            raise UserError(
                f"the word vectors ({variable.path}) are all zero: every text would be the same. "
                "Choose other --embeddings."
            )


def _optimizer(options: FitOptions, variables: list[keras.Variable]) -> keras.optimizers.Optimizer:
    config = {"learning_rate": options.learning_rate}
    if options.weight_decay is not None:
        config["weight_decay"] = options.weight_decay
    try:
        optimizer = keras.optimizers.get({"class_name": options.optimizer, "config": config})
    except ValueError as error:
        raise UserError(
            f"Keras has no optimizer {options.optimizer!r}: name one such as adagrad, adam or sgd."
        ) from error
    if options.weight_decay is not None:
        optimizer.exclude_from_weight_decay([each for each in variables if len(each.shape) < 2])
    return optimizer


@dataclass
class TrainingState:
    """All that an interrupted training needs to continue after a whole epoch.

    Order of data, draws of negatives and masks drawn with a batch are functions of seed and epoch.
    """

    weights: list[np.ndarray] = field(default_factory=list)
    # The optimizer's variables, then the states of the random numbers of dropout layers.
    optimizer: list[np.ndarray] = field(default_factory=list)
    best_weights: list[np.ndarray] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = -1
    key: str = ""
    path: Path | None = None

    def save(self) -> None:
        """Write the state to its file, if it has one."""
        if self.path is None:
            return
        arrays: dict[str, Any] = {}
        lengths = []
        for name in _LISTS:
            values = getattr(self, name)
            lengths.append(len(values))
            for i, array in enumerate(values):
                arrays[f"{name}_{i}"] = array
        facts = {"history": self.history, "best_epoch": self.best_epoch, "key": self.key}
        facts["lengths"] = lengths
        with atomic_write(self.path, "wb") as file:
            np.savez(file, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)

    @classmethod
    def load(cls, file: str | Path | None, key: str) -> "TrainingState":
        """Read the state; return that of the beginning where there is no file."""
        path = None if file is None else Path(file)
        if path is None or not path.exists():
            return cls(key=key, path=path)
        try:
            with np.load(path, allow_pickle=False) as stored:
                facts = json.loads(bytes(stored["facts"]))
                for name, n in zip(_LISTS, facts.pop("lengths"), strict=True):
                    facts[name] = [stored[f"{name}_{i}"] for i in range(n)]
                state = cls(**facts, path=path)
        except Exception as error:  # damaged bytes raise errors of a dozen kinds
            raise UserError(f"{path} is damaged ({error}). Remove it to train from the start.") from error
        if state.key != key:
            raise UserError(_OTHER.format(path))
        return state


class StopOnDivergence(keras.callbacks.Callback):
    """Raises `TrainingDivergedError` at the end of the first group of steps that is not finite."""

    def on_train_batch_end(self, batch, logs=None):
        if all(map(math.isfinite, (logs or {}).values())):
            return
        step = int(self.model.failed_step.value)
        loss, norm = map(float, self.model.failed_values.value.numpy())
        where, cause = ("the loss", loss) if not math.isfinite(loss) else ("the gradient's norm", norm)
        self._stop(step, f"{where} is {cause} (loss {loss}, gradient norm {norm}, ")

    def on_epoch_end(self, epoch, logs=None):
        # No further step could notice that the last update left weights that are not finite.
        if not np.isfinite(self._largest_weight()):
            step = int(self.model.optimizer.iterations.value) - 1
            self._stop(step, f"the update gave weights that are not finite (loss {logs['loss']}, ")

    def _largest_weight(self) -> float:
        """Give the largest absolute value of a weight; NaN if there is one."""
        largest = 0.0
        for value in _values(self.model.ranker.trainable_variables):
            largest = np.maximum(largest, np.abs(value).max())
        return float(largest)

    def _stop(self, step: int, cause: str) -> None:
        largest = self._largest_weight()
        raise TrainingDivergedError(
            f"Training stopped at step {step}: {cause}largest weight {largest:.3g}). {_CURE}"
        )


class DevSelection(keras.callbacks.Callback):
    """Measures every epoch on dev, keeps the weights of the best one, and saves the state after each.

    The figures join the epoch's logs as `dev_...`, so that the history, TensorBoard and later callbacks see
    them. After the training the model has the best weights.
    """

    def __init__(
        self,
        measure: Callable[[], dict[str, float]],
        state: TrainingState,
        patience: int | None,
    ):
        super().__init__()
        self.measure, self.state, self.patience = measure, state, patience
        self._began = 0.0

    def on_train_begin(self, logs=None):
        if not self.state.history:
            return
        variables = [*_changed_by_training(self.model.ranker), *self._further_variables()]
        values = [*self.state.weights, *self.state.optimizer]
        if list(map(np.shape, variables)) != list(map(np.shape, values)):
            raise UserError(_OTHER.format(self.state.path))
        _assign(variables, values)

    def on_epoch_begin(self, epoch, logs=None):
        self._began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        logs["seconds"] = time.perf_counter() - self._began
        logs |= self.measure()
        state = self.state
        state.history.append({name: float(value) for name, value in logs.items()})
        state.weights = _values(_changed_by_training(self.model.ranker))
        state.optimizer = _values(self._further_variables())
        # Of equal epochs the first: later ones had more chance to overfit.
        if state.best_epoch < 0 or logs["dev_map"] > state.history[state.best_epoch]["dev_map"]:
            state.best_epoch = epoch
            state.best_weights = state.weights
        state.save()
        if self.patience is not None and epoch - state.best_epoch >= self.patience:
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        if self.state.best_weights:
            _assign(_changed_by_training(self.model.ranker), self.state.best_weights)

    def _further_variables(self) -> list[keras.Variable]:
        further = list(self.model.optimizer.variables)
        for variable in self.model.ranker.non_trainable_variables:
            if "seed_generator_state" in variable.path:
                further.append(variable)
        return further


def _changed_by_training(ranker: keras.Model) -> list[keras.Variable]:
    """List trained weights, and what layers that are trained change without a gradient: moving averages."""
    frozen: set[int] = set()
    for layer in ranker._flatten_layers():
        if not layer.trainable:
            frozen.update(map(id, layer.variables))
    changed = list(ranker.trainable_variables)
    for variable in ranker.non_trainable_variables:
        if id(variable) not in frozen and "seed_generator_state" not in variable.path:
            changed.append(variable)
    return changed


class ProgressLine(keras.callbacks.Callback):
    """One line for a whole training: share done, epoch, loss, dev MAP, time left.

    Where nobody looks, in a log, it is one line per epoch.
    """

    def __init__(self, label: str, epochs: int, steps: int, history: list[dict[str, float]]):
        super().__init__()
        self.label, self.epochs, self.steps = label, epochs, steps
        self.best = max((epoch["dev_map"] for epoch in history), default=-math.inf)
        self.bar = tqdm(
            total=epochs * steps,
            initial=min(len(history), epochs) * steps,
            desc=label,
            bar_format="{desc}: {percentage:3.0f}%|{bar:20}| {elapsed}<{remaining} left{postfix}",
            mininterval=0.2,
            dynamic_ncols=True,
            disable=None,
        )

    def on_train_batch_end(self, batch, logs=None):
        if self.bar.disable:
            return
        self.bar.n = self.bar.initial // self.steps * self.steps + batch + 1
        self.bar.refresh(nolock=True) if self.bar.n == self.bar.total else self.bar.update(0)

    def on_epoch_end(self, epoch, logs=None):
        self.best = max(self.best, logs["dev_map"])
        reached = f"epoch {epoch + 1}/{self.epochs}, loss {logs['loss']:.4f}, "
        reached += f"dev map {logs['dev_map']:.4f} (best {self.best:.4f})"
        if self.bar.disable:
            print(f"{self.label}: {reached}", file=sys.stderr, flush=True)
            return
        self.bar.initial = (epoch + 1) * self.steps
        self.bar.n = self.bar.initial
        self.bar.set_postfix_str(reached)


def _values(variables: list[keras.Variable]) -> list[np.ndarray]:
    return [variable.numpy() for variable in variables]


def _assign(variables: list[keras.Variable], values: list[np.ndarray]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
