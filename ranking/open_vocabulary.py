"""The words that a ranker knows: those of its training, and others that its word vectors' files have."""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import chain, pairwise, repeat
from pathlib import Path

import numpy as np
from tqdm import tqdm

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import homes
from answer_ranking.data_prep import Vocabulary, load_word_vectors
from answer_ranking.data_prep.encoded_split import EncodedTexts, offsets_of
from answer_ranking.data_prep.tables import is_blank
from answer_ranking.data_prep.word_vectors.encoder_folder import ON_HUB, PUBLISHED, find_encoder, is_encoder
from answer_ranking.data_prep.word_vectors.files import DEFAULT_SOURCE, SOURCES, find_source
from answer_ranking.data_prep.word_vectors.load import SHORT_NAMES
from answer_ranking.data_prep.word_vectors.unknown_words import hashed_vectors, may_be_misspelt, meant_words

# The tokens of so many texts are held as text at a time.
_TEXTS_AT_ONCE = 10_000
# So many words of the training are read again, to see that the files are those of the training.
_COMPARED = 200
_MOST_MISSING = 1_000_000
_MOST_HASHED = 20_000
# So many unknown words of a question may be misspelt; further ones stay unknown.
_MOST_CORRECTED = 20


def _is_word(text: str) -> bool:
    return any(map(str.isalnum, text))


