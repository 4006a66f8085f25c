"""The first stage `bm25`: the best texts by their words, with the scores of bm25s."""

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csc_array

from answer_ranking.ranking.search.checked_array import CheckedArray, read_checked, write_sums
from answer_ranking.ranking.search.first_stages.protocol import IndexFiles, Searcher, Texts
from answer_ranking.ranking.search.first_stages.term_counts import (
    AllTerms,
    counts_of,
    read_all_terms,
    reading_counts,
)
from answer_ranking.ranking.search.first_stages.word_options import WordOptions
from answer_ranking.ranking.search.manifest import StageFolder, damaged, reading
from answer_ranking.ranking.search.results import Candidates
from answer_ranking.ranking.search.tasks import Model
from answer_ranking.ranking.search.writing import atomic_folder, saved

_ARRAYS = {"data": "f", "indices": "i", "indptr": "i"}
"""The arrays of bm25s, and the kinds of their numbers."""
_VOCABULARY = "vocab.index.json"
_BLOCK = 64  # scores, of which the largest is compared first


def best(scores: np.ndarray, k: int) -> np.ndarray:
    """Give the places of the `k` largest scores above 0, the largest first; the earlier of equal ones first.

    The `k`-th largest maximum of blocks is a bound that at least `k` scores reach; few others do, and so
    nearly all are left out in one pass, ten times as fast as a partition of a million scores.

    Example:
        >>> best(np.array([0, 2, 0, 3, 2], np.float32), k=2).tolist()
        [3, 1]
    """
    least, n_blocks = np.float32(0), len(scores) // _BLOCK
    if k < n_blocks:
        maxima = scores[: n_blocks * _BLOCK].reshape(n_blocks, _BLOCK).max(axis=1)
        least = np.partition(maxima, n_blocks - k)[n_blocks - k]
    places = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    return places[np.argsort(-scores[places], kind="stable")][:k]


class BM25:
    """Counts the terms of every segment, here words, and makes one index of all."""

    name = "bm25"
    file = "words.npz"
    """The file of a segment that holds what `counts_of` gives."""

    def terms_of(self, words: WordOptions) -> Callable[[str], list[str]]:
        """Give the function that splits a text."""
        return words.words_of

    def encode(self, texts: Texts, model: Model | None) -> dict[str, pa.Buffer]:
        """Count the terms of texts."""
        return {self.file: saved(np.savez, **counts_of(texts.searched, self.terms_of(texts.words)))}

    def build(self, files: IndexFiles, name: str, ray: Any) -> StageFolder:
        """Compute the scores of all terms in all texts."""
        folder = files.folder / f"{self.name}-{name}"
        if not folder.is_dir():
            with atomic_folder(folder) as new:
                write_bm25(new, [segment / self.file for segment in files.segments])
        return StageFolder(folder.name, files.manifest.rows)

    def open(self, files: IndexFiles) -> Searcher:
        """Open the scores."""
        if self.name not in files.manifest.stages:
            raise damaged(files.folder, ValueError(f"it has no files of {self.name}"))
        folder, rows = files.manifest.stages[self.name]
        return TermIndex(files.folder / folder, rows, self.terms_of(files.manifest.words))


