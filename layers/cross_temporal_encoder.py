"""Gates, crossing and mean of CTRN in one layer that skips the padding."""

from typing import Any

import keras
from keras import ops

from .common import Shape, are_texts, check_option, real_steps_of_pair
from .concatenated_texts import ConcatenatedTexts, concatenate_texts
from .cross_temporal_gate import ALIGNMENTS
from .quasi_recurrent_gates import QuasiRecurrentGates


@keras.saving.register_keras_serializable(package="answer_ranking")
class CrossTemporalEncoder(keras.layers.Layer):
    """Encodes question and answer by a quasi-recurrent network, with or without crossing.

    Gives what `QuasiRecurrentGates`, `CrossTemporalGate` and `MaskedMean` give one after the other (without
    crossing: `QuasiRecurrentGates`, `RecurrentPooling` and `MaskedMean`), from [Cross Temporal Recurrent
    Networks for Ranking Question Answer Pairs](https://arxiv.org/abs/1711.07656), in a fraction of the time:
    the words of all texts of the batch are concatenated without their padding, convolved at once, and pooled
    as one sequence whose state is reset at the beginning of each text.

    Takes the pair `[question, answer]` of tensors of shape `(batch, time, features)`, whose lengths may
    differ, with masks that are false only after the last real step, and returns the pair of means, each of
    shape `(batch, filters)`. Padding changes nothing; an empty text, and with crossing a text opposite an
    empty one, gives the zero vector.

    Example:
    >>> import numpy as np
    >>> question = np.ones((8, 10, 50), dtype="float32")
    >>> answer = np.ones((8, 40, 50), dtype="float32")
    >>> [tuple(mean.shape) for mean in CrossTemporalEncoder(16)([question, answer])]
    [(8, 16), (8, 16)]

    Args:
        filters: int. Number of features of the means.
        kernel_size: int. Steps in the window of the convolutions. Defaults to 2.
        pooling: str. `"f"`, `"fo"` or `"ifo"`, see `RecurrentPooling`; the crossing is defined for `"fo"`
            alone. Defaults to `"fo"`.
        crossing: str or `None`. The alignment of the crossing, `"index"` or `"scaled"`, see
            `CrossTemporalGate`; `None` for none. Defaults to `"index"`.
        kernel_initializer: Initializer of the kernels. Defaults to `"glorot_uniform"`.
        skip_padding: bool. Whether to leave the padding out. The shapes within then depend on the data, which
            XLA and TFLite cannot compile: where TensorFlow knows all shapes of the texts the padding stays
            in, and Keras' automatic `jit_compile` is off. On JAX it always stays in. Defaults to `True`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `pooling` or `crossing` is unknown, they do not go together, or `filters` or
            `kernel_size` is not positive.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int = 2,
        pooling: str = "fo",
        crossing: str | None = "index",
        kernel_initializer: Any = "glorot_uniform",
        skip_padding: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if crossing is not None:
            check_option("crossing", crossing, ALIGNMENTS)
            check_option("pooling", pooling, ("fo",))
        self.filters = filters
        self.kernel_size = kernel_size
        self.pooling = pooling
        self.crossing = crossing
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.skip_padding = skip_padding
        self.gates = QuasiRecurrentGates(
            filters,
            kernel_size,
            pooling,
            kernel_initializer=self.kernel_initializer,
            dtype=self.dtype_policy,
            name="gates",
        )
        # JAX keeps the padding either way.
        self.supports_jit = not skip_padding or keras.backend.backend() == "jax"

    def build(self, input_shape: list[Shape]) -> None:
        self.compute_output_shape(input_shape)
        self.gates.build(input_shape[0])

    def call(self, inputs: list[Any], mask: Any = None) -> list[Any]:
        masks = real_steps_of_pair(inputs, mask)
        texts = concatenate_texts(masks, self.skip_padding and _may_depend_on_data(inputs))
        gates = self._gates(inputs, texts)
        means = self._pool_alone(texts, *gates) if self.crossing is None else self._cross(texts, *gates)
        means, n = ops.cast(means, self.compute_dtype), ops.shape(inputs[0])[0]
        return [means[:n], means[n:]]

    def _gates(self, inputs: list[Any], texts: ConcatenatedTexts) -> list[Any]:
        """Computes candidates and gates of the concatenated words, in float32 at least."""
        features = inputs[0].shape[-1]
        question, answer = ops.reshape(inputs[0], (-1, features)), ops.reshape(inputs[1], (-1, features))
        nothing = ops.zeros((1, features), question.dtype)
        cells = ops.concatenate([question, answer, nothing], axis=0)
        windows = [texts.earlier(cells, steps) for steps in reversed(range(self.kernel_size))]
        wide = keras.backend.result_type(self.compute_dtype, "float32")
        gates = self.gates.gates_of_windows(ops.concatenate(windows, axis=-1))
        return [ops.cast(gate, wide) for gate in gates]

    def _pool_alone(self, texts: ConcatenatedTexts, candidate: Any, forget: Any, *others: Any) -> Any:
        update = others[1] * candidate if self.pooling == "ifo" else candidate - forget * candidate
        state = texts.recurrence(forget, update)
        return texts.mean(state * others[0] if others else state)

    def _cross(self, texts: ConcatenatedTexts, candidate: Any, forget: Any, output: Any) -> Any:
        rows, has_partner = texts.partner_rows(scaled=self.crossing == "scaled")
        hidden = texts.crossed(candidate, forget, output, rows)
        return texts.mean(hidden) * ops.cast(has_partner, hidden.dtype)[:, None]

    def compute_output_shape(self, input_shape: list[Shape]) -> list[Shape]:
        if len(input_shape) != 2 or not are_texts(input_shape) or not _fit(*input_shape):
            raise ValueError(
                "CrossTemporalEncoder takes a pair of tensors of shape (batch, time, features) with the same "
                f"batch and features. Received: input_shape={input_shape}"
            )
        return [(input_shape[0][0], self.filters), (input_shape[1][0], self.filters)]

    def compute_mask(self, inputs: list[Any], mask: Any = None) -> list[None]:
        return [None, None]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "pooling": self.pooling,
            "crossing": self.crossing,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "skip_padding": self.skip_padding,
        }


def _may_depend_on_data(inputs: list[Any]) -> bool:
    """Tells whether shapes may depend on the data: not on JAX, and not where TensorFlow knows all of them."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return None in (*inputs[0].shape, *inputs[1].shape)
    return backend != "jax"


def _fit(question: Shape, answer: Shape) -> bool:
    """Tells whether two texts have the same features and, as far as is known, the same batch."""
    batches = {question[0], answer[0]} - {None}
    return question[-1] == answer[-1] and len(batches) <= 1
