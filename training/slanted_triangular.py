"""The slanted triangular learning rate."""

import math
from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="answer_ranking")
class SlantedTriangular(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that rises for a short while and then falls for the rest of the training.

    [Universal Language Model Fine-tuning for Text Classification](https://aclanthology.org/P18-1031), Eq. 3:
    in step t of T, from 0, with cut = floor(T * cut_fraction),

    ```
    p = t / cut                       for t < cut,
        1 - (t - cut) / (T - cut)     else
    rate = peak * (1 + p * (ratio - 1)) / ratio
    ```

    It rises from peak / ratio to the peak and falls back towards peak / ratio. The paper writes
    cut * (1 / cut_fraction - 1) for T - cut, which is the same where T * cut_fraction is a whole number;
    where it is not, the paper's way down ends too early, and short trainings end with rates below 0. Beyond
    the last step the rate stays at peak / ratio.

    The rate is a function of the number of steps taken, so a training that goes on from a saved optimizer
    goes on with its rate.

    Args:
        peak: the highest rate, above 0.
        steps: T, the steps of the whole training, at least 1.
        cut_fraction: share of the steps in which the rate rises, from 0 and below 1. The paper has 0.1.
        ratio: how many times the lowest rate the highest one is, at least 1. The paper has 32.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> rate = SlantedTriangular(0.32, steps=20, cut_fraction=0.1, ratio=32)
        >>> [round(float(rate(step)), 4) for step in (0, 1, 2, 11, 20)]
        [0.01, 0.165, 0.32, 0.165, 0.01]
    """

    def __init__(self, peak: float, steps: int, cut_fraction: float = 0.1, ratio: float = 32.0):
        super().__init__()
        if not (peak > 0 and steps >= 1 and 0 <= cut_fraction < 1 and ratio >= 1):
            raise ValueError(
                "`peak` must be above 0, `steps` and `ratio` at least 1, `cut_fraction` from 0 and below 1. "
                f"Received: peak={peak}, steps={steps}, cut_fraction={cut_fraction}, ratio={ratio}"
            )
        self.peak = peak
        self.steps = steps
        self.cut_fraction = cut_fraction
        self.ratio = ratio

    def __call__(self, step: Any) -> Any:
        """Give the rate of a step.

        Args:
            step: how many steps were taken before.

        Returns:
            Scalar float32 tensor.
        """
        step = ops.cast(step, "float32")
        cut = math.floor(self.steps * self.cut_fraction)
        # Without a way up the division by 1 is never looked at.
        rising = step / max(cut, 1)
        falling = 1.0 - (step - cut) / (self.steps - cut)
        share = ops.maximum(ops.where(step < cut, rising, falling), 0.0)
        return self.peak * (1.0 + share * (self.ratio - 1.0)) / self.ratio

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal schedule."""
        return {
            "peak": self.peak,
            "steps": self.steps,
            "cut_fraction": self.cut_fraction,
            "ratio": self.ratio,
        }
