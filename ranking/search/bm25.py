"""The best texts by their words: BM25 of bm25s."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from answer_ranking.ranking.search.manifest import damaged

_WORD = re.compile(r"\w+")
_ARRAYS = ("data", "indices", "indptr")


def words_of(text: str) -> list[str]:
    """Split a text of any language into words: runs of letters, digits and underscores, in lower case.

    Example:
        >>> words_of("Où est-il ?")
        ['où', 'est', 'il']
    """
    return _WORD.findall(text.lower())


def best(scores: np.ndarray, k: int) -> np.ndarray:
    """Give the places of the `k` largest scores, the largest first; the earlier of equal ones first."""
    if k < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:k]


class WordIndex:
    """BM25 of all texts of an index (Lucene's variant, k1 = 1.5, b = 0.75), deleted ones included.

    The files are those of `bm25s.BM25.save`. bm25s itself is needed only to write them: it takes a second to
    import where JAX is installed, and a search adds up a few columns.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path):
        try:
            self._data, self._indices, self._starts = (
                np.load(folder / f"{name}.csc.index.npy", mmap_mode="r") for name in _ARRAYS
            )
            self._content: bytes | None = (folder / "vocab.index.json").read_bytes()
            self._n_texts = json.loads((folder / "params.index.json").read_bytes())["num_docs"]
        except (OSError, ValueError, KeyError) as error:
            raise damaged(folder, error) from error
        self._folder = folder
        self._numbers: dict[str, int] = {}

    def search(
        self, questions: Sequence[str], k: int, keep: np.ndarray | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find the `k` best texts for each question, among those of `keep`, bool `(texts,)`.

        Returns rows, int64, and scores, float32, the best first; only rows that share a word.
        """
        if self._content is not None:  # Half a second for a million texts.
            self._numbers = json.loads(self._content)
            self._content = None
        found = []
        for question in questions:
            scores = np.zeros(self._n_texts, np.float32)
            try:
                for word in words_of(question):
                    if (number := self._numbers.get(word)) is not None:
                        part = slice(self._starts[number], self._starts[number + 1])
                        scores[self._indices[part]] += self._data[part]
            except IndexError as error:
                raise damaged(self._folder, error) from error
            if keep is not None:
                scores[~keep] = 0
            rows = best(scores, k)
            rows = rows[scores[rows] > 0]
            found.append((rows, scores[rows]))
        return found


def write_bm25(folder: Path, texts: Iterable[Sequence[str]]) -> None:
    """Make the index of all texts, which come in parts, and write its files into a folder."""
    # Imported here because it loads JAX where that is installed.
    import bm25s
    from bm25s.tokenization import Tokenized

    numbers: dict[str, int] = {}
    ids = [
        [numbers.setdefault(word, len(numbers)) for word in words_of(text)] for part in texts for text in part
    ]
    # bm25s needs at least one word, and a text that has it.
    numbers.setdefault("", len(numbers))
    ids[0].append(numbers[""]) if not any(ids) else None
    index = bm25s.BM25()
    index.index(Tokenized(ids, numbers), show_progress=False)
    index.save(folder, show_progress=False)
