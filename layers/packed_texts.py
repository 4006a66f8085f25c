"""Texts of different lengths on end, without their padding, in the order in which blocks are pooled."""

from dataclasses import dataclass
from typing import Any

from keras import ops

from layers.recurrent_pooling import BLOCK, linear_recurrence, shifted, states_in_blocks


@dataclass(frozen=True)
class PackedTexts:
    """Where the words of padded texts lie when they are put on end.

    All words form one sequence, text after text, which is cut into blocks of 8 places. Row `j * blocks + i`
    of a packed tensor holds place `j` of block `i`, so that one step of all blocks is one piece of memory. A
    recurrence runs over the whole sequence and starts anew at each text, where its decay is set to zero. See
    `pack_texts`.

    Attributes:
        cell: int32 tensor `(rows,)`, the word's place in the padded texts laid out flat, one after the other;
            the place behind them all where a row holds no word.
        position: int32 tensor `(rows,)`, the word's place in its text, from 0.
        text: int32 tensor `(rows,)`, the number of the word's text; one more than there are where a row holds
            no word.
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
        """Packs the words some steps earlier in their text, zeros before its first word.

        Args:
            padded: Tensor of shape `(cells + 1, features)`, the padded texts laid out flat, and one row more.
            steps: int, at least 0.

        Returns:
            Tensor of shape `(rows, features)`.
        """
        there = ops.logical_and(self.real, self.position >= steps)
        words = ops.take(padded, ops.maximum(self.cell - steps, 0), axis=0)
        return ops.where(ops.expand_dims(there, axis=-1), words, 0.0)

    def partner_rows(self, scaled: bool) -> tuple[Any, Any]:
        """Finds for each word of a pair's texts the word of the other text whose gates it is lent.

        The first half of the texts are questions, the second half their answers.

        Args:
            scaled: bool. Whether the partner's step is the "scaled" or the "index" one of
                `CrossTemporalGate`.

        Returns:
            Pair of an int32 tensor `(rows,)`, the row of the partner's word, and a boolean tensor `(texts,)`,
            whether the partner has any words.
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
        """Computes `c_t = decay_t * c_{t-1} + update_t` in each text, with `c_0 = 0`.

        Args:
            decay: Tensor of shape `(rows, features)`; that of a text's first word counts as zero.
            update: Tensor of the same shape.

        Returns:
            Tensor of the same shape.
        """
        return _packed_recurrence(decay * self._goes_on(decay.dtype), update)

    def crossed(self, candidate: Any, forget: Any, output: Any, partner_rows: Any) -> Any:
        """Computes `H` of `CrossTemporalGate`, the product of fo-pooling with own and with lent gates.

        Args:
            candidate: Tensor `z` of shape `(rows, features)`.
            forget: Tensor `f` of the same shape.
            output: Tensor `o` of the same shape.
            partner_rows: int32 tensor `(rows,)`, the rows of the gates that are lent; see `partner_rows`.

        Returns:
            Tensor of the same shape.
        """
        return _packed_crossing(candidate, forget, output, partner_rows, self._goes_on(forget.dtype))

    def _goes_on(self, dtype: str) -> Any:
        """Is 1 at all words but a text's first, where the state starts anew; of shape `(rows, 1)`."""
        return ops.cast(ops.logical_and(self.real, self.position > 0), dtype)[:, None]

    def mean(self, packed: Any) -> Any:
        """Averages the real words of each text; an empty text gives the zero vector.

        Args:
            packed: Tensor of shape `(rows, features)`.

        Returns:
            Tensor of shape `(texts, features)`.
        """
        share = 1.0 / ops.cast(ops.maximum(self.lengths, 1), packed.dtype)
        weight = ops.where(self.real, self._of_text(share), 0.0)
        # The last sum is that of the rows without a word.
        n_texts = ops.shape(self.lengths)[0]
        return ops.segment_sum(packed * weight[:, None], self.text, num_segments=n_texts + 1)[:n_texts]

    def _of_text(self, values: Any) -> Any:
        """Looks up for each row a value of its text, `(texts,)`; zero where a row holds no word."""
        return ops.take(_with_zero(values), self.text, axis=0)


def pack_texts(masks: list[Any], skip_padding: bool) -> PackedTexts:
    """Puts padded texts on end.

    Args:
        masks: list of boolean tensors of shapes `(batch, length)`, true at the real words, which come first
            in each text. The texts are numbered through all tensors.
        skip_padding: bool. Whether padding is left out, which takes tensors of shapes that depend on the
            data; else it stays in as rows that are not real.

    Returns:
        Where the words are.

    Example:
    >>> import numpy as np
    >>> packed = pack_texts([np.array([[True, True, False]]), np.array([[True]])], skip_padding=True)
    >>> np.asarray(packed.cell)[np.asarray(packed.real)].tolist()
    [0, 1, 3]
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
    return PackedTexts(cell, position, text, real, lengths, starts, blocks)


def _with_zero(values: Any) -> Any:
    return ops.concatenate([values, ops.zeros((1,), values.dtype)], axis=0)


@ops.custom_gradient
def _packed_recurrence(decay: Any, update: Any) -> Any:
    decays = _steps(decay)
    states = states_in_blocks(decays, _steps(update), False, _across_blocks)

    def gradient(*arguments: Any, upstream: Any = None) -> tuple[Any, Any]:
        if upstream is None:
            (upstream,) = arguments
        update_gradients = _backwards(decays, _steps(upstream))
        decay_gradients = [g * state for g, state in zip(update_gradients, _previous(states), strict=True)]
        return _packed(decay_gradients), _packed(update_gradients)

    return _packed(states), gradient


@ops.custom_gradient
def _packed_crossing(candidate: Any, forget: Any, output: Any, partner_rows: Any, goes_on: Any) -> Any:
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
            of_o.append(_packed(_products(to, c)))
            of_update = _backwards(decay, _products(to, o))
            steps = list(zip(of_update, _previous(c), goes, z, f, strict=True))
            of_f.append(_packed([g * (before * goes_j - z_j) for g, before, goes_j, z_j, _ in steps]))
            of_z.append([g - g * f_j for g, _, _, _, f_j in steps])
        of_f, of_o = (
            own + ops.segment_sum(lent, partner_rows, num_segments=ops.shape(candidate)[0])
            for own, lent in (of_f, of_o)
        )
        of_z = _packed([own + lent for own, lent in zip(*of_z, strict=True)])
        return of_z, of_f, of_o, None, ops.zeros_like(goes_on)

    return _packed(_products(*hidden)), gradient


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


def _steps(packed: Any) -> list[Any]:
    """Takes a packed tensor apart into the steps of all blocks, each `(1, blocks, features)`."""
    return ops.unstack(ops.reshape(packed, (BLOCK, 1, -1, packed.shape[-1])), BLOCK, axis=0)


def _packed(steps: list[Any]) -> Any:
    return ops.concatenate([step[0] for step in steps], axis=0)
