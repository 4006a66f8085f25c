"""The table of word vectors that a model starts from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.vocabulary import NUMBER, Vocabulary
from answer_ranking.data_prep.word_vectors.files import DEFAULT_SOURCE, read_vectors, source_name
from answer_ranking.data_prep.word_vectors.trained import train_word2vec

SHORT_NAMES = {
    "glove+spacy-450d": ("glove-6b-50d", "glove.6B.100d.subset.txt.gz", "spacy-md.300d.subset.txt.gz"),
}
"""Combinations of sources that `load_word_vectors` knows by one name."""

_TASK_VECTORS = re.compile(r"task-(skipgram|cbow)-(\d+)d")

# Tokens that a treebank or a data set writes in its own way, and the word under which vectors have them.
# A masked number takes the vector of some number.
_ALIASES = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}", NUMBER: "10"}


@dataclass(frozen=True)
class WordVectors:
    """One vector per entry of a vocabulary, and how much of it comes from the sources.

    Attributes:
        matrix: float32 (n_words, dimensions of all sources and the identity). Row 0, padding, is zero.
        name: the sources, joined by "+", as every result names them.
        coverage_types: share of the vocabulary's words that some source knows, 0 to 1.
        coverage_tokens: share of the running words, 0 to 1; NaN where no counts were given.
        known: bool (n_words,), which words some source knows.

    Example:
        >>> print(load_word_vectors(["glove-6b-50d"], Vocabulary(["the", "xyzzyx"])))
        glove-6b-50d: 50 dimensions, knows 50.0 % of the words
    """

    matrix: np.ndarray
    name: str
    coverage_types: float
    coverage_tokens: float
    known: np.ndarray

    def __str__(self) -> str:
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
    unknown_scale: float = 0.05,
    identity_dimensions: int = 0,
    embeddings_home: str | Path | None = None,
    cache_home: str | Path | None = None,
    keep: bool = True,
) -> WordVectors:
    """Read the vectors of a vocabulary's words; several sources are concatenated.

    A word is looked up as it is, then in lower case, then, for the treebank's brackets and masked numbers, as
    what it stands for. Where a source does not know it, its dimensions of that source are drawn from a normal
    distribution. The draw depends on the seed and the word alone, so that a word has the same vector in every
    vocabulary.

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
        keep: whether what is read from a large file is kept in the cache; if not, its words are, and it is
            not read for words that it lacks. Default True.

    Raises:
        UserError: a source is not found or malformed, or there is none.

    Example:
        >>> vectors = load_word_vectors(["glove-6b-50d"], Vocabulary(["the"]), identity_dimensions=10)
        >>> vectors.name, vectors.matrix.shape, bool(vectors.matrix[0].any())
        ('glove-6b-50d+identity10', (3, 60), False)
    """
    if vocabulary is None or not sources:
        raise UserError("word vectors need a vocabulary and at least one source.")
    if unknown_scale < 0 or identity_dimensions < 0:
        raise UserError("unknown_scale and identity_dimensions must not be negative.")
    n_words, words = len(vocabulary.words), vocabulary.words[2:]
    wanted = {spelling for word in words for spelling in _spellings(word)}
    names, parts = [], []
    for source in (part for each in sources for part in SHORT_NAMES.get(each, (each,))):
        name, found, vectors = read_vectors(source, wanted, embeddings_home, cache_home, keep)
        row_of = {word: row for row, word in enumerate(found)}
        known_as = (next((s for s in _spellings(word) if s in row_of), None) for word in words)
        found_rows = (-1 if spelling is None else row_of[spelling] for spelling in known_as)
        names.append(name)
        parts.append((vectors, np.fromiter(found_rows, np.int64, len(words))))
        del row_of, found
    del wanted

    n_real = sum(vectors.shape[1] for vectors, _ in parts)
    matrix = np.zeros((n_words, n_real + identity_dimensions), np.float32)
    known = np.zeros(n_words, bool)
    edges = np.cumsum([0, *(vectors.shape[1] for vectors, _ in parts)])
    drawn: dict[int, np.ndarray] = {}
    for begin, end in pairwise(edges):
        # Each source's own array is let go before the next one's turn: they are most of the memory.
        vectors, rows = parts.pop(0)
        here = np.concatenate([[-1, -1], rows])
        known |= here >= 0
        for number in range(1, n_words):
            if here[number] >= 0:
                matrix[number, begin:end] = vectors[here[number]]
                continue
            if number not in drawn:
                drawn[number] = unknown_scale * _normal(vocabulary.words[number], seed, b"unknown", n_real)
            matrix[number, begin:end] = drawn[number][begin:end]
    if identity_dimensions:
        norms = np.linalg.norm(matrix[known], axis=1)
        scale = (norms.mean() if len(norms) else 1.0) / identity_dimensions**0.5
        for number in range(1, n_words):
            identity = _normal(vocabulary.words[number], seed, b"identity", identity_dimensions)
            matrix[number, n_real:] = scale * identity
        names.append(f"identity{identity_dimensions}")

    coverage = float("nan")
    if counts is not None:
        coverage = float(known[2:] @ np.asarray(counts)[2:] / max(1, np.sum(counts[2:])))
    return WordVectors(
        matrix=matrix,
        name="+".join(names),
        coverage_types=float(known[2:].mean()) if words else 0.0,
        coverage_tokens=coverage,
        known=known,
    )


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


def _spellings(word: str) -> tuple[str, ...]:
    """Give the spellings under which a word is looked up, the best first."""
    return tuple(dict.fromkeys((word, word.lower(), _ALIASES.get(word.lower(), word))))


def _normal(word: str, seed: int, purpose: bytes, size: int) -> np.ndarray:
    digest = blake2b(f"{seed} {word}".encode(), digest_size=16, person=purpose).digest()
    return np.random.default_rng(int.from_bytes(digest, "little")).standard_normal(size, np.float32)
