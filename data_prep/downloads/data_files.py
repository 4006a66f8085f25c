"""A data set's files: where they lie, whether they are the right ones, and their content."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, homes, open_content, read_content
from answer_ranking.data_prep.description import DataFile, DatasetDescription

# A line of JSON may take 30 times its length in memory.
_LONGEST_LINE = 2**25
# Natural Questions in its original form, a record for every token, unpacks to eight times its size or more.
_TIMES = 20

# Escapes that follow each other, behind an even number of backslashes.
_JSON_ESCAPES = re.compile(r"(?<!\\)(?:\\\\)*((?:\\u[0-9a-fA-F]{4})+)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def data_folders(data_home: str | Path | None = None) -> list[Path]:
    """List the folders in which data are looked for, the one that downloads go to first.

    These are `data_home`, or else the one that QA_DATA_HOME names, where it is set, and the user's cache.
    """
    if data_home:
        return [Path(os.path.expanduser(data_home))]  # noqa: PTH111 (Path.expanduser raises)
    return homes(None, "QA_DATA_HOME", "data")


def find_file(file: DataFile, data_home: str | Path | None = None) -> tuple[DataFile, Path | None]:
    """Find a file, plain or gzipped, in the first folder that has it; or where none has, its substitute.

    Returns the one that was found and where it lies; the file itself and None where neither is there.
    """
    for each in filter(None, (file, file.substitute)):
        for folder in data_folders(data_home):
            for path in (folder / each.path, folder / f"{each.path}.gz"):
                if path.is_file():
                    return each, path
    return file, None


def matching_content(content: bytes, file: DataFile) -> bytes | None:
    """Give the content with line feeds as line ends if it is this file's, else None.

    Some public copies of a file differ from the others in their line ends only; all of them are accepted.
    """
    if not file.sha256:
        return content
    for candidate in (content, content.replace(b"\r\n", b"\n")):
        if hashlib.sha256(candidate).hexdigest() == file.sha256:
            return candidate
    return None


def most_bytes(file: DataFile) -> int:
    """Say how long a file can be that `matching_content` takes; 0 where that is not known.

    The other form of line ends makes it longer, by less than half in any text with words in it.
    """
    return file.bytes * 3 // 2 + 1 if file.bytes else 0


def read_verified(file: DataFile, path: Path) -> bytes:
    """Read a file that was found, uncompressed, and check that it is the published one."""
    content = matching_content(read_content(path, most_bytes(file)), file)
    if content is None:
        raise UserError(
            f"{path} is not the published file: its SHA-256 is not {file.sha256}. "
            "Move it away and fetch the right one."
        )
    return content


def missing_data(
    description: DatasetDescription, file: DataFile, data_home: str | Path | None = None
) -> UserError:
    """Make the error that says how to get a file that was not found."""
    folders = " or ".join(map(str, data_folders(data_home)))
    name_it = f"name the folder that holds {Path(file.path).parent}/ with --data-home or QA_DATA_HOME."
    if file.urls + file.archives:
        cure = f"Run `answer-ranking data get {description.name}`, or {name_it}"
    else:
        cure = (
            f"This project does not fetch it: get it from its source ({description.source}) and put it "
            f"there, plain or gzipped, or {name_it}"
        )
    return UserError(f"{file.path} is not in {folders}. {cure}")


class DataFiles:
    """Gives a data set's reader the content of its files in `data_folders(data_home)` by their paths.

    Every method raises a UserError for a file that is absent, not the published one, or damaged; text must be
    UTF-8, and JSON must not hold half of a character.
    """

    def __init__(self, description: DatasetDescription, data_home: str | Path | None = None) -> None:
        self.description = description
        self.data_home = data_home
        self._files = {file.path: file for file in description.files}

    def content(self, path: str) -> bytes:
        """Read a file's verified, uncompressed content."""
        return read_verified(*self._locate(path))

    def __call__(self, path: str) -> str:
        """Read a file's verified text."""
        file, found = self._locate(path)
        text = decode_text(read_verified(file, found), found)
        if _holds_json(path):
            _refuse_half_characters(text, found)
        return text

    def lines(self, path: str) -> Iterator[str]:
        """Read the lines of a file that may be larger than memory and has no known checksum."""
        _, found = self._locate(path)
        number = 0
        try:
            with open_content(found, times=_TIMES) as stream:
                while line := stream.readline(_LONGEST_LINE + 1):
                    number += 1
                    if len(line) > _LONGEST_LINE:
                        raise UserError(f"{found}, line {number}: longer than {_LONGEST_LINE:,} bytes.")
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                    if _holds_json(path):
                        _refuse_half_characters(text, found, number)
                    yield text
        except UnicodeDecodeError as error:
            raise UserError(f"{found}, line {number}: not UTF-8 text. Fetch the file again.") from error

    def _locate(self, path: str) -> tuple[DataFile, Path]:
        file, found = find_file(self._files[path], self.data_home)
        if found is None:
            raise missing_data(self.description, file, self.data_home)
        return file, found


def _holds_json(path: str) -> bool:
    return Path(path).suffix in (".json", ".jsonl", ".jsonlines")


def _refuse_half_characters(text: str, path: Path, first_line: int = 1) -> None:
    """Refuse JSON with one half of a surrogate pair: no encoding can write it, spaCy cannot read it."""
    # Many times faster than the next, and most files have none.
    if not _ESCAPED_SURROGATE.search(text):
        return
    for escapes in _JSON_ESCAPES.finditer(text):
        if half := _SURROGATE.search(json.loads(f'"{escapes[1]}"')):
            line = text.count("\n", 0, escapes.start(1)) + first_line
            raise UserError(
                f"{path}, line {line}: \\u{ord(half[0]):x} alone is half of a character. Fetch the file "
                "again, or take that out."
            )
