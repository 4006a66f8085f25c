"""Long answers, split into passages that are found by themselves."""

import re

import pyarrow as pa

# A run of full stops is looked at from its first one alone, and as a whole: else a long one takes its square.
_SENTENCE = re.compile(r"(?:[.!?]{2,}+(?=\s)|.+?(?:(?<![.!?])[.!?]++(?=\s)|[。！？]+|\n+|$))\s*", re.DOTALL)

_LAST_BLANK = re.compile(r".*\s", re.DOTALL)


def passages_of(text: str, length: int) -> list[str]:
    """Split a text into passages of at most `length` characters, between sentences where it can.

    Example:
        >>> passages_of("It rained. Ann came. Nobody was there.", 20)
        ['It rained. Ann came.', 'Nobody was there.']
    """
    passages = [""]
    for sentence in _SENTENCE.findall(text):
        if len((passages[-1] + sentence).rstrip()) > length:
            passages.append("")
        passages[-1] += sentence
        while len(passages[-1].rstrip()) > length:
            whole = passages.pop()
            blank = _LAST_BLANK.match(whole, 1, length + 1)
            end = blank.end() - 1 if blank else length
            passages += [whole[:end], whole[end:].lstrip()]
    return [passage.strip() for passage in passages if passage.strip()]


def split_rows(rows: pa.Table, length: int) -> pa.Table:
    """Give each passage of `candidate` a row of its own, with the other columns of its answer."""
    numbers, passages = [], []
    for number, text in enumerate(rows["candidate"].to_pylist()):
        own = passages_of(text, length)
        passages += own
        numbers += [number] * len(own)
    place = rows.schema.get_field_index("candidate")
    # Without the whole answer beside each of its passages, which a long one has very many of.
    others = rows.drop_columns("candidate").take(pa.array(numbers, pa.int64()))
    return others.add_column(place, "candidate", pa.array(passages, pa.string()))
