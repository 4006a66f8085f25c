"""How much the texts of a table take in all of its rows."""

from pathlib import Path
from typing import TYPE_CHECKING

from answer_ranking.base.errors import UserError

if TYPE_CHECKING:
    import pyarrow

# Texts may recur, so that a table has more of them than its file has bytes.
MOST_TEXT, _TIMES = 2**28, 20


class LengthOfTexts:
    """Adds up the lengths of a table's texts; a UserError says that they are too long for the file's size.

    A text that recurs has one place in a Parquet file or a sheet, but one for each row in an index. A few
    kilobytes can stand for more than any memory.
    """

    def __init__(self, path: Path, size: int | None = None) -> None:
        """Begin a sum; `size` is that of a file which is open, and may have been moved since."""
        self._path, self._sum = path, 0
        self._most = max(MOST_TEXT, _TIMES * (path.stat().st_size if size is None else size))

    def add(self, length: int) -> None:
        self._sum += length
        if self._sum > self._most:
            raise UserError(
                f"{self._path}: its texts have more than {self._most:,} bytes in all, since some stand in "
                "very many rows. Leave out what repeats, or write it as .csv."
            )

    def add_texts(self, texts: "pyarrow.Array") -> None:
        """Add the texts of all rows; those of a dictionary as often as they occur."""
        import pyarrow
        import pyarrow.compute

        is_dictionary = pyarrow.types.is_dictionary(texts.type)
        length = pyarrow.compute.binary_length(texts.dictionary if is_dictionary else texts)
        # A place that the dictionary does not have is an error here.
        length = length.take(texts.indices) if is_dictionary else length
        self.add(pyarrow.compute.sum(length).as_py() or 0)


def has_length(kind: "pyarrow.DataType") -> bool:
    """Say whether the values of a type are texts, or bytes, of any length."""
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)
