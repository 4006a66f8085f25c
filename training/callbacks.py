"""Callbacks to give to `fit`: the slanted triangular learning rate, and HyperQA's norms."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.data_prep import EncodedSplit


@keras.saving.register_keras_serializable(package="answer_ranking")
class SlantedTriangular(keras.optimizers.schedules.LearningRateSchedule):
    """The rate of step t of T, see `SlantedTriangularRate`; beyond the last step it stays at the lowest."""

    def __init__(self, peak: float, steps: int, cut_fraction: float = 0.1, ratio: float = 32.0):
        super().__init__()
        if not (peak > 0 and steps >= 1 and 0 <= cut_fraction < 1 and ratio >= 1):
            raise ValueError(
                "`peak` must be above 0, `steps` and `ratio` at least 1, `cut_fraction` from 0 and below 1. "
                f"Received: peak={peak}, steps={steps}, cut_fraction={cut_fraction}, ratio={ratio}"
            )
        self.peak, self.steps, self.cut_fraction, self.ratio = peak, steps, cut_fraction, ratio

    def __call__(self, step: Any) -> Any:
        step = ops.cast(step, "float32")
        cut = math.floor(self.steps * self.cut_fraction)
        # Without a way up the division by 1 is never looked at.
        rising = step / max(cut, 1)
        falling = 1.0 - (step - cut) / (self.steps - cut)
        share = ops.maximum(ops.where(step < cut, rising, falling), 0.0)
        return self.peak * (1.0 + share * (self.ratio - 1.0)) / self.ratio

    def get_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("peak", "steps", "cut_fraction", "ratio")}


class SlantedTriangularRate(keras.callbacks.Callback):
    """A learning rate that rises for a short while and then falls for the rest of the training.

    [Universal Language Model Fine-tuning for Text Classification](https://aclanthology.org/P18-1031), Eq. 3:
    in step t of the T steps of all epochs, from 0, with cut = floor(T * cut_fraction),

    ```
    p = t / cut                       for t < cut,
        1 - (t - cut) / (T - cut)     else
    rate = peak * (1 + p * (ratio - 1)) / ratio
    ```

    The paper writes cut * (1 / cut_fraction - 1) for T - cut, which is the same where T * cut_fraction is a
    whole number; where it is not, short trainings end with rates below 0. A training that was interrupted
    goes on with the rate at which it stopped: the saved state has the count of steps.

    Args:
        peak: the highest rate, above 0. It takes the place of the optimizer's constant rate.
        cut_fraction: share of the steps in which the rate rises, from 0 and below 1. The paper has 0.1.
        ratio: how many times the lowest rate the highest one is, at least 1. The paper has 32.

    Raises:
        ValueError: an option is out of range, or, as `fit` begins, the number of steps is not known.

    Example:
        >>> rate = SlantedTriangularRate(2e-3)
        >>> fit(model, method, dev=data.dev, callbacks=[rate])  # doctest: +SKIP
    """

    def __init__(self, peak: float, *, cut_fraction: float = 0.1, ratio: float = 32.0):
        super().__init__()
        self.options = {"peak": peak, "cut_fraction": cut_fraction, "ratio": ratio}
        SlantedTriangular(steps=1, **self.options)  # refuses options out of range before a training begins

    def set_params(self, params: dict[str, Any]) -> None:
        # Keras calls this before any `on_train_begin`. When saved variables are put back, the constant rate
        # must not be a variable of the optimizer any more.
        super().set_params(params)
        if params.get("steps") is None:
            raise ValueError(f"the number of steps of an epoch must be known. Received: params={params}")
        steps = max(1, params["epochs"] * params["steps"])
        self.model.optimizer.learning_rate = SlantedTriangular(steps=steps, **self.options)


class NormTracker(keras.callbacks.Callback):
    """Measures the norms of a split's texts before the first step and after every epoch of HyperQA.

    It keeps quantiles of the Euclidean norms before the texts are brought onto the ball (the sums of Eq. 2)
    and after it, and the share of texts on the ball's edge, for questions and answers. An answer counts as
    often as it is a candidate. The trainer's `encoding` must have `pack`, `sums` and `ball`, as `BagOfWords`.

    Args:
        split: the questions and candidates.
        edge_norm: points at this norm or beyond count as lying on the edge.

    Attributes:
        rows: one dictionary per measurement, `{"questions": ..., "answers": ...}`, each with `before` and
            `after` (the `QUANTILES`) and `on_edge` (a share).

    Example:
        >>> tracker = NormTracker(data.dev, edge_norm=0.7)  # doctest: +SKIP
        >>> fit(model, method, dev=data.dev, callbacks=[tracker])  # doctest: +SKIP
        >>> tracker.rows[-1]["questions"]["before"]  # doctest: +SKIP
        [12.1, 31.7, 80.2]
    """

    QUANTILES = (0.05, 0.5, 0.95)

    def __init__(self, split: EncodedSplit, edge_norm: float):
        super().__init__()
        self.split = split
        self.edge_norm = edge_norm
        self.rows: list[dict[str, dict]] = []
        self._packed: dict[str, tuple] = {}

    def on_train_begin(self, logs=None):
        pack, candidates = self.model.encoding.pack, self.split.candidates
        self._packed = {
            "questions": (pack(self.split.questions), slice(None)),
            "answers": (pack(candidates.texts), candidates.index),
        }
        self._measure()

    def on_epoch_end(self, epoch, logs=None):
        self._measure()

    def _measure(self) -> None:
        encoding = self.model.encoding
        row = {}
        for name, (packed, of_row) in self._packed.items():
            sums = encoding.sums(packed)
            before, after = _norms(sums)[of_row], _norms(encoding.ball(sums))[of_row]
            row[name] = {
                "before": np.quantile(before, self.QUANTILES).tolist(),
                "after": np.quantile(after, self.QUANTILES).tolist(),
                # The tolerance of the logged `edge_share`.
                "on_edge": float((after >= self.edge_norm * (1 - 1e-5)).mean()),
            }
        self.rows.append(row)


def _norms(vectors: Any) -> np.ndarray:
    return np.linalg.norm(np.asarray(vectors, np.float64), axis=1)
