"""How a text is written before it is split, and the words that people search by."""

import itertools
import re
import unicodedata
from functools import cache

# Indic scripts and Persian tell words apart by these two joiners.
_JOINERS = "\u200c\u200d"
_APOSTROPHES = "\u00b4\u02bc"
NUMBER = "<num>"
"""The token that stands for any number, where numbers are masked."""
# Tokens that a treebank or a data set writes in its own way, and the word under which vectors have them.
# A masked number takes the vector of some number.
_ALIASES = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}", NUMBER: "10"}
_DASHES = dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-")

# Scripts that put no blanks between words: Thai to Myanmar, Khmer, kana, Chinese characters.
_WITHOUT_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
# All planes of Unicode that have such characters: to look at each character would take 0.3 seconds.
_WITH_FORMATS = (range(0x20000), range(0xE0000, 0xE1000))
_SHARE_OF_LETTERS = 0.2
"""From this share on a text is written in such a script."""
_WORD = re.compile(r"\w+")


def plain_text(text: str) -> str:
    """Write a text as others write the same text.

    Unicode's NFKC makes one of letters with their accents apart, full width and ligatures. Characters that
    format and show nothing are left out, but for the joiners that are part of words. The accent that stands
    for an apostrophe is one. Dashes stay (`with_hyphens`).

    Example:
        >>> plain_text("the ﬁrst re\u0301sume\u0301\ufeff")
        'the first résumé'
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_left_out()))


def with_hyphens(text: str) -> str:
    """Write the dashes of a text as hyphens, as in "1914-1918".

    Example:
        >>> with_hyphens("1914\u20131918")
        '1914-1918'
    """
    return text.translate(_DASHES)


def spellings(word: str) -> tuple[str, ...]:
    """Give the spellings under which word vectors may have a word, the best first.

    Example:
        >>> spellings("-LRB-")
        ('-LRB-', '-lrb-', '(')
    """
    lower = word.lower()
    found = [word, lower, _ALIASES.get(lower, word)]
    if not word.isascii():
        found.append(with_hyphens(lower))
    return tuple(dict.fromkeys(found))


def with_blanks(text: str) -> str:
    """Put blanks around the characters of a text in a script that has none between words.

    Marks stay with their characters. A foreign name in a text of another script stays whole.

    Example:
        >>> with_blanks("请问 Keras 怎么用？"), with_blanks("the city of Beijing (北京)")
        (' 请  问  Keras  怎  么  用 ？', 'the city of Beijing (北京)')
    """
    if text.isascii() or not _patterns().character.search(text):
        return text
    n_characters = len(_patterns().character.findall(text))
    if n_characters < _SHARE_OF_LETTERS * sum(map(str.isalpha, text)):
        return text
    return _patterns().character.sub(r" \g<0> ", text)


def words_of(text: str) -> list[str]:
    """Split a text into the words that it is found by: runs of letters, marks, digits and underscores.

    They are in lower case. Where a script puts no blanks between words, each two neighbouring characters are
    a word, and one that stands alone.

    Example:
        >>> words_of("Où est-il ?"), words_of("怎么用 Keras")
        (['où', 'est', 'il'], ['怎么', '么用', 'keras'])
    """
    text = plain_text(text).lower()
    if text.isascii() or not _patterns().special.search(text):
        return _WORD.findall(text)
    words = []
    for run in _patterns().run.findall(text):
        characters = _patterns().character.findall(run)
        if len(characters) < 2:
            words.append(run)
            continue
        for first, second in itertools.pairwise(characters):
            words.append(first + second)
    return words


class _Patterns:
    """Patterns of combining marks, for which `re` has no name."""

    def __init__(self) -> None:
        # Up to here `re` looks characters up in a table; beyond, it compares them with each.
        plane = map(chr, range(0x10000))
        marks = "".join(each for each in plane if unicodedata.category(each).startswith("M"))
        self.special = re.compile(f"[{_WITHOUT_BLANKS}{marks}{_JOINERS}]")
        self.character = re.compile(f"[{_WITHOUT_BLANKS}][{marks}]*")
        one_script = f"(?:[{_WITHOUT_BLANKS}][{marks}]*)+"
        others = f"(?:(?![{_WITHOUT_BLANKS}])[\\w{marks}{_JOINERS}])+"
        self.run = re.compile(f"{one_script}|{others}")


@cache
def _patterns() -> _Patterns:
    return _Patterns()


@cache
def _left_out() -> dict[int, str]:
    """Say for `str.translate` what formatting characters and apostrophes become."""
    table = {ord(each): "'" for each in _APOSTROPHES}
    for code in itertools.chain(*_WITH_FORMATS):
        if unicodedata.category(chr(code)) == "Cf" and chr(code) not in _JOINERS:
            table[code] = ""
    return table
