"""The table of word vectors that a model starts from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.vocabulary import Vocabulary
from answer_ranking.data_prep.word_vectors.files import DEFAULT_SOURCE, read_vectors, source_name
from answer_ranking.data_prep.word_vectors.trained import train_word2vec
from answer_ranking.data_prep.word_vectors.unknown_words import drawn_vector
from answer_ranking.data_prep.words import spellings

SHORT_NAMES = {
    "glove+spacy-450d": ("glove-6b-50d", "glove.6B.100d.subset.txt.gz", "spacy-md.300d.subset.txt.gz"),
}
"""Combinations of sources that `load_word_vectors` knows by one name."""

UNKNOWN_SCALE = 0.05
"""The standard deviation of the vectors drawn for unknown words, unless it is said."""

_TASK_VECTORS = re.compile(r"task-(skipgram|cbow)-(\d+)d")


@dataclass(frozen=True)
class WordVectors:
    """One vector per entry of a vocabulary, and how much of it comes from the sources.

    Attributes:
        matrix: float32 (n_words, dimensions of all sources and the identity), `TokenVectors`, or the files of
            an encoder that is trained. Row 0, padding, is zero.
        name: the sources, joined by "+", as every result names them.
        coverage_types: share of the vocabulary's words that some source knows, 0 to 1.
        coverage_tokens: share of the running words, 0 to 1; NaN where no counts were given.
        known: bool (n_words,), which words some source knows.
        encoder: SHA-256 of the weights of the encoder that gives the vectors, or is trained; "" for static
            word vectors.

    Example:
        >>> print(load_word_vectors(["glove-6b-50d"], Vocabulary(["the", "xyzzyx"])))
        glove-6b-50d: 50 dimensions, knows 50.0 % of the words
    """

    matrix: Any
    name: str
    coverage_types: float
    coverage_tokens: float
    known: np.ndarray
    encoder: str = ""

    def __str__(self) -> str:
        if self.encoder:
            n_words, size = self.matrix.shape
            return f"{self.name}: {size} dimensions, {n_words - 2:,} tokens; SHA-256 {self.encoder}"
        text = f"{self.name}: {self.matrix.shape[1]} dimensions, knows {self.coverage_types:.1%} of the words"
        if not np.isnan(self.coverage_tokens):
            text += f" and {self.coverage_tokens:.1%} of the running words"
        return text.replace("%", " %")


def load_word_vectors(
    sources: Sequence[str] = (DEFAULT_SOURCE,),
    vocabulary: Vocabulary | None = None,
    *,
    counts: np.ndarray | None = None,
    seed: int = 0,
    unknown_scale: float = UNKNOWN_SCALE,
    identity_dimensions: int = 0,
    embeddings_home: str | Path | None = None,
    cache_home: str | Path | None = None,
    keep: bool = True,
) -> WordVectors:
    """Read the vectors of a vocabulary's words; several sources are concatenated.

    A word is looked up as it is, then in lower case, then, for the treebank's brackets and masked numbers, as
    what it stands for, then with hyphens in the place of its dashes. Where a source does not know it, its
    dimensions of that source are normal draws that depend on the seed and the word alone.

    Identity dimensions are in none of the papers: fixed random dimensions that tell every word from every
    other, so that a model can see exact matches. They are normal with mean 0, scaled so that their expected
    norm is the mean norm of the known words' vectors, and they show in the name.

    Args:
        sources: names of `data_prep.word_vectors.files.SOURCES`, paths, bare names of files in
            `embeddings_home`, or short names of several (`SHORT_NAMES`), such as "glove+spacy-450d".
        vocabulary: the words.
        counts: integers (n_words,), how often every word occurs, for the coverage of running words.
        seed: int, of the random vectors.
        unknown_scale: float, standard deviation of an unknown word's vector, at least 0. Default 0.05.
        identity_dimensions: int, how many. Default 0.
        embeddings_home: folder of word-vector files; None for QA_EMBEDDINGS_HOME and the user's cache.
        cache_home: the cache folder; None for the user's.
        keep: cache large files; if not, they are not read for new words, and unknown ones stay zero.

    Raises:
        UserError: a source is not found or malformed, or there is none.

    Example:
        >>> vectors = load_word_vectors(["glove-6b-50d"], Vocabulary(["the"]), identity_dimensions=10)
        >>> vectors.name, vectors.matrix.shape, bool(vectors.matrix[0].any())
        ('glove-6b-50d+identity10', (3, 60), False)
    """
    if vocabulary is None or not sources:
        raise UserError("word vectors need a vocabulary and a source, such as --embeddings glove-6b-50d.")
    if unknown_scale < 0 or identity_dimensions < 0:
        raise UserError("unknown_scale and identity_dimensions must not be negative.")
    words = vocabulary.words
    parts = _read_parts(sources, words, embeddings_home, cache_home, keep)
    names = [part.name for part in parts]
    n_real = sum(part.vectors.shape[1] for part in parts)
    matrix = np.zeros((len(words), n_real + identity_dimensions), np.float32)
    lacking = _fill_known(matrix, parts)
    known = ~np.all([lacks for lacks, _ in lacking], axis=0)
    if not keep:
        lacking = [(lacks & known, columns) for lacks, columns in lacking]
    _fill_unknown(matrix[:, :n_real], lacking, words, seed, unknown_scale)
    if identity_dimensions:
        _fill_identities(matrix, n_real, known, words, seed)
        names.append(f"identity{identity_dimensions}")
    return WordVectors(matrix, "+".join(names), *_coverage(known, counts), known)


@dataclass(frozen=True)
class _Part:
    """What a source has: its name, the vectors found, and the row of every word's, -1 where there is none."""

    name: str
    vectors: np.ndarray
    rows: np.ndarray


