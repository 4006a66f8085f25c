"""Texts of different lengths as one sequence without padding, in the order in which blocks are pooled."""

from dataclasses import dataclass
from typing import Any

from keras import ops

from .recurrent_pooling import BLOCK, linear_recurrence, shifted, states_in_blocks


@dataclass(frozen=True)
class ConcatenatedTexts:
    """Where the words of padded texts are in one sequence of all words, text after text.

    The sequence is cut into blocks of 8 places. Row `j * blocks + i` of a concatenated tensor holds place `j`
    of block `i`, so that one step of all blocks is one piece of memory. A recurrence runs over the whole
    sequence; its decay is zero at the first word of each text. See `concatenate_texts`.

    Attributes:
        cell: int32 tensor `(rows,)`, the word's place in the flattened padded texts; the place behind them
            all where a row holds no word.
        position: int32 tensor `(rows,)`, the word's place in its text, from 0.
        text: int32 tensor `(rows,)`, the number of the word's text; the number of texts where a row holds no
            word.
        real: boolean tensor `(rows,)`, false where a row holds no word.
        lengths: int32 tensor `(texts,)`, the real words of each text.
        starts: int32 tensor `(texts,)`, the place of each text's first word in the sequence.
        blocks: int or int32 tensor, the number of blocks.
    """

    cell: Any
    position: Any
    text: Any
    real: Any
    lengths: Any
    starts: Any
    blocks: Any

    def earlier(self, padded: Any, steps: int) -> Any:
        """Returns the words `steps` earlier in their text, zeros before its first word, `(rows, features)`.

        `padded` holds the flattened padded texts and one row more, `(cells + 1, features)`.
        """
        there = ops.logical_and(self.real, self.position >= steps)
        words = ops.take(padded, ops.maximum(self.cell - steps, 0), axis=0)
        return ops.where(ops.expand_dims(there, axis=-1), words, 0.0)

    def partner_rows(self, scaled: bool) -> tuple[Any, Any]:
        """Finds for each word the word of the other text whose gates it receives (see `CrossTemporalGate`).

        The first half of the texts are questions, the second half their answers. Returns the row of the
        partner's word, int32 `(rows,)`, and whether the partner has any words, `(texts,)`.
        """
        half = ops.shape(self.lengths)[0] // 2
        partner_lengths, partner_starts = (ops.roll(x, half, axis=0) for x in (self.lengths, self.starts))
        step, last = self.position, self._of_text(partner_lengths) - 1
        if scaled:
            shorter = ops.maximum(ops.minimum(self.lengths, partner_lengths), 1)
            factor = (ops.maximum(self.lengths, partner_lengths) + shorter - 1) // shorter
            step = (step + 1) * self._of_text(factor) - 1
        step = ops.maximum(ops.minimum(step, last), 0)
        place = self._of_text(partner_starts) + step
        # The place of an empty partner may lie behind the last row; what is lent there does not count.
        place = ops.minimum(place, self.blocks * BLOCK - 1)
        return place % BLOCK * self.blocks + place // BLOCK, partner_lengths > 0

    def recurrence(self, decay: Any, update: Any) -> Any:
        """Computes `c_t = decay_t * c_{t-1} + update_t` in each text, `c_0 = 0`, all `(rows, features)`."""
        return _recurrence(decay * self._goes_on(decay.dtype), update)

    def crossed(self, candidate: Any, forget: Any, output: Any, partner_rows: Any) -> Any:
        """Computes `H` of `CrossTemporalGate`: fo-pooling with own gates times that with the partner's.

        The tensors `z`, `f`, `o` and the result have the shape `(rows, features)`.
        """
        return _crossing(candidate, forget, output, partner_rows, self._goes_on(forget.dtype))

    def _goes_on(self, dtype: str) -> Any:
        """Is 1 at all words but a text's first, where the state starts anew; shape `(rows, 1)`."""
        return ops.cast(ops.logical_and(self.real, self.position > 0), dtype)[:, None]

    def mean(self, x: Any) -> Any:
        """Averages the real words of each text, `(texts, features)`; zeros for an empty text."""
        share = 1.0 / ops.cast(ops.maximum(self.lengths, 1), x.dtype)
        weight = ops.where(self.real, self._of_text(share), 0.0)
        # The last sum is that of the rows without a word.
        n_texts = ops.shape(self.lengths)[0]
        return ops.segment_sum(x * weight[:, None], self.text, num_segments=n_texts + 1)[:n_texts]

    def _of_text(self, values: Any) -> Any:
        """Looks up for each row a value of its text, `(texts,)`; zero where a row holds no word."""
        return ops.take(_with_zero(values), self.text, axis=0)