class OpenVocabulary:
    """Turns texts into numbers, and finds the vectors of words that the training did not have.

    Word vectors are frozen, so a word that the training table lacks is as good as any other: its vector is
    read from the same sources and in the same way (`load_word_vectors`). A word that no source knows is
    unknown. In a question it is read as the vocabulary's word for which it is misspelt (`meant_words`), if
    there is one; so are the first 20 at most. Else it is number 1, like all others, or, where `hashes` says
    so, has a vector of its own, made of its characters (`hashed_vectors`), so that it equals itself and is
    near to words that are written alike. All words beyond the vocabulary are unknown where a source is
    missing, or where it gives other vectors to the vocabulary's words than the model has; one line on
    standard error says so.

    New words are numbered after those of the vocabulary, and stay; after some ten thousand unknown ones all
    further ones are number 1. May be called from several threads.

    Args:
        vocabulary: the words whose vectors the model has.
        tokenizer: the one of the training.
        sources: the names or files of the word vectors; none: no other words are known.
        vectors_of: a function from numbers of the vocabulary to the model's own vectors, float32 (k, n).
        embeddings_home: folder of word-vector files; None for QA_EMBEDDINGS_HOME and the user's cache.
        hashes: whether unknown words have vectors of their own. Default False.

    Attributes:
        added: float32 (k, n), the vectors of the words met since; the first has the number
            `len(vocabulary)`.

    Example:
        >>> from answer_ranking.data_prep import Tokenizer
        >>> vectors = np.ones((3, 8), np.float32)
        >>> tokenizer = Tokenizer(pretokenised=False)
        >>> words = OpenVocabulary(Vocabulary(["the"]), tokenizer, (), vectors.__getitem__, hashes=True)
        >>> words.encode(["The xyzzy."]).words.tolist(), words.unknown("The xyzzy.")
        ([2, 3, 4], ['xyzzy', '.'])
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenizer: Callable[[Sequence[str]], list[list[str]]],
        sources: Sequence[str],
        vectors_of: Callable[[np.ndarray], np.ndarray],
        embeddings_home: str | Path | None = None,
        hashes: bool = False,
    ):
        self.tokenizer = tokenizer
        self.sources = tuple(sources)
        self.added = np.empty((0, 0), np.float32)
        self._vocabulary = vocabulary
        self._vectors_of = vectors_of
        self._hashes = hashes
        self.embeddings_home = embeddings_home
        self._words = list(vocabulary.words)
        self._own_words = vocabulary.known_words
        self._numbers = dict(vocabulary.index)
        # Apart from the known ones: what is unknown in an answer may be misspelt in the next question.
        self._hashed: dict[str, int] = {}
        self._missing: set[str] = set()
        self._meant_numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._compared = False

    def encode(self, texts: Sequence[str], n_questions: int = 0) -> EncodedTexts:
        """Tokenise and number texts; all words that are new are looked up at once.

        Misspelt words of the first `n_questions` texts are read as the vocabulary's.
        """
        encoded, new = self._number(texts)
        if new:
            self._look_up(new)
            for start, end in pairwise(encoded.offsets[: n_questions + 1].tolist()):
                self._correct(encoded.words[start:end], new)
            self._place(encoded.words, new)
        return encoded

    def _number(self, texts: Sequence[str]) -> tuple[EncodedTexts, list[str]]:
        """Number texts, a word that is new below 0: -1 is the first of those that are given, too."""
        new: dict[str, int] = {}
        parts: list[np.ndarray] = []
        lengths: list[int] = []
        with tqdm(
            total=len(texts), desc="texts to words", unit="text", leave=False, delay=2, disable=None
        ) as bar:
            for start in range(0, len(texts), _TEXTS_AT_ONCE):
                token_lists = self._tokens(texts[start : start + _TEXTS_AT_ONCE], start)
                lengths += map(len, token_lists)
                tokens = list(chain.from_iterable(token_lists))
                numbers = np.fromiter(map(self._numbers.get, tokens, repeat(0)), np.int32, len(tokens))
                for place in np.flatnonzero(numbers == 0).tolist():
                    numbers[place] = -1 - new.setdefault(tokens[place], len(new))
                parts.append(numbers)
                bar.update(len(token_lists))
        words = np.concatenate([np.empty(0, np.int32), *parts])
        return EncodedTexts(words, offsets_of(lengths)), list(new)

    @property
    def words(self) -> list[str]:
        """All words that have a number, those of number 2 and more, in their order."""
        return self._words[Vocabulary.FIRST :]

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts into the words that an explanation shows."""
        return self.tokenizer(texts)

    def unknown(self, text: str, is_question: bool = True) -> list[str]:
        """Give the distinct words of a text that the ranker does not know, in their order.

        A misspelt word of a question is known as what it is meant for.
        """
        words = list(dict.fromkeys(self.tokenizer([text])[0]))
        self._look_up([word for word in words if word not in self._numbers])
        lacking = [word for word in words if not self._is_known(self._numbers.get(word, Vocabulary.UNKNOWN))]
        meant = self._meant(lacking) if is_question else {}
        return [word for word in lacking if word not in meant]

    def knows(self, encoded: EncodedTexts) -> np.ndarray:
        """Tell which texts have a word that the ranker knows, bool (n_texts,); "?" is no word."""
        distinct, place = np.unique(encoded.words, return_inverse=True)
        is_word = [self._is_known(number) and _is_word(self._words[number]) for number in distinct.tolist()]
        text_of_token = np.repeat(np.arange(len(encoded)), encoded.lengths)
        counted = text_of_token[np.array(is_word, bool)[place]]
        return np.bincount(counted, minlength=len(encoded)) > 0

    def _is_known(self, number: int) -> bool:
        return number > Vocabulary.UNKNOWN and self._words[number] in self._numbers

    def vectors_of_unknown(self, words: Sequence[str]) -> np.ndarray:
        """Give the vectors of words that nothing knows, float32 (words, n)."""
        shared = self._vectors_of(np.array([Vocabulary.UNKNOWN]))
        return (
            hashed_vectors(words, shared.shape[1]) if self._hashes else np.repeat(shared, len(words), axis=0)
        )

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
            self._add(found, vectors[known], self._numbers)

    def _correct(self, words: np.ndarray, new: list[str]) -> None:
        """Write the numbers of what the new words of a question, which stand below 0, are meant for."""
        own = {new[-1 - number]: number for number in words[words < 0].tolist()}
        for word, meant in self._meant([word for word in own if word not in self._numbers]).items():
            words[words == own[word]] = meant

    def _place(self, words: np.ndarray, new: list[str]) -> None:
        """Write the numbers of new words, which stand below 0, in their places."""
        is_new = words < 0
        places = -1 - words[is_new]
        numbers = np.zeros(len(new), np.int32)
        distinct = np.flatnonzero(np.bincount(places, minlength=len(new))).tolist()
        lacking = [new[place] for place in distinct if new[place] not in self._numbers]
        self._hash(lacking)
        for place in distinct:
            word = new[place]
            numbers[place] = self._numbers.get(word, self._hashed.get(word, Vocabulary.UNKNOWN))
        words[is_new] = numbers[places]

    def _meant(self, words: list[str]) -> dict[str, int]:
        """Give the numbers of the words for which some of a question's unknown ones are misspelt."""
        # The first ones, whatever was looked for before: a question is always read alike.
        words = list(filter(may_be_misspelt, words))[:_MOST_CORRECTED]
        if len(self._meant_numbers) > _MOST_MISSING:
            self._meant_numbers.clear()
        known = self._meant_numbers  # Another thread may add to it, or clear it.
        meant = {word: known.get(word) for word in words}
        asked = [word for word, number in meant.items() if number is None]
        for word, place in zip(asked, meant_words(asked, self._own_words), strict=True):
            meant[word] = known[word] = Vocabulary.UNKNOWN if place is None else place + Vocabulary.FIRST
        return {word: number for word, number in meant.items() if number and number != Vocabulary.UNKNOWN}

    def _hash(self, words: list[str]) -> None:
        """Give unknown words vectors of their own, up to a number of words."""
        if not self._hashes or not words:
            return
        with self._lock:
            room = _MOST_HASHED - len(self._hashed)
            taken = [word for word in words if word not in self._hashed][:room]
            if taken:
                self._add(taken, self.vectors_of_unknown(taken), self._hashed)

    def _add(self, words: list[str], vectors: np.ndarray, numbers: dict[str, int]) -> None:
        """Number words, after all others, with their vectors; `numbers` gets them."""
        if words:
            first = len(self._words)
            self.added = np.concatenate([self.added.reshape(-1, vectors.shape[1]), vectors])
            self._words += words
            # After the vectors: another thread may meet a number at once.
            numbers.update({word: first + place for place, word in enumerate(words)})

    def _read(self, wanted: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Read the vectors of words, float32 (words, n), and which are known, bool (words,)."""
        first = Vocabulary.FIRST
        old = [] if self._compared else self._vocabulary.known_words[:_COMPARED]
        numbers = np.arange(first, first + len(old))
        beyond = "words that its training did not have are all the same to the ranker"
        try:
            read = load_word_vectors(
                self.sources, Vocabulary([*old, *wanted]), embeddings_home=self.embeddings_home, keep=False
            )
            known = numbers[read.known[numbers]]  # A training may have vectors of its own for other words.
            if not np.array_equal(read.matrix[known], self._vectors_of(known)):
                raise UserError(f"the word vectors {read.name} are not those of the training.")
        except UserError as error:
            print(f"{beyond}: {error}", file=sys.stderr)
            self.sources = ()
            return np.empty((len(wanted), 0), np.float32), np.zeros(len(wanted), bool)
        self._compared = True
        return read.matrix[first + len(old) :], read.known[first + len(old) :]


def check_text(number: int, text: object) -> None:
    """Refuse what is no text, or shows nothing, by a UserError with its number."""
    if not isinstance(text, str) or is_blank(text):
        raise UserError(f"text {number} is empty or no text: {text!r:.40}. Write it or leave it out.")


def by_whole_path(source: str, embeddings_home: str | Path | None = None) -> list[str]:
    """Name a source's files so that they are found from any working folder, and without `embeddings_home`.

    A name that needs neither stays, and so does one that is not found.
    """
    if is_encoder(source, embeddings_home):
        named = source in PUBLISHED or ON_HUB.fullmatch(source) is not None
        home = homes(embeddings_home, "QA_EMBEDDINGS_HOME", "embeddings")[0]
        at_home = embeddings_home is not None and (home / source).is_dir()
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


def find_moved(source: str, embeddings_home: str | Path | None = None) -> str:
    """Name a source whose whole path another machine had by that of its name in the folder of word vectors.

    A source that is where it was stays, and so does one that is not found. Whether it is the same one is for
    the caller to see.
    """
    file, hash_sign, member = source.partition("#")
    # os.path, since Path.exists raises where it may not look, and for a name that no file can have.
    if not Path(file).is_absolute() or os.path.exists(file):  # noqa: PTH110
        return source
    for folder in homes(embeddings_home, "QA_EMBEDDINGS_HOME", "embeddings"):
        place = folder / Path(file).name
        if os.path.exists(place):  # noqa: PTH110
            return f"{place}{hash_sign}{member}"
    return source


def _place(source: str, embeddings_home: str | Path) -> str:
    if source == DEFAULT_SOURCE:
        return source  # it is installed
    path, member = find_source(source, embeddings_home)
    return f"{path.resolve()}#{member}" if member else str(path.resolve())
