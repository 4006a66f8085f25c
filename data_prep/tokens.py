"""From text to tokens."""

import re
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

NUMBER = "<num>"
"""What a masked number becomes."""

_NUMBER = re.compile(r"[0-9][0-9.,]*")


class Tokenizer:
    """spaCy's rules for English, or white space where a data set comes with its tokens separated.

    The same object with the same settings serves training and a user's own text later.

    Args:
        pretokenised: bool. Split at white space only. Otherwise spaCy's blank English pipeline decides; its
            white-space tokens are left out.
        lowercase: bool. Put tokens in lower case, after splitting: the rules look at capitals. Default True.
        mask_numbers: bool. Replace tokens of digits, points and commas by `<num>`, as the distributed file of
            TrecQA's TRAIN-ALL has them; that of TRAIN, dev and test has the digits. Default False.

    Example:
        >>> Tokenizer(pretokenised=False)(["Isn't it U.S. soil?"])
        [['is', "n't", 'it', 'u.s.', 'soil', '?']]
    """

    def __init__(self, pretokenised: bool, lowercase: bool = True, mask_numbers: bool = False) -> None:
        self.pretokenised = pretokenised
        self.lowercase = lowercase
        self.mask_numbers = mask_numbers
        self._make_doc: Callable[[str], Any] | None = None

    @property
    def settings(self) -> dict[str, bool | str]:
        """Everything that the tokens depend on, spaCy's version included; plain JSON values."""
        names = ("pretokenised", "lowercase", "mask_numbers")
        spacy = {} if self.pretokenised else {"spacy": version("spacy")}
        return {name: getattr(self, name) for name in names} | spacy

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts, every distinct one once, into one list of tokens per text."""
        tokens_of = {text: self._split(text) for text in dict.fromkeys(texts)}
        return [list(tokens_of[text]) for text in texts]

    def _split(self, text: str) -> list[str]:
        if self.pretokenised:
            tokens = text.split()
        else:
            if self._make_doc is None:
                import spacy

                pipeline = spacy.blank("en")
                # spaCy's limit protects its parser, which is not used here.
                pipeline.max_length = sys.maxsize
                self._make_doc = pipeline.make_doc
            tokens = [token.text for token in self._make_doc(text) if not token.is_space]
        if self.mask_numbers:
            tokens = [NUMBER if _NUMBER.fullmatch(token) else token for token in tokens]
        return [token.lower() for token in tokens] if self.lowercase else tokens