def concatenate_texts(masks: list[Any], skip_padding: bool) -> ConcatenatedTexts:
    """Concatenates padded texts, given by their masks `(batch, length)`, true at the real words, which come
    first.

    The texts are numbered through all masks. With `skip_padding` the padding is left out, which makes shapes
    depend on the data; otherwise it stays as rows that are not real.
    """
    masks = [ops.cast(mask, "bool") for mask in masks]
    lengths = ops.concatenate([ops.sum(ops.cast(mask, "int32"), axis=1) for mask in masks], axis=0)
    first_cells, text_of_cell, n_texts, n_cells = [], [], 0, 0
    for mask in masks:
        texts, width = ops.shape(mask)
        numbers = ops.arange(texts, dtype="int32")
        first_cells.append(n_cells + numbers * width)
        text_of_cell.append(ops.reshape(ops.zeros_like(mask, "int32") + (n_texts + numbers)[:, None], (-1,)))
        n_texts, n_cells = n_texts + texts, n_cells + texts * width
    # Behind the last word of the last text: what rows without a word refer to, also where there is no word.
    nothing = ops.reshape(ops.cast(n_cells, "int32"), (1,))
    no_text = ops.reshape(ops.cast(n_texts, "int32"), (1,))
    first_cells = ops.concatenate([*first_cells, nothing], axis=0)
    text_of_cell = ops.concatenate([*text_of_cell, no_text], axis=0)
    if skip_padding:
        (cells,) = ops.nonzero(ops.concatenate([ops.reshape(mask, (-1,)) for mask in masks], axis=0))
        cells = ops.cast(cells, "int32")
        starts = ops.cumsum(lengths) - lengths
    else:
        cells, starts = ops.arange(n_cells, dtype="int32"), first_cells[:n_texts]
    n_places = ops.shape(cells)[0]
    # At least one row that holds no word, lest a batch of padding alone have no rows.
    cells = ops.concatenate([cells, nothing], axis=0)
    blocks = n_places // BLOCK + 1
    rows = ops.arange(BLOCK * blocks, dtype="int32")
    place = rows % blocks * BLOCK + rows // blocks
    cell = ops.take(cells, ops.minimum(place, n_places), axis=0)
    text = ops.take(text_of_cell, cell, axis=0)
    position = cell - ops.take(first_cells, text, axis=0)
    real = ops.logical_and(place < n_places, position < ops.take(_with_zero(lengths), text, axis=0))
    return ConcatenatedTexts(cell, position, text, real, lengths, starts, blocks)


def _with_zero(values: Any) -> Any:
    return ops.concatenate([values, ops.zeros((1,), values.dtype)], axis=0)


@ops.custom_gradient
def _recurrence(decay: Any, update: Any) -> Any:
    decays = _steps(decay)
    states = states_in_blocks(decays, _steps(update), False, _across_blocks)

    def gradient(*arguments: Any, upstream: Any = None) -> tuple[Any, Any]:
        if upstream is None:
            (upstream,) = arguments
        update_gradients = _backwards(decays, _steps(upstream))
        decay_gradients = [g * state for g, state in zip(update_gradients, _previous(states), strict=True)]
        return _concatenated(decay_gradients), _concatenated(update_gradients)

    return _concatenated(states), gradient


@ops.custom_gradient
def _crossing(candidate: Any, forget: Any, output: Any, partner_rows: Any, goes_on: Any) -> Any:
    # The arithmetic is cheap beside the passes over whole tensors that it takes: here it is done for a step
    # of all blocks at a time.
    z, goes = _steps(candidate), _steps(goes_on)
    gates, decays, states = [], [], []
    lent = (ops.take(gate, partner_rows, axis=0) for gate in (forget, output))
    for f, o in ((forget, output), lent):
        f, o = _steps(f), _steps(o)
        gates.append((f, o))
        decays.append(_products(f, goes))
        updates = [z_j - f_j * z_j for z_j, f_j in zip(z, f, strict=True)]
        states.append(states_in_blocks(decays[-1], updates, False, _across_blocks))
    hidden = [_products(o, c) for (_, o), c in zip(gates, states, strict=True)]

    def gradient(*arguments: Any, upstream: Any = None) -> tuple[Any, Any, Any, Any, Any]:
        if upstream is None:
            (upstream,) = arguments
        of_hidden = [_products(_steps(upstream), other) for other in reversed(hidden)]
        of_z, of_f, of_o = [], [], []
        for to, (f, o), decay, c in zip(of_hidden, gates, decays, states, strict=True):
            of_o.append(_concatenated(_products(to, c)))
            of_update = _backwards(decay, _products(to, o))
            steps = list(zip(of_update, _previous(c), goes, z, f, strict=True))
            of_f.append(_concatenated([g * (before * goes_j - z_j) for g, before, goes_j, z_j, _ in steps]))
            of_z.append([g - g * f_j for g, _, _, _, f_j in steps])
        of_f, of_o = (
            own + ops.segment_sum(lent, partner_rows, num_segments=ops.shape(candidate)[0])
            for own, lent in (of_f, of_o)
        )
        of_z = _concatenated([own + lent for own, lent in zip(*of_z, strict=True)])
        return of_z, of_f, of_o, None, ops.zeros_like(goes_on)

    return _concatenated(_products(*hidden)), gradient


def _backwards(decays: list[Any], upstream: list[Any]) -> list[Any]:
    """Runs the recurrence of the gradient, from the last step to the first."""
    following = [*decays[1:], shifted(decays[0], -1)]
    return states_in_blocks(following, upstream, True, _across_blocks)


def _products(one: list[Any], other: list[Any]) -> list[Any]:
    return [x * y for x, y in zip(one, other, strict=True)]


def _previous(states: list[Any]) -> list[Any]:
    """Gives the state before each step."""
    return [shifted(states[-1], 1), *states[:-1]]


def _across_blocks(decay: Any, update: Any, backwards: bool) -> Any:
    return linear_recurrence(decay, update, "blocked", backwards)


def _steps(x: Any) -> list[Any]:
    """Splits a tensor `(rows, features)` into the steps of all blocks, each `(1, blocks, features)`."""
    return ops.unstack(ops.reshape(x, (BLOCK, 1, -1, x.shape[-1])), BLOCK, axis=0)


def _concatenated(steps: list[Any]) -> Any:
    return ops.concatenate([step[0] for step in steps], axis=0)
