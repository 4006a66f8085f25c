"""Training with the slanted triangular learning rate."""

from typing import Any

import keras

from training.slanted_triangular import SlantedTriangular


class SlantedTriangularRate(keras.callbacks.Callback):
    """Puts `SlantedTriangular` in place of the optimizer's constant learning rate.

    `fit` knows how many steps a training has. Give the callback to `fit_pointwise` or `fit_listwise`, and the
    rate rises and falls once over all steps of all epochs; a training that was interrupted goes on with the
    rate at which it stopped, since the optimizer's count of steps is part of the saved state.

    Args:
        peak: the highest rate.
        cut_fraction: share of the steps in which the rate rises.
        ratio: how many times the lowest rate the highest one is.

    Raises:
        ValueError: an option is out of range, or, as `fit` begins, the number of steps is not known.

    Example:
        >>> rate = SlantedTriangularRate(2e-3)
        >>> fit_pointwise(model, train, dev, settings, measure, callbacks=[rate])  # doctest: +SKIP
    """

    def __init__(self, peak: float, *, cut_fraction: float = 0.1, ratio: float = 32.0):
        super().__init__()
        self.options = {"peak": peak, "cut_fraction": cut_fraction, "ratio": ratio}
        SlantedTriangular(steps=1, **self.options)  # refuses options out of range before a training begins

    def set_params(self, params: dict[str, Any]) -> None:
        """Learn the number of steps.

        Keras calls this before any callback's `on_train_begin`: when saved variables are put back, the
        constant rate has to be no variable of the optimizer any more.
        """
        super().set_params(params)
        if params.get("steps") is None:
            raise ValueError(f"the number of steps of an epoch must be known. Received: params={params}")
        steps = max(1, params["epochs"] * params["steps"])
        self.model.optimizer.learning_rate = SlantedTriangular(steps=steps, **self.options)
