"""Token vectors of texts on the disk: each text is encoded once, whoever asks for it."""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from answer_ranking.base.errors import UserError, say
from answer_ranking.base.files import locked_folder

VECTORS, INDEX = "vectors.float16", "texts.index"
_ENTRY = np.dtype([("text", "V16"), ("first", "<i8"), ("length", "<i4"), ("sum", "<u4")])
_MOST_ROWS = 2**31 - 3  # Tokens have int32 numbers, of which two are taken.

Encode = Callable[[Sequence[str]], Iterator[tuple[list[int], list[np.ndarray]]]]
"""From texts to groups of them: their places among the texts, and the vectors of each one's tokens."""


@dataclass(frozen=True)
class StoredTokens:
    """Where the token vectors of some texts lie.

    Attributes:
        vectors: float16 (rows, n), mapped from the disk.
        first, lengths: int64 (n_texts,); text i has the rows `first[i]` to `first[i] + lengths[i] - 1`.
    """

    vectors: np.ndarray
    first: np.ndarray
    lengths: np.ndarray


class TokenStore:
    """A folder with the token vectors that one encoder gave to texts.

    Two files grow together: the vectors, float16, one below the other, and an index with an entry of fixed
    size for each text: the text's hash, its first vector, their number and a check sum. A text counts when
    its entry is whole, so that a process that is killed loses the texts that it was at. One process writes
    at a time; others read meanwhile. Vectors that are not those of their check sum are made anew. A store
    remembers the index: a look-up reads what came since.

    Args:
        folder: the encoder's folder, named by its hash.
        dimensions: int, n, the numbers of a vector.

    Example:
        >>> store = TokenStore(folder, 384)  # doctest: +SKIP
        >>> store.of(["Who wrote it?"], encode).lengths  # doctest: +SKIP
        array([6])
    """

    def __init__(self, folder: Path, dimensions: int):
        self.folder, self.dimensions = folder, dimensions
        self._index = np.empty(0, _ENTRY)
        self._number_of: dict[bytes, int] = {}

    def of(self, texts: Sequence[str], encode: Encode) -> StoredTokens:
        """Find the tokens of distinct texts; those that are not there are encoded and kept.

        A UserError says that the folder cannot be written to, or that the disk is full.
        """
        places = {_hash(text): place for place, text in enumerate(texts)}
        found = self._find(places)
        if (found.lengths < 0).any():
            with locked_folder(self.folder):
                # Another process may have encoded some meanwhile.
                found = self._find(places)
                missing = np.flatnonzero(found.lengths < 0)
                if len(missing):
                    self._append([texts[place] for place in missing.tolist()], encode)
                    found = self._find(places, check=False)
        return found

    def _find(self, places: dict[bytes, int], check: bool = True) -> StoredTokens:
        """Look texts up by their hashes; the length of one that is not there, or is damaged, is -1."""
        self._read_index()
        vectors = self._map_vectors()
        first, lengths = np.zeros(len(places), np.int64), np.full(len(places), -1)
        damaged = 0
        for text, place in places.items():
            if text not in self._number_of:
                continue
            entry = self._index[self._number_of[text]]
            begin, end = entry["first"], entry["first"] + entry["length"]
            whole = 0 <= begin <= end <= len(vectors)
            if whole and not (check and _sum(vectors[begin:end]) != entry["sum"]):
                first[place], lengths[place] = begin, end - begin
            damaged += whole and lengths[place] < 0
        if damaged:
            say(f"{self.folder}: the vectors of {damaged:,} texts are damaged and are made anew.")
        return StoredTokens(vectors, first, lengths)

    def _read_index(self) -> None:
        """Read the entries that came since the last time; all of them where the file has become shorter."""
        path = self.folder / INDEX
        n_entries = path.stat().st_size // _ENTRY.itemsize if path.is_file() else 0
        if n_entries < len(self._index):
            self._index, self._number_of = np.empty(0, _ENTRY), {}
        if n_entries == len(self._index):
            return
        new = np.fromfile(path, _ENTRY, offset=len(self._index) * _ENTRY.itemsize)
        # Of several entries of a text the last one counts: it was made in place of the others.
        for number, text in enumerate(new["text"].tolist(), start=len(self._index)):
            self._number_of[text] = number
        self._index = np.concatenate([self._index, new])

    def _map_vectors(self) -> np.ndarray:
        path = self.folder / VECTORS
        n_rows = path.stat().st_size // (2 * self.dimensions) if path.is_file() else 0
        if not n_rows:
            return np.empty((0, self.dimensions), np.float16)
        return np.memmap(path, np.float16, "r", shape=(n_rows, self.dimensions))

    def _append(self, texts: Sequence[str], encode: Encode) -> None:
        try:
            with (self.folder / VECTORS).open("ab") as vectors, (self.folder / INDEX).open("ab") as index:
                # Behind what a killed process left.
                n_rows = -(-vectors.tell() // (2 * self.dimensions))
                vectors.truncate(n_rows * 2 * self.dimensions)
                index.truncate(index.tell() // _ENTRY.itemsize * _ENTRY.itemsize)
                for places, arrays in encode(texts):
                    entries = np.zeros(len(places), _ENTRY)
                    for entry, place, array in zip(entries, places, arrays, strict=True):
                        rows = np.ascontiguousarray(array, np.float16)
                        entry["text"] = np.void(_hash(texts[place]))
                        entry["first"], entry["length"], entry["sum"] = n_rows, len(rows), _sum(rows)
                        vectors.write(rows.data)
                        n_rows += len(rows)
                    if n_rows > _MOST_ROWS:
                        raise UserError(f"{self.folder} is full: it has {n_rows:,} tokens. Delete it.")
                    # The vectors first: an entry promises that they are there.
                    _to_disk(vectors)
                    index.write(entries.tobytes())
                    _to_disk(index)
        except OSError as error:
            raise UserError(
                f"cannot write to {self.folder}: {error.strerror or error}. Free space; what is encoded is "
                "kept, and the same command goes on from there."
            ) from error


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _sum(rows: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(rows).view(np.uint8).data) if len(rows) else 0
