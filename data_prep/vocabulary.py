"""From text to tokens, and from tokens to numbers."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np

from answer_ranking.data_prep.simple_words import simple_tokens
from answer_ranking.data_prep.words import NUMBER, plain_text, with_blanks

_NUMBER = re.compile(r"[0-9][0-9.,]*")
# spaCy's time grows with the square of such runs: of signs that it takes off one by one, such as apostrophes,
# and of anything but blanks. No text of the data sets has a run of 20 such signs, or one of 200.
_LONG_RUNS = (re.compile(r"([^\w\s.\-/*=~#!?_+]{30})(?=\S)"), re.compile(r"(\S{500})(?=\S)"))
# What was seen is kept, here and by spaCy, and would fill a service's memory.
_MOST_KEPT = 200_000


@dataclass
class Tokenizer:
    """spaCy's rules for English, or white space where a data set comes with its tokens separated.

    The same object with the same settings serves training and a user's own text later.

    Args:
        pretokenised: bool. Split at white space only. Otherwise spaCy's blank English pipeline splits the
            `plain_text`; its white-space tokens are left out, runs of over 500 characters without white space
            are cut, and each character of a script without blanks between words is a token.
        lowercase: bool. Put tokens in lower case, after splitting: the rules look at capitals. Default True.
        mask_numbers: bool. Replace tokens of digits, points and commas by `<num>`, as the distributed file of
            TrecQA's TRAIN-ALL has them; that of TRAIN, dev and test has the digits. Default False.

    Example:
        >>> Tokenizer(pretokenised=False)(["Isn't it U.S. soil?"])
        [['is', "n't", 'it', 'u.s.', 'soil', '?']]
    """

    pretokenised: bool
    lowercase: bool = True
    mask_numbers: bool = False
    _nlp: Any = field(default=None, init=False, repr=False, compare=False)
    _kept: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def settings(self) -> dict[str, bool | str]:
        """Everything that the tokens depend on, spaCy's version included; plain JSON values."""
        names = ("pretokenised", "lowercase", "mask_numbers")
        rules = {} if self.pretokenised else {"spacy": version("spacy"), "unicode": "NFKC"}
        return {name: getattr(self, name) for name in names} | rules

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts, every distinct one once, into one list of tokens per text."""
        tokens_of = {text: self._split(text) for text in dict.fromkeys(texts)}
        return [list(tokens_of[text]) for text in texts]

    def _split(self, text: str) -> list[str]:
        if len(self._kept) > _MOST_KEPT:
            self._nlp, self._kept = None, {}
        # spaCy's rules look no further than the next white space, but for signs around a blank that would be
        # a smiley without it; and most words have been seen before.
        words = text.split() if self.pretokenised else with_blanks(plain_text(text)).split()
        kept = self._kept  # another thread may begin anew
        for word in set(words).difference(kept):
            kept[word] = self._tokens_of(word)
        return list(chain.from_iterable(map(kept.__getitem__, words)))

    def _tokens_of(self, word: str) -> tuple[str, ...]:
        """Split what stands between white space."""
        tokens = [word] if self.pretokenised else simple_tokens(word) or self._by_spacy(word)
        if self.mask_numbers:
            tokens = [NUMBER if _NUMBER.fullmatch(token) else token for token in tokens]
        if self.lowercase:
            tokens = [token.lower() for token in tokens]
        # The garbage collector need not look at tuples of texts again and again, unlike lists.
        return tuple(tokens)

    def _by_spacy(self, word: str) -> list[str]:
        nlp = self._nlp  # another thread may drop it
        if nlp is None:
            import spacy

            # Without spaCy's facts about words, such as their shape, which take a third of the time.
            self._nlp = nlp = spacy.blank("en", vocab=spacy.vocab.Vocab())
            # spaCy's limit protects its parser, which is not used here.
            nlp.max_length = sys.maxsize
        cut = word
        for run in _LONG_RUNS:
            cut = run.sub(r"\1 ", cut)
        return [token.text for token in nlp.make_doc(cut)]


class Vocabulary:
    """Words and their numbers: 0 is padding, 1 is any unknown word, the others follow.

    Args:
        words: the known words, without the two special entries; number 2 is the first.

    Attributes:
        words: list[str], the word of every number; entries 0 and 1 are names in angle brackets.
        index: dict[str, int], the number of every known word. The two special entries are not in it, so that
            a text which holds the characters "<padding>" cannot be taken for padding.

    Example:
        >>> vocabulary = Vocabulary.build([["to", "be", "or", "not", "to", "be"]])
        >>> vocabulary.words
        ['<padding>', '<unknown>', 'be', 'to', 'not', 'or']
        >>> vocabulary.encode(["to", "see"])
        array([3, 1], dtype=int32)
    """

    UNKNOWN, FIRST = 1, 2

    def __init__(self, words: Sequence[str]) -> None:
        self.words = ["<padding>", "<unknown>", *words]
        self.index = {word: number for number, word in enumerate(words, start=self.FIRST)}
        if len(self.index) != len(words):
            raise ValueError(
                f"words must be distinct. Received: {len(words)} words, {len(self.index)} distinct."
            )

    @classmethod
    def build(cls, token_lists: Iterable[Sequence[str]], times: Iterable[int] | None = None) -> "Vocabulary":
        """Number the words of tokenised texts by falling frequency, ties in the order of their characters.

        `times` says how often every text occurs; None for once.
        """
        counts: Counter[str] = Counter()
        if times is None:
            counts.update(chain.from_iterable(token_lists))
        else:
            for tokens, n in zip(token_lists, times, strict=True):
                for token in tokens:
                    counts[token] += n
        return cls(sorted(counts, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def known_words(self) -> list[str]:
        """The words without the two special entries."""
        return self.words[self.FIRST :]

    def encode(self, tokens: Sequence[str]) -> np.ndarray:
        """Give the numbers of tokens, int32 (n_tokens,), 1 where a word is unknown."""
        return np.fromiter((self.index.get(token, self.UNKNOWN) for token in tokens), np.int32, len(tokens))
