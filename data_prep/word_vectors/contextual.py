"""Contextual words: a frozen encoder gives every token of a text a vector of its own."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from tqdm import tqdm

from answer_ranking.base.errors import UserError, say
from answer_ranking.base.files import cache_folder
from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.encoded_dataset import EncodedDataset
from answer_ranking.data_prep.encoded_split import (
    EncodedTexts,
    chunks_of_padded,
    encode_split_by,
    in_order,
    offsets_of,
)
from answer_ranking.data_prep.vocabulary import Vocabulary
from answer_ranking.data_prep.word_vectors.encoder_folder import (
    VOCABULARY,
    WEIGHTS,
    BertConfig,
    encoder_name,
    find_encoder,
    is_encoder,
    read_encoder,
)
from answer_ranking.data_prep.word_vectors.load import WordVectors
from answer_ranking.data_prep.word_vectors.token_store import TokenStore
from answer_ranking.data_prep.word_vectors.word_pieces import WordPieces

# Raise it when the vectors of a text change, so that no older ones are read.
_FORMAT = 1
_TEXTS_AT_ONCE = 2048  # Sorted by length together, and kept together.
_PIECES_AT_ONCE = 2048  # Of a batch, padding included.


class Bert:
    """A frozen BERT: the states of its last layer, see `BertStates`.

    Args:
        config: the sizes.
        weights: as `read_encoder` gives them.

    Example:
        >>> states = Bert(files.config, files.weights)(pieces, lengths)  # doctest: +SKIP
    """

    def __init__(self, config: BertConfig, weights: dict[str, np.ndarray]):
        import tensorflow as tf

        from answer_ranking.data_prep.word_vectors.bert_states import BertStates

        constants = {}
        for name, array in config.join_projections(weights).items():
            is_dense = array.ndim == 2 and not name.startswith("embeddings.")
            constants[name] = tf.constant(array.T if is_dense else array)
        signature = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
        states = BertStates(config, constants, transposed=True)
        self._states = tf.function(states.__call__, input_signature=signature, autograph=False)

    def __call__(self, pieces: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Encode texts, int32 (texts, longest) and their lengths; float32 (texts, longest, hidden).

        What stands behind a text's length takes no part, and its states say nothing.
        """
        return self._states(np.asarray(pieces, np.int32), np.asarray(lengths, np.int32)).numpy()


