"""What the further columns of a text format hold: integers, numbers, truths, dates, times or texts."""

import pyarrow as pa
import pyarrow.compute as pc

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
# What is written in another way, such as 007 and +49 30 1234, is a name, no number; 15 digits fit a float.
_WRITTEN = {
    pa.int64(): "0|-?[1-9][0-9]*",
    pa.float64(): r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?(e[+-][0-9]+)?",
    pa.bool_(): "(?i:true|false)",
    pa.date32(): _DAY,
    pa.timestamp("ms"): rf"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}})?",
}


def typed(texts: pa.Array, kind: pa.DataType | None = None) -> pa.Array:
    """Read a column's texts as the first type that all of them have; a blank one is missing.

    Args:
        texts: the cells, string.
        kind: the column's type in the index to which it is added; None for a new column, whose type is
            int64, float64, bool, date32, timestamp in milliseconds, or string where nothing else fits.

    Raises:
        pa.ArrowInvalid: a text is not of this type.

    Example:
        >>> typed(pa.array(["2001", "", "-7"])).to_pylist(), typed(pa.array(["007", "1"])).to_pylist()
        ([2001, None, -7], ['007', '1'])
        >>> typed(pa.array(["1.0", "2.25"])).to_pylist(), typed(pa.array(["3.9", "3.10"])).to_pylist()
        ([1.0, 2.25], ['3.9', '3.10'])
    """
    plain = pc.utf8_trim_whitespace(texts)
    plain = pc.if_else(pc.equal(plain, ""), None, plain)
    if plain.null_count == len(plain):
        return plain
    for each, written in _WRITTEN.items():
        if kind is not None and kind != each:
            continue
        fits = pc.match_substring_regex(plain, f"^({written})$")
        if pc.all(fits).as_py() and not (kind is None and _are_versions(plain)):
            try:
                return plain.cast(each)
            except pa.ArrowInvalid:  # 2001-02-30, or more than 64 bits
                continue
        if kind is not None:
            wrong = plain.filter(pc.invert(fits))[0].as_py()
            raise pa.ArrowInvalid(f"{wrong!r:.80} is not written as {kind}")
    return plain


def _are_versions(texts: pa.Array) -> bool:
    """Say whether decimals are of different lengths, and one of several digits ends in 0: 3.9 and 3.10."""
    decimal = texts.filter(pc.match_substring_regex(texts, r"\.[0-9]+$"))
    lengths = pc.subtract(pc.utf8_length(decimal), pc.find_substring(decimal, "."))
    return len(pc.unique(lengths)) > 1 and pc.any(pc.match_substring_regex(decimal, r"\.[0-9]+0$")).as_py()
