"""The words that a ranker knows: those of its training, and others that its word vectors' files have."""

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Tokenizer, Vocabulary, load_word_vectors
from answer_ranking.data_prep.encoded_split import EncodedTexts
from answer_ranking.data_prep.word_vectors.encoder_folder import ON_HUB, PUBLISHED, find_encoder, is_encoder
from answer_ranking.data_prep.word_vectors.files import DEFAULT_SOURCE, SOURCES, find_source
from answer_ranking.data_prep.word_vectors.load import SHORT_NAMES

# The tokens of so many texts are held as text at a time.
_TEXTS_AT_ONCE = 10_000
# So many words of the training are read again, to see that the files are those of the training.
_COMPARED = 200
_MOST_MISSING = 1_000_000


class OpenVocabulary:
    """Turns texts into numbers, and finds the vectors of words that the training did not have.

    Word vectors are frozen, so a word that the training table lacks is as good as any other: its vector is
    read from the same sources and in the same way (`load_word_vectors`). A word that no source knows stays
    unknown, number 1. So do all words beyond the vocabulary where a source is missing, or where it gives
    other vectors to the vocabulary's words than the model has; one line on standard error says so.

    Found words are numbered after those of the vocabulary, and stay. May be called from several threads.

    Args:
        vocabulary: the words whose vectors the model has.
        tokenizer: the one of the training.
        sources: the names or files of the word vectors; none: no other words are known.
        vectors_of: a function from numbers of the vocabulary to the model's own vectors, float32 (k, n).
        embeddings_home: folder of word-vector files; None for QA_EMBEDDINGS_HOME and the user's cache.

    Attributes:
        added: float32 (k, n), the vectors of the words found since; the first has the number
            `len(vocabulary)`.

    Example:
        >>> def none(numbers): return np.empty((0, 0))
        >>> words = OpenVocabulary(Vocabulary(["the"]), Tokenizer(pretokenised=False), (), none)
        >>> words.encode(["The xyzzy."]).words.tolist(), words.unknown("The xyzzy.")
        ([2, 1, 1], ['xyzzy', '.'])
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenizer: Tokenizer,
        sources: Sequence[str],
        vectors_of: Callable[[np.ndarray], np.ndarray],
        embeddings_home: str | Path | None = None,
    ):
        self.tokenizer = tokenizer
        self.sources = tuple(sources)
        self.added = np.empty((0, 0), np.float32)
        self._vocabulary = vocabulary
        self._vectors_of = vectors_of
        self.embeddings_home = embeddings_home
        self._numbers = dict(vocabulary.index)
        self._missing: set[str] = set()
        self._lock = threading.Lock()
        self._compared = False

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Tokenise and number texts; all words that are new are looked up at once."""
        new: dict[str, int] = {}
        parts: list[np.ndarray] = []
        lengths: list[int] = []
        with tqdm(
            total=len(texts), desc="texts to words", unit="text", leave=False, delay=2, disable=None
        ) as bar:
            for start in range(0, len(texts), _TEXTS_AT_ONCE):
                token_lists = self._tokens(texts[start : start + _TEXTS_AT_ONCE], start)
                lengths += map(len, token_lists)
                tokens = [token for tokens in token_lists for token in tokens]
                # A new word has a number below 0 until it is looked up.
                numbers = [self._numbers.get(word) or -1 - new.setdefault(word, len(new)) for word in tokens]
                parts.append(np.array(numbers, np.int32))
                bar.update(len(token_lists))
        words = np.concatenate([np.empty(0, np.int32), *parts])
        if new:
            self._look_up(list(new))
            found = [self._numbers.get(word, Vocabulary.UNKNOWN) for word in new]
            is_new = words < 0
            words[is_new] = np.array(found, np.int32)[-1 - words[is_new]]
        return EncodedTexts(words, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @property
    def words(self) -> list[str]:
        """All words that have a number, those of number 2 and more, in their order."""
        return [*self._vocabulary.words[2:], *list(self._numbers)[len(self._vocabulary.index) :]]

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts into the words that an explanation shows."""
        return self.tokenizer(texts)

    def unknown(self, text: str) -> list[str]:
        """Give the distinct words of a text that neither the vocabulary nor a source knows, in its order."""
        words = list(dict.fromkeys(self.tokenizer([text])[0]))
        self._look_up([word for word in words if word not in self._numbers])
        return [word for word in words if word not in self._numbers]

    def _tokens(self, texts: Sequence[str], start: int) -> list[list[str]]:
        for number, text in enumerate(texts, start=start + 1):
            check_text(number, text)
        try:
            return self.tokenizer(texts)
        except UnicodeEncodeError as error:
            what = f"half of a character (a lone surrogate): {error.object!r:.40}"
            raise UserError(f"a text holds {what}. Save it as UTF-8.") from error

    def _look_up(self, words: list[str]) -> None:
        if not self.sources or not words:
            return
        with self._lock:
            wanted = [word for word in words if word not in self._numbers and word not in self._missing]
            if not wanted or not self.sources:
                return
            vectors, known = self._read(wanted)
            if len(self._missing) > _MOST_MISSING:
                self._missing.clear()
            self._missing.update(word for word, is_known in zip(wanted, known, strict=True) if not is_known)
            found = [word for word, is_known in zip(wanted, known, strict=True) if is_known]
            if found:
                first = len(self._vocabulary) + len(self.added)
                self.added = np.concatenate([self.added.reshape(-1, vectors.shape[1]), vectors[known]])
                # After the vectors: another thread may meet a number at once.
                self._numbers.update({word: first + place for place, word in enumerate(found)})

    def _read(self, wanted: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Read the vectors of words, float32 (words, n), and which are known, bool (words,)."""
        old = [] if self._compared else self._vocabulary.words[2 : 2 + _COMPARED]
        numbers = np.arange(2, 2 + len(old))
        beyond = "words that its training did not have are all the same to the ranker"
        try:
            read = load_word_vectors(
                self.sources, Vocabulary([*old, *wanted]), embeddings_home=self.embeddings_home, keep=False
            )
            if not np.array_equal(read.matrix[numbers], self._vectors_of(numbers)):
                raise UserError(f"the word vectors {read.name} are not those of the training.")
        except UserError as error:
            print(f"{beyond}: {error}", file=sys.stderr)
            self.sources = ()
            return np.empty((len(wanted), 0), np.float32), np.zeros(len(wanted), bool)
        self._compared = True
        return read.matrix[2 + len(old) :], read.known[2 + len(old) :]


def check_text(number: int, text: object) -> None:
    """Refuse what is no text, or empty, by a UserError with its number."""
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"text {number} is empty or no text: {text!r:.40}. Write it or leave it out.")


def by_whole_path(source: str, embeddings_home: str | Path | None = None) -> list[str]:
    """Name a source's files so that they are found from any working folder, and without `embeddings_home`.

    A name that needs neither stays, and so does one that is not found.
    """
    if is_encoder(source, embeddings_home):
        named = source in PUBLISHED or ON_HUB.fullmatch(source) is not None
        at_home = embeddings_home is not None and (Path(embeddings_home) / source).is_dir()
        return [source if named and not at_home else str(find_encoder(source, embeddings_home).resolve())]
    file, hash_sign, member = source.partition("#")
    if Path(file).is_file() and source not in SOURCES and source not in SHORT_NAMES:
        return [f"{Path(file).resolve()}{hash_sign}{member}"]
    if embeddings_home is None:
        return [source]
    try:
        return [_place(part, embeddings_home) for part in SHORT_NAMES.get(source, (source,))]
    except UserError:
        return [source]


def _place(source: str, embeddings_home: str | Path) -> str:
    if source == DEFAULT_SOURCE:
        return source  # it is installed
    path, member = find_source(source, embeddings_home)
    return f"{path.resolve()}#{member}" if member else str(path.resolve())
