"""The table of word vectors that a model starts from."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from data_prep.errors import UserError
from data_prep.vocabulary import Vocabulary
from data_prep.word_vector_files import DEFAULT_SOURCE, read_vectors


@dataclass(frozen=True)
class WordVectors:
    """One vector per entry of a vocabulary, and how much of it comes from the sources.

    Attributes:
        matrix: float32 (n_words, dimensions). Row 0, padding, is zero.
        name: the sources, joined by "+", as every result names them.
        coverage_types: share of the vocabulary's words that some source knows, 0 to 1.
        coverage_tokens: share of the running words, 0 to 1; NaN where no counts were given.
        dimensions: int, all sources and the identity dimensions together.

    Example:
        >>> print(load_word_vectors(["glove-6b-50d"], Vocabulary(["the", "xyzzyx"])))
        glove-6b-50d: 50 dimensions, knows 50.0 % of the words
    """

    matrix: np.ndarray
    name: str
    coverage_types: float
    coverage_tokens: float
    dimensions: int

    def __str__(self) -> str:
        text = f"{self.name}: {self.dimensions} dimensions, knows {self.coverage_types:.1%} of the words"
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
) -> WordVectors:
    """Read the vectors of a vocabulary's words; several sources are concatenated.

    A word is looked up as it is, then in lower case. Where a source does not know it, its dimensions of that
    source are drawn from a normal distribution with mean 0 and standard deviation `unknown_scale`. The draw
    depends on the seed and the word alone, so that a word has the same vector in every vocabulary.

    Identity dimensions are in none of the papers: fixed random dimensions that tell every word from every
    other, so that a model can see exact matches. They are normal with mean 0, scaled so that their expected
    norm is the mean norm of the known words' vectors, and they show in the name.

    Args:
        sources: names or paths, see `data_prep.word_vector_files.read_vectors`.
        vocabulary: the words.
        counts: integers (n_words,), how often every word occurs, for the coverage of running words.
        seed: int, of the random vectors.
        unknown_scale: float, standard deviation of an unknown word's vector, at least 0. Default 0.05.
        identity_dimensions: int, how many. Default 0.
        embeddings_home: folder of word-vector files; None for QA_EMBEDDINGS_HOME and the user's cache.
        cache_home: the cache folder; None for the user's.

    Returns:
        The table.

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
    words = vocabulary.words[2:]
    wanted = {*words, *(word.lower() for word in words)}
    names, blocks, known_to = [], [], []
    for source in sources:
        name, found, vectors = read_vectors(source, wanted, embeddings_home, cache_home)
        position = {word: i for i, word in enumerate(found)}
        rows = np.array([position.get(word, position.get(word.lower(), -1)) for word in words], np.int64)
        block = np.zeros((len(vocabulary), vectors.shape[1]), np.float32)
        known = np.concatenate([[False, False], rows >= 0])
        block[known] = vectors[rows[rows >= 0]]
        names.append(name)
        blocks.append(block)
        known_to.append(known)
    known = np.any(known_to, axis=0)
    real = np.concatenate(blocks, axis=1)
    mean_norm = float(np.linalg.norm(real[known], axis=1).mean()) if known.any() else 1.0

    edges = np.cumsum([0, *(block.shape[1] for block in blocks)])
    everywhere = np.all(known_to, axis=0)
    for i in np.flatnonzero(~everywhere[1:]) + 1:
        drawn = unknown_scale * _normal(vocabulary.words[i], seed, b"unknown", real.shape[1])
        for known_here, begin, end in zip(known_to, edges, edges[1:], strict=False):
            if not known_here[i]:
                real[i, begin:end] = drawn[begin:end]
    if identity_dimensions:
        identity = np.zeros((len(vocabulary), identity_dimensions), np.float32)
        for i in range(1, len(vocabulary)):
            identity[i] = _normal(vocabulary.words[i], seed, b"identity", identity_dimensions)
        real = np.concatenate([real, identity * np.float32(mean_norm / identity_dimensions**0.5)], axis=1)
        names.append(f"identity{identity_dimensions}")

    weights = None if counts is None else np.asarray(counts)[2:]
    return WordVectors(
        matrix=real,
        name="+".join(names),
        coverage_types=float(known[2:].mean()) if words else 0.0,
        coverage_tokens=float("nan")
        if weights is None
        else float(known[2:] @ weights / max(1, weights.sum())),
        dimensions=real.shape[1],
    )


def _normal(word: str, seed: int, purpose: bytes, size: int) -> np.ndarray:
    digest = blake2b(f"{seed} {word}".encode(), digest_size=16, person=purpose).digest()
    return np.random.default_rng(int.from_bytes(digest, "little")).standard_normal(size, np.float32)
