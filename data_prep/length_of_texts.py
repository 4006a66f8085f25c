"""How much the texts of a table take in all of its rows."""

from pathlib import Path

from answer_ranking.base.errors import UserError

# Texts may recur, so that a table has more of them than its file has bytes.
MOST_TEXT, _TIMES = 2**28, 20


class LengthOfTexts:
    """Adds up the lengths of a table's texts; a UserError says that they are too long for the file's size.

    A text that recurs has one place in a Parquet file or a sheet, but one for each row in an index. A few
    kilobytes can stand for more than any memory.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._sum = path, 0
        self._most = max(MOST_TEXT, _TIMES * path.stat().st_size)

    def add(self, length: int) -> None:
        self._sum += length
        if self._sum > self._most:
            raise UserError(
                f"{self._path}: its texts have more than {self._most:,} bytes in all, since some stand in "
                "very many rows. Leave out what repeats, or write it as .csv."
            )
