"""The first stage `bm25`: the best texts by their words, with the scores of bm25s."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from answer_ranking.data_prep.words import words_of
from answer_ranking.ranking.search.checked_array import CheckedArray, read_checked, write_sums
from answer_ranking.ranking.search.manifest import StageFolder, damaged
from answer_ranking.ranking.search.protocol import IndexFiles, Searcher
from answer_ranking.ranking.search.results import Candidates
from answer_ranking.ranking.search.tasks import Model
from answer_ranking.ranking.search.word_counts import (
    WORDS,
    AllWords,
    counts_of,
    read_all_words,
    reading,
)
from answer_ranking.ranking.search.writing import atomic_folder, saved

_ARRAYS = ("data", "indices", "indptr")
_VOCABULARY = "vocab.index.json"
_DAMAGED = (IndexError, ValueError, TypeError, AttributeError, OverflowError)
"""What Python and NumPy raise for numbers that are none of an index."""


def best(scores: np.ndarray, k: int) -> np.ndarray:
    """Give the places of the `k` largest scores, the largest first; the earlier of equal ones first."""
    if k < len(scores):
        at = len(scores) - k
        places = np.flatnonzero(scores >= np.partition(scores, at)[at])
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:k]


class BM25:
    """Counts the words of every segment, and makes one index of all."""

    name = "bm25"
    needs_model = False

    def encode(self, texts: list[str], model: Model | None) -> dict[str, pa.Buffer]:
        """Count the words of texts."""
        return {WORDS: saved(np.savez, **counts_of(texts))}

    def build(self, files: IndexFiles, name: str, ray: Any) -> StageFolder:
        """Compute the scores of all words in all texts."""
        folder = files.folder / f"bm25-{name}"
        if not folder.is_dir():
            with atomic_folder(folder) as new:
                write_bm25(new, [segment / WORDS for segment in files.segments])
        return StageFolder(folder.name, files.manifest.rows)

    def open(self, files: IndexFiles, others: Mapping[str, Searcher]) -> Searcher:
        """Open the scores."""
        if self.name not in files.manifest.stages:
            raise damaged(files.folder, ValueError("it has no files of bm25"))
        folder, rows = files.manifest.stages[self.name]
        return WordIndex(files.folder / folder, rows)


class WordIndex:
    """BM25 of all texts of an index (Lucene's variant, k1 = 1.5, b = 0.75), deleted ones included.

    The files are those of `bm25s.BM25.save`. bm25s itself is needed only to write them: it takes a second to
    import where JAX is installed, and a search adds up a few columns.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path, n_texts: int):
        try:
            self._data, self._indices, self._starts = (
                CheckedArray(folder / f"{name}.csc.index.npy") for name in _ARRAYS
            )
            self._content = read_checked(folder / _VOCABULARY)
            found = json.loads((folder / "params.index.json").read_bytes())["num_docs"]
            if found != n_texts:
                raise ValueError(f"{found} texts instead of {n_texts}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(folder, error) from error
        self._folder, self._n_texts = folder, n_texts

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The words' numbers, which take half a second for a million texts."""
        try:
            return json.loads(self._content)
        except ValueError as error:
            raise damaged(self._folder, error) from error

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None = None) -> Candidates:
        """Find the `k` best texts for each question, among those of `keep`, bool `(texts,)`.

        Only texts that share a word are found; their scores are float32.
        """
        found, best_scores = [], []
        for question in questions:
            scores = self._scores(question)
            if keep is not None:
                scores[~keep] = 0
            rows = best(scores, k)
            rows = rows[scores[rows] > 0]
            found.append(rows)
            best_scores.append(scores[rows])
        return Candidates(found, best_scores, np.zeros(len(questions), bool))

    def _scores(self, question: str) -> np.ndarray:
        """Add up the scores of all texts, word by word."""
        scores = np.zeros(self._n_texts, np.float32)
        try:
            for word in words_of(question):
                number = self._numbers.get(word)
                if number is not None:
                    start, stop = self._starts.slice(number, number + 2)
                    scores[self._indices.slice(start, stop)] += self._data.slice(start, stop)
        except _DAMAGED as error:
            raise damaged(self._folder, error) from error
        return scores


def write_bm25(folder: Path, counted: Sequence[Path]) -> None:
    """Make the index of all texts from the files of their counts, and write its files into a folder.

    The scores are those of bm25s, of which only the counting is replaced: it holds all words of all texts.
    """
    # Imported here because it loads JAX where that is installed.
    import bm25s

    index, words = bm25s.BM25(), read_all_words(counted)
    data, indices, starts = _scores_of(index, words, counted)
    index.scores = {"data": data, "indices": indices, "indptr": starts, "num_docs": words.n_texts}
    index.vocab_dict, index.nonoccurrence_array = words.numbers, None
    index.save(folder, show_progress=False)
    for name in _ARRAYS:
        write_sums(folder / f"{name}.csc.index.npy")
    write_sums(folder / _VOCABULARY)


def _scores_of(
    index: Any, words: AllWords, counted: Sequence[Path]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute each word's scores in the texts that have it, the rows of these, and where a word begins."""
    from bm25s import scoring

    idf_of = scoring._select_idf_scorer(index.idf_method)
    part_of = scoring._select_tfc_scorer(index.method)
    mean_length = words.n_words / words.n_texts
    idf = np.array([idf_of(n, N=words.n_texts) for n in words.in_texts.tolist()], index.dtype)
    starts = np.concatenate([[0], np.cumsum(words.in_texts)])
    size = max(starts[-1], 1)  # Arrays without a number could not be memory-mapped.
    data, indices = np.zeros(size, index.dtype), np.zeros(size, index.int_dtype)
    free, n_before = starts[:-1].copy(), 0
    for path, place in zip(counted, words.places, strict=True):
        with reading(path) as counts:
            texts, rows = counts["texts"], counts["rows"]
            times, lengths = counts["times"].astype(index.dtype), counts["lengths"].astype(float)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(texts) - texts, texts)
        to = np.repeat(free[place], texts) + within
        part = part_of(times, lengths[rows], mean_length, index.k1, index.b)
        data[to] = np.repeat(idf[place], texts) * part
        indices[to] = rows.astype(index.int_dtype) + n_before
        free[place] += texts
        n_before += len(lengths)
    return data, indices, starts
