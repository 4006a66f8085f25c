"""An optimizer that applies HyperQA's Eq. 9 to the gradients of weights, in any Keras training.

`layers.riemannian_gradient` has the formula and its readings; `training.fit` applies it by the option `eq9`,
without this optimizer. Eq. 8 is the optimizer's step. Its retraction is the identity, since the parameters
live in Euclidean space; the layer `layers.UnitBall` brings the text vectors back onto the ball in the next
forward pass.
"""

from typing import Any

import keras
from keras import ops

from answer_ranking.layers.riemannian_gradient import PARAMETER_READINGS, convert_parameter_gradients


@keras.saving.register_keras_serializable(package="answer_ranking")
class RiemannianOptimizer(keras.optimizers.Optimizer):
    """An optimizer that converts gradients by Eq. 9 of HyperQA and hands them to another optimizer.

    For the reading `points`, put the layer `RiemannianGradient` into the model. The conversion comes
    before the inner optimizer's clipping. The variables are the inner optimizer's, and so are learning rate
    and step count. It works on every backend. A `LossScaleOptimizer` may stand inside or around it: gradients
    are converted without their scale. Under `tf.distribute` each replica converts its own gradients, and with
    gradient accumulation in the inner optimizer each part of a batch: that differs for "released_code" alone.

    Args:
        inner: the optimizer that takes the step.
        reading: "parameters" or "released_code".
        name: the name of the optimizer.

    Raises:
        ValueError: the reading is unknown, or is not one of gradients of parameters.

    Example:
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        >>> optimizer = RiemannianOptimizer(keras.optimizers.Adagrad(0.1), "parameters")
        >>> model.compile(optimizer=optimizer, loss="mse")
        >>> round(float(optimizer.learning_rate), 6)
        0.1
    """

    built: bool

    def __init__(self, inner: keras.optimizers.Optimizer, reading: str, name: str | None = None):
        if reading not in PARAMETER_READINGS:
            raise ValueError(f"`reading` must be one of {PARAMETER_READINGS}. Received: reading={reading!r}")
        super().__init__(learning_rate=0.0, name=name)
        self.inner = keras.optimizers.get(inner)
        self.reading = reading

    def build(self, variables: list[keras.Variable]) -> None:
        self.inner.build(variables)
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            with keras.name_scope(self.name):
                self.build(trainable_variables)
            self.built = True
        variables = list(trainable_variables or self._trainable_variables)
        self.inner.apply(self._converted(grads, variables), trainable_variables)

    def stateless_apply(self, optimizer_variables, grads, trainable_variables):
        state = zip(self.inner.variables, optimizer_variables, strict=True)
        with keras.StatelessScope(state_mapping=list(state)):
            grads = self._converted(grads, trainable_variables)
        return self.inner.stateless_apply(optimizer_variables, grads, trainable_variables)

    def _converted(self, grads: list[Any], variables: list[Any]) -> list[Any]:
        """Convert gradients that are `scale` times too large, and leave them as large again."""
        scale = self.inner.scale_loss(1.0)
        converted = []
        for gradient, variable in zip(grads, variables, strict=True):
            if gradient is not None:
                # The gradients of embeddings may come in slices.
                gradient, point = ops.convert_to_tensor(gradient), ops.convert_to_tensor(variable)
                own_scale = ops.cast(scale, gradient.dtype)
                [gradient] = convert_parameter_gradients([gradient / own_scale], [point], self.reading)
                gradient = gradient * own_scale
            converted.append(gradient)
        return converted

    @property
    def variables(self) -> list[keras.Variable]:
        return self.inner.variables

    @property
    def inner_optimizer(self) -> keras.optimizers.Optimizer:
        """The optimizer that takes the step: where Keras' callbacks look for moving averages and rates."""
        inner = self.inner
        while hasattr(inner, "inner_optimizer"):
            inner = inner.inner_optimizer
        return inner

    @property
    def _model_variables_moving_average(self) -> list[keras.Variable]:
        # `SwapEMAWeights` looks here where a `LossScaleOptimizer` stands around this one.
        return self.inner_optimizer._model_variables_moving_average

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        self.inner_optimizer.exclude_from_weight_decay(var_list, var_names)

    @property
    def iterations(self) -> keras.Variable:
        return self.inner.iterations

    @property
    def learning_rate(self) -> Any:
        return self.inner.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        self.inner.learning_rate = learning_rate

    @property
    def loss_scale_factor(self) -> float | None:
        # Not None where the loss is scaled inside: Keras under TensorFlow assigns no value that is there.
        if isinstance(self.inner, keras.optimizers.LossScaleOptimizer):
            return self.inner.initial_scale
        return self.inner.loss_scale_factor

    @loss_scale_factor.setter
    def loss_scale_factor(self, factor: float | None) -> None:
        # Keras sets it to None for an optimizer that it puts into a `LossScaleOptimizer`: then the loss is
        # scaled there, and no more inside.
        if "inner" in vars(self):
            if isinstance(self.inner, keras.optimizers.LossScaleOptimizer):
                self.inner = self.inner.inner_optimizer
            self.inner.loss_scale_factor = factor

    def scale_loss(self, loss):
        return self.inner.scale_loss(loss)

    def finalize_variable_values(self, var_list):
        self.inner.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        inner = keras.saving.serialize_keras_object(self.inner)
        return {"inner": inner, "reading": self.reading, "name": self.name}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        inner = keras.saving.deserialize_keras_object(config["inner"], custom_objects=custom_objects)
        return cls(**config | {"inner": inner})
