"""The files of one data set, found and checked."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from data_prep.description import DataFile, DatasetDescription
from data_prep.errors import UserError
from data_prep.files import decode_json_text, decode_text, holds_json, refuse_half_characters
from data_prep.locations import find_file_or_substitute, missing_data, read_verified

_LONGEST_LINE = 2**28


class DataFiles:
    """Gives a data set's reader the content of its files by their paths.

    Args:
        description: the data set.
        data_home: where to look, see `data_prep.locations.data_folders`.

    Example:
        >>> from data_prep.wikiqa import WIKIQA
        >>> DataFiles(WIKIQA, "/tmp/empty").find("wikiqa/WikiQA-dev.tsv") is None
        True
    """

    def __init__(self, description: DatasetDescription, data_home: str | Path | None = None) -> None:
        self.description = description
        self.data_home = data_home
        self._files = {file.path: file for file in description.files}

    def find(self, path: str) -> Path | None:
        """Say where a file, or its substitute, lies; None where it is absent."""
        return find_file_or_substitute(self._files[path], self.data_home)[1]

    def content(self, path: str) -> bytes:
        """Read a file's verified, uncompressed content.

        Raises:
            UserError: it is absent, not the published one, or damaged.
        """
        file, found = self._locate(path)
        return read_verified(file, found)

    def __call__(self, path: str) -> str:
        """Read a file's verified text.

        Raises:
            UserError: it is absent, not the published one, damaged, or not UTF-8; or it is JSON with half of
                a character.
        """
        file, found = self._locate(path)
        decode = decode_json_text if holds_json(path) else decode_text
        return decode(read_verified(file, found), found)

    def lines(self, path: str) -> Iterator[str]:
        """Read the lines of a file that may be larger than memory and has no known checksum.

        Raises:
            UserError: it is absent, damaged, or not UTF-8; or it is JSON with half of a character.
        """
        _, found = self._locate(path)
        number = 0
        try:
            with found.open("rb") as raw:
                packed = raw.read(2) == b"\x1f\x8b"
                raw.seek(0)
                stream = gzip.GzipFile(fileobj=raw) if packed else raw
                while line := stream.readline(_LONGEST_LINE + 1):
                    number += 1
                    if len(line) > _LONGEST_LINE:
                        raise UserError(f"{found}, line {number}: longer than {_LONGEST_LINE:,} bytes.")
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                    if holds_json(path):
                        refuse_half_characters(text, found, number)
                    yield text
        except UnicodeDecodeError as error:
            raise UserError(f"{found}, line {number}: not UTF-8 text. Fetch the file again.") from error
        except (EOFError, OSError, zlib.error) as error:
            raise UserError(f"{found} is damaged or cut short ({error}). Fetch it again.") from error

    def _locate(self, path: str) -> tuple[DataFile, Path]:
        file, found = find_file_or_substitute(self._files[path], self.data_home)
        if found is None:
            raise missing_data(self.description, file, self.data_home)
        return file, found