class TermIndex:
    """BM25 of all texts of an index (Lucene's variant, k1 = 1.5, b = 0.75), deleted ones included.

    The files are those of `bm25s.BM25.save`. bm25s itself is needed only to write them: it takes a second to
    import where JAX is installed, and a search adds up a few columns.

    Args:
        folder: the folder that `write_bm25` filled.
        n_texts: how many texts there are.
        terms_of: splits a question as the texts were split.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path, n_texts: int, terms_of: Callable[[str], list[str]]):
        with reading(folder):
            arrays = {name: CheckedArray(folder / f"{name}.csc.index.npy") for name in _ARRAYS}
            for name, kind in _ARRAYS.items():
                if arrays[name].array.dtype.kind != kind:
                    raise ValueError(f"{name} are {arrays[name].array.dtype}")
            self._data, self._indices, self._starts = arrays.values()
            self._content = read_checked(folder / _VOCABULARY)
            found = json.loads((folder / "params.index.json").read_bytes())["num_docs"]
            if found != n_texts:
                raise ValueError(f"{found} texts instead of {n_texts}")
        self._folder, self._n_texts, self._terms_of = folder, n_texts, terms_of

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The terms' numbers; those of words take half a second for a million texts."""
        with reading(self._folder):
            return json.loads(self._content)

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None = None) -> Candidates:
        """Find the `k` best texts for each question, among those of `keep`, bool `(texts,)`.

        Only texts that share a term are found; their scores are float32.
        """
        found, best_scores = [], []
        for question in questions:
            scores = self._scores(question)
            if keep is not None:
                scores[~keep] = 0
            rows = best(scores, k)
            found.append(rows)
            best_scores.append(scores[rows])
        return Candidates(found, best_scores, np.zeros(len(questions), bool))

    def facts(self, questions: Sequence[str]) -> dict[str, np.ndarray]:
        """Count the terms of each question (`terms`), and bound the scores of all texts (`most`).

        The bound is the sum of the inverse document frequencies of its known terms, as bm25s has them.
        """
        terms, most = np.zeros(len(questions)), np.zeros(len(questions))
        for place, question in enumerate(questions):
            terms[place] = len(self._terms_of(question))
            in_texts = np.array([stop - start for start, stop in self._known(question)])
            most[place] = np.log1p((self._n_texts - in_texts + 0.5) / (in_texts + 0.5)).sum()
        return {"terms": terms, "most": most}

    def _scores(self, question: str) -> np.ndarray:
        """Add up the scores of all texts, term by term."""
        known = self._known(question)
        with reading(self._folder):
            rows, scores = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
            for start, stop in known:
                rows.append(self._indices.slice(start, stop))
                scores.append(self._data.slice(start, stop))
            row, score = np.concatenate(rows), np.concatenate(scores)
            # SciPy's product adds up three times as fast as NumPy's `scores[row] += score` of each term.
            column = csc_array((score, row, [0, len(row)]), shape=(self._n_texts, 1))
            column.check_format(full_check=True)
        return column @ np.ones(1, np.float32)

    def _known(self, question: str) -> list[tuple[int, int]]:
        """Find where the scores of each known term begin and end."""
        terms = self._terms_of(question)
        with reading(self._folder):
            numbers = [self._numbers.get(term) for term in terms]
            return [tuple(self._starts.slice(at, at + 2)) for at in numbers if at is not None]


def write_bm25(folder: Path, counted: Sequence[Path]) -> None:
    """Make the index of all texts from the files of their counts, and write its files into a folder.

    The scores are those of bm25s, of which only the counting is replaced: it holds all terms of all texts.
    """
    # Imported here because it loads JAX where that is installed.
    import bm25s

    index, terms = bm25s.BM25(), read_all_terms(counted)
    data, indices, starts = _scores_of(index, terms, counted)
    index.scores = {"data": data, "indices": indices, "indptr": starts, "num_docs": terms.n_texts}
    index.vocab_dict, index.nonoccurrence_array = terms.numbers, None
    index.save(folder, show_progress=False)
    for name in _ARRAYS:
        write_sums(folder / f"{name}.csc.index.npy")
    write_sums(folder / _VOCABULARY)


def _scores_of(
    index: Any, terms: AllTerms, counted: Sequence[Path]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute each term's scores in the texts that have it, the rows of these, and where a term begins."""
    from bm25s import scoring

    idf_of = scoring._select_idf_scorer(index.idf_method)
    part_of = scoring._select_tfc_scorer(index.method)
    mean_length = terms.n_terms / terms.n_texts
    idf = np.array([idf_of(n, N=terms.n_texts) for n in terms.in_texts.tolist()], index.dtype)
    starts = np.concatenate([[0], np.cumsum(terms.in_texts)])
    size = max(starts[-1], 1)  # Arrays without a number could not be memory-mapped.
    data, indices = np.zeros(size, index.dtype), np.zeros(size, index.int_dtype)
    free, n_before = starts[:-1].copy(), 0
    for path, place in zip(counted, terms.places, strict=True):
        with reading_counts(path) as counts:
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
