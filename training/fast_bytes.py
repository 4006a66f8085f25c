"""Random bytes, the same as NumPy's and drawn several times faster."""

import numpy as np


class FastBytes:
    """Gives the bytes that a new generator's `bytes` would give, call by call, from whole 64-bit numbers.

    `numpy.random.Generator.bytes` asks for 32 bits at a time. PCG64, NumPy's default, makes 64 and hands out
    the lower half, then the upper one, so that the same bytes can be had at once.

    No record's fingerprint has this class among its sources: it must not change a byte.

    Args:
        rng: a generator that nothing has been drawn from. It is not to be used for anything else afterwards.

    Example:
        >>> fast, numpy = FastBytes(np.random.default_rng(0)), np.random.default_rng(0)
        >>> [bytes(fast.bytes(n)) == numpy.bytes(n) for n in (3, 7)]
        [True, True]
    """

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self._left = np.empty(0, "<u4")  # the upper half that the last call has not used

    def bytes(self, length: int) -> np.ndarray:
        """Draw bytes.

        Args:
            length: how many, at least 0.

        Returns:
            uint8 `(length,)`.
        """
        count = max(1, -(-length // 4))  # NumPy draws for no byte, too
        missing = max(0, count - len(self._left))
        drawn = self._rng.integers(0, 2**64 - 1, -(-missing // 2), dtype=np.uint64, endpoint=True)
        words = drawn.astype("<u8", copy=False).view("<u4")
        if len(self._left):
            words = np.concatenate([self._left, words])
        self._left = words[count:].copy()
        return words.view(np.uint8)[:length]


def with_fast_bytes(rng: np.random.Generator | None) -> np.random.Generator | FastBytes | None:
    """Wrap a generator, if there is one and it is of the kind whose bytes can be had faster.

    Args:
        rng: a generator that nothing has been drawn from, or None.

    Returns:
        What gives the same `bytes`; None for None.

    Example:
        >>> with_fast_bytes(None) is None
        True
    """
    return FastBytes(rng) if rng is not None and type(rng.bit_generator) is np.random.PCG64 else rng
