"""Large arrays in files, of which every block is compared with its check sum when it is first read."""

import zlib
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

_BLOCK = 1 << 12  # bytes: a thousand points of a million lie in as many blocks, each compared once
_EARLIER = 1 << 14  # in indexes that were built before version 0.2.0 was complete
_SUFFIX = ".sums"

Buffer: TypeAlias = bytes | pa.Buffer


class CheckedArray:
    """An array of a .npy file, memory-mapped; `write_sums` wrote the check sums (CRC-32) of its blocks.

    A file without check sums, of an index of version 0.1, is read as it is. Several threads may
    read it.

    Raises:
        ValueError: the array is not in one piece, or a block is not what was written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "numbers.npy"
        >>> np.save(path, np.arange(5))
        >>> write_sums(path)
        >>> CheckedArray(path).slice(1, 3).tolist()
        [1, 2]
    """

    def __init__(self, path: Path):
        mapped = map_array(path)
        self.array = mapped.view(np.ndarray)  # whose slices take a fifth of the time of a memmap's
        if not self.array.flags.c_contiguous or not self.array.ndim:
            raise ValueError("the array is not in one piece")
        # One map of the file for both: two would have the system map every page twice.
        self._bytes = memoryview(mapped.base)  # type: ignore[arg-type]
        if len(self._bytes) != path.stat().st_size:
            raise ValueError("it holds more than an array")
        sums = sums_path(path)
        self._sums = np.fromfile(sums, "<u4") if sums.is_file() else None
        self._block = _BLOCK
        # The blocks that nobody has read; None once there are none.
        self._unread: np.ndarray | None = None
        if self._sums is not None:
            self._block = _block_of(len(self._bytes), len(self._sums))
            self._unread = np.ones(len(self._sums), bool)
        self._start = mapped.offset
        self._row = self.array.itemsize * int(np.prod(self.array.shape[1:]))
        self._check(range(self._start // self._block + 1))

    def __len__(self) -> int:
        return len(self.array)

    def rows(self, rows: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
        """Copy some rows, whose numbers are not below 0 or beyond the end, into a new or a given array."""
        if self._unread is not None and len(rows):
            first = (self._start + rows * self._row) // self._block
            last = (self._start + (rows + 1) * self._row - 1) // self._block
            if self._row > self._block:
                self._check(range(int(first.min()), int(last.max()) + 1))
            else:
                self._check(np.concatenate([first, last]))
        # Numbers are not compared with the length once more, which would take a copy.
        return np.take(self.array, rows, axis=0, out=into, mode="clip")

    def slice(self, start: int, stop: int) -> np.ndarray:
        """Give the rows from `start` to before `stop`, not copied."""
        if not 0 <= start <= stop <= len(self):
            raise ValueError(f"it has no rows from {start} to {stop}")
        if self._unread is not None and stop > start:
            first = (self._start + start * self._row) // self._block
            last = (self._start + stop * self._row - 1) // self._block
            self._check(range(int(first), int(last) + 1))
        return self.array[start:stop]

    def _check(self, blocks: "range | np.ndarray") -> None:
        unread = self._unread
        if unread is None or self._sums is None:
            return
        numbers = np.asarray(blocks)
        new = np.unique(numbers[unread[numbers]])
        for start, expected in zip((new * self._block).tolist(), self._sums[new].tolist(), strict=True):
            if zlib.crc32(self._bytes[start : start + self._block]) != expected:
                raise ValueError(f"its bytes from {start:,} on are not what was written")
        unread[new] = False
        if not unread.any():
            self._unread = None


def map_array(path: Path) -> np.memmap:
    """Map the array of a .npy file; a ValueError says that it holds none.

    What a file says of its size may be wrong, so that nothing is made room for.
    """
    try:
        return np.load(path, mmap_mode="r")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # what NumPy raises for a damaged header may be anything
        raise ValueError(f"it holds no array ({error!s:.80})") from error


def write_sums(path: Path) -> None:
    """Write the check sums of a file's blocks into a file beside it."""
    sums = bytearray()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            sums += sums_of(block)
    sums_path(path).write_bytes(sums)


def read_checked(path: Path) -> bytes:
    """Read a whole file; a ValueError says that it is not what was written."""
    content, sums = path.read_bytes(), sums_path(path)
    if sums.is_file():
        expected = sums.read_bytes()
        if sums_of(content, _block_of(len(content), len(expected) // 4)) != expected:
            raise ValueError("it is not what was written")
    return content


def sums_of(content: Buffer, block: int = _BLOCK) -> bytes:
    """Compute the check sums of the blocks of a file's content."""
    view = memoryview(content)
    starts = range(0, len(view), block)
    sums = [zlib.crc32(view[start : start + block]) for start in starts]
    return np.array(sums, "<u4").tobytes()


def _block_of(n_bytes: int, n_sums: int) -> int:
    """Give the size of the blocks of which a file has so many check sums."""
    for size in (_BLOCK, _EARLIER):
        if n_sums == -(-n_bytes // size):
            return size
    raise ValueError("its check sums are of another file")


def sums_path(path: Path) -> Path:
    """Name the file of the check sums of a file."""
    return path.with_name(path.name + _SUFFIX)