def _read_parts(
    sources: Sequence[str],
    words: Sequence[str],
    embeddings_home: str | Path | None,
    cache_home: str | Path | None,
    keep: bool,
) -> list[_Part]:
    wanted: set[str] = set()
    for word in words[2:]:
        wanted.update(spellings(word))
    parts = []
    for source in sources:
        for each in SHORT_NAMES.get(source, (source,)):
            name, found, vectors = read_vectors(each, wanted, embeddings_home, cache_home, keep)
            # Of the few new words of a text all may be zero, of a data set's words not.
            if keep and found and not vectors.any():
                raise UserError(
                    f"the word vectors {each}: those of {found[0]!r:.40} and of all other words found are "
                    "zero, and nothing can be learnt from them. Choose another file."
                )
            parts.append(_Part(name, vectors, _rows_of(words, found)))
    return parts


def _rows_of(words: Sequence[str], found: Sequence[str]) -> np.ndarray:
    row_of = {word: row for row, word in enumerate(found)}
    rows = np.full(len(words), -1)
    for number, word in enumerate(words[2:], start=2):
        for spelling in spellings(word):
            if spelling in row_of:
                rows[number] = row_of[spelling]
                break
    return rows


def _coverage(known: np.ndarray, counts: np.ndarray | None) -> tuple[float, float]:
    """Give the shares of the words and of the running words that are known."""
    types = float(known[2:].mean()) if len(known) > 2 else 0.0
    if counts is None:
        return types, float("nan")
    return types, float(known[2:] @ np.asarray(counts)[2:] / max(1, np.sum(counts[2:])))


def _fill_known(matrix: np.ndarray, parts: list[_Part]) -> list[tuple[np.ndarray, slice]]:
    """Write the sources' vectors side by side; give which words each lacks, and its columns."""
    lacking = []
    begin = 0
    while parts:
        # Each source's own array is let go before the next one's turn: they are most of the memory.
        part = parts.pop(0)
        columns = slice(begin, begin + part.vectors.shape[1])
        for number in np.flatnonzero(part.rows >= 0):
            matrix[number, columns] = part.vectors[part.rows[number]]
        lacking.append((part.rows < 0, columns))
        begin = columns.stop
    return lacking


