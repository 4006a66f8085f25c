"""The pooling of quasi-recurrent networks, without a loop over layers."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from .common import Shape, are_texts, check_option, first_mask, real_steps, refuse_ragged, takes_upstream

METHODS = ("auto", "unrolled", "blocked", "doubling")

# Longer texts would make the unrolled graph slow to build.
_LONGEST_UNROLLED = 128

BLOCK = 8
"""Steps in a block of the blocked recurrence: few enough operations, and few enough blocks."""


def linear_recurrence(decay: Any, update: Any, method: str = "auto", backwards: bool = False) -> Any:
    """Computes `c_t = decay_t * c_{t-1} + update_t` with `c_0 = 0` for all steps `t`.

    Both tensors are float32 or float64 of shape `(batch, time, features)`, as is the result. With `backwards`
    `c_{t+1}` stands in place of `c_{t-1}`. The gradient is the recurrence itself, run the other way.

    - `"unrolled"`: step by step; only for a length that is known when the graph is built, else ValueError.
    - `"blocked"`: step by step in blocks of 8 steps, all blocks at once; in about twice the time of
      `"unrolled"`.
    - `"doubling"`: after `n` rounds each step has absorbed the `2^n - 1` before it.
    - `"auto"`: unrolled for known lengths up to 128, blocked otherwise.
    """
    check_option("method", method, METHODS)
    decay, update = ops.convert_to_tensor(decay), ops.convert_to_tensor(update)
    length = update.shape[1]
    if method == "unrolled" and length is None:
        raise ValueError(
            "The unrolled recurrence needs a length that is known when the graph is built. "
            f"Received: update.shape={tuple(update.shape)}"
        )
    if length == 0:
        return update
    if method == "auto":
        method = "unrolled" if length is not None and length <= _LONGEST_UNROLLED else "blocked"
    states = _STATES[method]

    @ops.custom_gradient
    def recurrence(decay: Any, update: Any) -> Any:
        state = states(decay, update, backwards)

        @takes_upstream
        def gradient(upstream: Any) -> tuple[Any, Any]:
            onwards = -1 if backwards else 1
            update_gradient = states(shifted(decay, -onwards), upstream, not backwards)
            return update_gradient * shifted(state, onwards), update_gradient

        return state, gradient

    return recurrence(decay, update)


def _unrolled(decay: Any, update: Any, backwards: bool) -> Any:
    steps = list(zip(ops.unstack(decay, axis=1), ops.unstack(update, axis=1), strict=True))
    states: list[Any] = []
    for step_decay, step_update in reversed(steps) if backwards else steps:
        states.append(step_decay * states[-1] + step_update if states else step_update)
    return ops.stack(states[::-1] if backwards else states, axis=1)


def _blocked(decay: Any, update: Any, backwards: bool) -> Any:
    batch, length, features = ops.shape(update)[0], ops.shape(update)[1], update.shape[2]
    blocks = (length + BLOCK - 1) // BLOCK
    padding = ((0, 0), (0, blocks * BLOCK - length), (0, 0))
    shape = (batch, blocks, BLOCK, features)
    decays = ops.unstack(ops.reshape(ops.pad(decay, padding), shape), BLOCK, axis=2)
    updates = ops.unstack(ops.reshape(ops.pad(update, padding), shape), BLOCK, axis=2)
    states = ops.stack(states_in_blocks(decays, updates, backwards, _doubling), axis=2)
    return ops.reshape(states, (batch, -1, features))[:, :length]


def states_in_blocks(
    decays: list[Any], updates: list[Any], backwards: bool, across_blocks: Callable[[Any, Any, bool], Any]
) -> list[Any]:
    """Computes the recurrence of a sequence that is laid out in blocks, and returns the states.

    Entry `j` of each list, `(batch, blocks, features)`, holds step `j` of every block, so that no step of the
    loop waits for another block. `across_blocks` computes the recurrence over the blocks.
    """
    steps = list(zip(decays, updates, strict=True))
    if backwards:
        steps.reverse()
    (through, end), *later = steps
    for decay, update in later:
        end = decay * end + update
        through = through * decay
    ends = across_blocks(through, end, backwards)
    state = shifted(ends, -1 if backwards else 1)
    states = []
    for decay, update in steps:
        state = decay * state + update
        states.append(state)
    return states[::-1] if backwards else states


def shifted(x: Any, by: int) -> Any:
    """Moves the entries of axis 1 one place on (1) or back (-1); zeros move in."""
    edge = ops.zeros_like(x[:, :1])
    return ops.concatenate([edge, x[:, :-1]] if by > 0 else [x[:, 1:], edge], axis=1)


def _doubling(decay: Any, update: Any, backwards: bool) -> Any:
    if backwards:
        return ops.flip(_doubling(ops.flip(decay, axis=1), ops.flip(update, axis=1), False), axis=1)
    length = update.shape[1]
    if length is None:
        return _doubling_of_unknown_length(decay, update)
    shift = 1
    while shift < length:
        padding = ((0, 0), (shift, 0), (0, 0))
        update = update + decay * ops.pad(update[:, :-shift], padding)
        decay = decay * ops.pad(decay[:, :-shift], padding)
        shift *= 2
    return update


def _doubling_of_unknown_length(decay: Any, update: Any) -> Any:
    length = ops.shape(update)[1]
    steps = ops.arange(length)

    def earlier(x: Any, shift: Any) -> Any:
        # A gather by index keeps the shape, as a while loop under XLA demands; a slice would not.
        shifted = ops.take(x, ops.maximum(steps - shift, 0), axis=1)
        return ops.where(ops.reshape(steps >= shift, (1, -1, 1)), shifted, 0.0)

    def double(shift: Any, decay: Any, update: Any) -> tuple[Any, Any, Any]:
        return shift * 2, decay * earlier(decay, shift), update + decay * earlier(update, shift)

    _, _, states = ops.while_loop(
        lambda shift, decay, update: shift < length, double, (ops.ones((), "int32"), decay, update)
    )
    return states


_STATES: dict[str, Callable[[Any, Any, bool], Any]] = {
    "unrolled": _unrolled,
    "blocked": _blocked,
    "doubling": _doubling,
}


def recurrent_pooling(
    candidate: Any,
    forget: Any,
    output: Any = None,
    input: Any = None,
    *,
    mask: Any = None,
    method: str = "auto",
) -> Any:
    """Pools candidates over time with gates that are known beforehand (QRNN, Eq. 3 to 5).

    From [Quasi-Recurrent Neural Networks](https://arxiv.org/abs/1611.01576), with `c_0 = 0`:

    ```
    f-pooling:    h_t = c_t = f_t * c_{t-1} + (1 - f_t) * z_t
    fo-pooling:   c_t = f_t * c_{t-1} + (1 - f_t) * z_t,  h_t = o_t * c_t
    ifo-pooling:  c_t = f_t * c_{t-1} + i_t * z_t,        h_t = o_t * c_t
    ```

    Which of them follows from the gates that are given. All are of shape `(batch, time, features)`. The state
    passes a masked step unchanged, and the result is zero there. It is computed in float32 at least.
    """
    refuse_ragged(candidate, forget, output, input)
    candidate = ops.convert_to_tensor(candidate)
    dtype = keras.backend.standardize_dtype(candidate.dtype)
    wide = keras.backend.result_type(dtype, "float32")
    decay = ops.cast(forget, wide)
    update = ops.cast(candidate, wide) * (1.0 - decay if input is None else ops.cast(input, wide))
    if mask is not None:
        real = ops.expand_dims(real_steps(candidate, mask), axis=-1)
        decay, update = ops.where(real, decay, 1.0), ops.where(real, update, 0.0)
    result = linear_recurrence(decay, update, method)
    if output is not None:
        result = result * ops.cast(output, wide)
    if mask is not None:
        result = ops.where(real, result, 0.0)
    return ops.cast(result, dtype)


@keras.saving.register_keras_serializable(package="answer_ranking")
class RecurrentPooling(keras.layers.Layer):
    """f-, fo- or ifo-pooling as a layer; see `recurrent_pooling`.

    Takes the list of `QuasiRecurrentGates`, `[candidate, forget]`, `[candidate, forget, output]` or
    `[candidate, forget, output, input]`, each of shape `(batch, time, features)`, and has no weights. The
    result has the same shape, is zero at masked steps, and padding changes nothing. The reference, step by
    step, is `keras.layers.RNN(PoolingCell(...), return_sequences=True, zero_output_for_mask=True)`.

    Example:
    >>> import numpy as np
    >>> z, f, o = (np.full((1, 2, 1), value, dtype="float32") for value in (1.0, 0.5, 0.5))
    >>> [float(step) for step in RecurrentPooling()([z, f, o])[0, :, 0]]
    [0.25, 0.375]

    Args:
        method: str. `"auto"`, `"unrolled"`, `"blocked"` or `"doubling"`; see `linear_recurrence`. Defaults to
            `"auto"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `method` is unknown.
    """

    def __init__(self, method: str = "auto", **kwargs: Any):
        super().__init__(**kwargs)
        check_option("method", method, METHODS)
        self.method = method

    def build(self, input_shape: list[Shape]) -> None:
        self.compute_output_shape(input_shape)

    def call(self, inputs: list[Any], mask: Any = None) -> Any:
        return recurrent_pooling(*inputs, mask=first_mask(mask), method=self.method)

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        if not 2 <= len(input_shape) <= 4 or not are_texts(input_shape, same_length=True):
            raise ValueError(
                "RecurrentPooling takes a list [candidate, forget], [candidate, forget, output] or "
                "[candidate, forget, output, input] of tensors of shape (batch, time, features) "
                f"with the same time and features. Received: input_shape={input_shape}"
            )
        return tuple(input_shape[0])

    def compute_mask(self, inputs: list[Any], mask: Any = None) -> Any:
        return first_mask(mask)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "method": self.method}