class TokenVectors:
    """The vectors of tokens by their numbers; those of 0 (padding) and 1 (unknown) are zero.

    Args:
        stored: float16 (rows, n), such as a mapped file.
        rows: int64 (n_tokens,), the rows of token 2 and of those that follow; None for all rows in turn.
        identity: what names the vectors, for the hash of a training's data.

    Example:
        >>> vectors = TokenVectors(np.array([[1, 2], [3, 4]], np.float16), np.array([1, 0, 1]))
        >>> vectors.shape, vectors.take(np.array([0, 2, 3])).tolist()
        ((5, 2), [[0.0, 0.0], [3.0, 4.0], [1.0, 2.0]])
    """

    def __init__(self, stored: np.ndarray, rows: np.ndarray | None = None, identity: str = ""):
        self.stored, self.rows, self.identity = stored, rows, identity
        self.shape = (Vocabulary.FIRST + len(stored if rows is None else rows), stored.shape[1])

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Read the vectors of some tokens, float16 (k, n)."""
        vectors = np.zeros((len(numbers), self.shape[1]), np.float16)
        tokens = np.flatnonzero(numbers >= Vocabulary.FIRST)
        places = numbers[tokens] - Vocabulary.FIRST
        vectors[tokens] = self.stored[places if self.rows is None else self.rows[places]]
        return vectors


class ContextualEncoder:
    """A frozen encoder of contextual words.

    A text's tokens are its word pieces between [CLS] and [SEP]. A text that is longer than the encoder's
    positions is cut into windows of equal length, each of which is encoded by itself.

    Args:
        source: see `find_encoder`; "minilm" is all-MiniLM-L6-v2.
        embeddings_home: folder of word vectors; None for QA_EMBEDDINGS_HOME and the user's cache.

    Attributes:
        name: how results name it.
        sha256: of its weights.

    Raises:
        UserError: it is not found, damaged, or of another architecture.

    Example:
        >>> encoder = ContextualEncoder("minilm")  # doctest: +SKIP
        >>> encoder.encode(["Who wrote it?"])[0].shape  # doctest: +SKIP
        (6, 384)
    """

    def __init__(self, source: str, embeddings_home: str | Path | None = None):
        folder = find_encoder(source, embeddings_home)
        self.source, self.name = source, encoder_name(source)
        self._files = read_encoder(folder, source)
        self.sha256 = self._files.hashes[WEIGHTS]
        self.dimensions = self._files.config.hidden
        self._pieces = WordPieces(self._files.pieces, self._files.lowercase, folder / VOCABULARY)
        facts = [_FORMAT, sorted(self._files.hashes.items()), repr(self._files.config), self._files.lowercase]
        self.key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
        self._store: TokenStore | None = None

    @cached_property
    def _states(self) -> Bert:
        return Bert(self._files.config, self._files.weights)

    def tokens(self, text: str) -> list[str]:
        """Write the tokens of a text, one for each vector."""
        return [self._pieces.pieces[number] for number in np.concatenate(self._windows(text))]

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Compute the vectors of all tokens of texts, float16 (tokens, n) each."""
        vectors: list[np.ndarray] = [np.empty((0, self.dimensions), np.float16)] * len(texts)
        for places, arrays in self._groups(texts):
            for place, array in zip(places, arrays, strict=True):
                vectors[place] = array
        return vectors

    def stored(
        self, texts: Sequence[str], cache_home: str | Path | None = None
    ) -> tuple[EncodedTexts, TokenVectors]:
        """Number the tokens of distinct texts, all of them on end, and give their vectors from the disk.

        What was not encoded before is encoded, and kept in the cache.
        """
        folder = cache_folder(cache_home) / "contextual" / self.key[:32]
        if self._store is None or self._store.folder != folder:
            self._store = TokenStore(folder, self.dimensions)
        found = self._store.of(texts, self._groups)
        offsets = offsets_of(found.lengths)
        rows = np.repeat(found.first - offsets[:-1], found.lengths) + np.arange(offsets[-1])
        digest = hashlib.sha256(self.key.encode())
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        words = np.arange(Vocabulary.FIRST, Vocabulary.FIRST + offsets[-1], dtype=np.int32)
        return EncodedTexts(words, offsets), TokenVectors(found.vectors, rows, digest.hexdigest())

    def _windows(self, text: str) -> list[np.ndarray]:
        """Cut a text's pieces into windows that fit the encoder's positions."""
        pieces = self._pieces.numbers(text)
        most = self._files.config.positions - 2
        windows = np.array_split(pieces, max(1, -(-len(pieces) // most)))
        return [np.concatenate([[self._pieces.begin], part, [self._pieces.end]]) for part in windows]

    def _groups(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[np.ndarray]]]:
        """Encode texts group by group; gives the places of a group's texts and their vectors."""
        long = 0
        with tqdm(total=len(texts), desc="encoding", unit="text", leave=False, delay=2, disable=None) as bar:
            for start in range(0, len(texts), _TEXTS_AT_ONCE):
                windows = [self._windows(text) for text in texts[start : start + _TEXTS_AT_ONCE]]
                long += sum(len(of_text) > 1 for of_text in windows)
                yield list(range(start, start + len(windows))), self._encode_windows(windows)
                bar.update(len(windows))
        if long:
            most = self._files.config.positions
            say(f"texts of more than {most} tokens, encoded in several windows: {long:,}")

    def _encode_windows(self, windows: list[list[np.ndarray]]) -> list[np.ndarray]:
        flat = list(chain.from_iterable(windows))
        lengths = np.array(list(map(len, flat)))
        order = np.argsort(lengths, kind="stable")
        encoded: list[np.ndarray] = [np.empty(0)] * len(flat)
        for chunk in chunks_of_padded(lengths[order], _PIECES_AT_ONCE):
            batch = order[chunk]
            padded = np.full((len(batch), lengths[batch].max()), self._pieces.padding, np.int32)
            for row, number in zip(padded, batch, strict=True):
                row[: lengths[number]] = flat[number]
            states = self._states(padded, lengths[batch]).astype(np.float16)
            for state, number in zip(states, batch, strict=True):
                encoded[number] = state[: lengths[number]].copy()
        vectors, begin = [], 0
        for of_text in windows:
            parts = encoded[begin : begin + len(of_text)]
            vectors.append(parts[0] if len(parts) == 1 else np.concatenate(parts))
            begin += len(of_text)
        return vectors


def encoder_among(sources: Sequence[str], embeddings_home: str | Path | None = None) -> str | None:
    """Give the encoder among word vectors, None where there is none; a UserError where it is not alone.

    Example:
        >>> encoder_among(["minilm"]), encoder_among(["glove-6b-50d"])
        ('minilm', None)
    """
    encoders = [source for source in sources if is_encoder(source, embeddings_home)]
    if encoders and len(sources) > 1:
        raise UserError(
            f"contextual words ({encoders[0]}) stand alone: the other word vectors have a vector for each "
            "word, not for each token. Name one of them."
        )
    return encoders[0] if encoders else None


def encode_with(
    encoder: ContextualEncoder, dataset: Dataset, cache_home: str | Path | None = None
) -> tuple[EncodedDataset, WordVectors]:
    """Encode a data set in contextual words: every token of its texts is a word of its own.

    The vocabulary is empty, since no word has a vector by itself; the table of vectors is `TokenVectors`.
    """
    place_of: dict[str, int] = {}
    for table in dataset.splits.values():
        for text in chain(table["question"], table["candidate"]):
            place_of.setdefault(text, len(place_of))
    encoded, vectors = encoder.stored(list(place_of), cache_home)

    def known(*wanted: Sequence[str]) -> list[EncodedTexts]:
        return [encoded.take(list(map(place_of.__getitem__, texts))) for texts in wanted]

    splits = {name: encode_split_by(table, known) for name, table in dataset.splits.items()}
    splits = in_order(splits, dataset.description.order_seed)
    found = WordVectors(vectors, encoder.name, 1.0, 1.0, np.ones(vectors.shape[0], bool), encoder.sha256)
    return EncodedDataset(splits, Vocabulary([])), found