def _fill_unknown(
    matrix: np.ndarray,
    lacking: list[tuple[np.ndarray, slice]],
    words: Sequence[str],
    seed: int,
    scale: float,
) -> None:
    """Draw what the sources lack; padding stays zero."""
    drawn: dict[int, np.ndarray] = {}
    for lacks, columns in lacking:
        for number in (np.flatnonzero(lacks[1:]) + 1).tolist():
            if number not in drawn:
                drawn[number] = scale * drawn_vector(f"{seed} {words[number]}", b"unknown", matrix.shape[1])
            matrix[number, columns] = drawn[number][columns]


def _fill_identities(
    matrix: np.ndarray, n_real: int, known: np.ndarray, words: Sequence[str], seed: int
) -> None:
    size = matrix.shape[1] - n_real
    norms = np.linalg.norm(matrix[known], axis=1)
    scale = (norms.mean() if len(norms) else 1.0) / size**0.5
    for number in range(1, len(words)):
        matrix[number, n_real:] = scale * drawn_vector(f"{seed} {words[number]}", b"identity", size)


def resolve_task_vectors(
    embeddings: Sequence[str],
    dataset: Dataset,
    lowercase: bool = True,
    mask_numbers: bool = False,
    data_home: str | Path | None = None,
) -> tuple[str, ...]:
    """Put the files of vectors trained on a data set's own texts in the place of their names.

    `task-skipgram-100d` stands for word2vec's skip-gram with 100 dimensions, `task-cbow-100d` for continuous
    bag of words. They are trained, or found again, on the texts that the data set has for the purpose
    (`DatasetDescription.unlabelled_texts`; what these are is printed), else on its training set. Other names
    and paths are passed on.
    """
    sources = []
    for name in embeddings:
        if kind := _TASK_VECTORS.fullmatch(name):
            size, sg = int(kind[2]), kind[1] == "skipgram"
            if dataset.description.unlabelled_texts is None:
                name = train_word2vec(dataset, size, sg=sg, lowercase=lowercase, mask_numbers=mask_numbers)
            else:
                texts, origin = dataset.description.unlabelled_texts(dataset.train, data_home, lowercase)
                print(f"Word vectors are trained on {origin}.", flush=True)
                name = train_word2vec(texts, size, sg=sg, name=dataset.description.name)
        sources.append(name)
    return tuple(sources)


def short_name(name: str) -> str:
    """Shorten the name of word vectors for a table.

    Example:
        >>> short_name("glove-6b-50d+glove.6B.100d.subset+spacy-md.300d.subset+identity150")
        'glove+spacy-450d+identity150'
    """
    for short, sources in SHORT_NAMES.items():
        name = name.replace("+".join(map(source_name, sources)), short)
    return name


def mean_norm(vectors: WordVectors, counts: np.ndarray) -> float:
    """Return the mean Euclidean norm of the running words' vectors, 0 where there are no words."""
    norms = np.linalg.norm(vectors.matrix, axis=1).astype(np.float64)
    return float(norms @ counts / max(1, counts.sum()))


def scale_to_norm(vectors: WordVectors, counts: np.ndarray, norm: float) -> WordVectors:
    """Scale all word vectors by one factor, so that `mean_norm(vectors, counts)` becomes `norm`, above 0."""
    if not norm > 0:
        raise UserError(f"the word vectors' norm must be above 0. Received: {norm}")
    present = mean_norm(vectors, counts)
    if present == 0:
        raise UserError(f"{vectors.name}: the vectors of all running words are zero and cannot be scaled.")
    return replace(vectors, matrix=vectors.matrix * np.float32(norm / present))
