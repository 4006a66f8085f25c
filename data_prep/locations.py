"""Where a data set's files lie, and whether they are the right ones."""

import hashlib
import os
from pathlib import Path

from data_prep.description import DataFile, DatasetDescription
from data_prep.errors import UserError
from data_prep.files import cache_folder, read_content


def data_folders(data_home: str | Path | None = None) -> list[Path]:
    """List the folders in which data are looked for, the one that downloads go to first.

    Args:
        data_home: the one folder to use; None for the environment variable QA_DATA_HOME, where it is set,
            and the user's cache directory.

    Example:
        >>> data_folders("/tmp/data")
        [PosixPath('/tmp/data')]
    """
    if data_home:
        return [Path(data_home).expanduser()]
    named = os.environ.get("QA_DATA_HOME")
    return [*([Path(named).expanduser()] if named else []), cache_folder() / "data"]


def find_file(file: DataFile, data_home: str | Path | None = None) -> Path | None:
    """Find a file, plain or gzipped, in the first folder that has it; None where none has.

    Example:
        >>> find_file(DataFile("wikiqa/WikiQA-dev.tsv", "", 0), "/tmp/empty") is None
        True
    """
    for folder in data_folders(data_home):
        for path in (folder / file.path, folder / f"{file.path}.gz"):
            if path.is_file():
                return path
    return None


def matching_content(content: bytes, file: DataFile) -> bytes | None:
    r"""Give the content with line feeds as line ends if it is this file's, else None.

    Some public copies of a file differ from the others in their line ends only; all of them are accepted.

    Example:
        >>> import hashlib
        >>> file = DataFile("a.txt", hashlib.sha256(b"1\n").hexdigest(), 2)
        >>> matching_content(b"1\r\n", file), matching_content(b"2\n", file)
        (b'1\n', None)
    """
    if not file.sha256:
        return content
    for candidate in (content, content.replace(b"\r\n", b"\n")):
        if hashlib.sha256(candidate).hexdigest() == file.sha256:
            return candidate
    return None


def read_verified(file: DataFile, path: Path) -> bytes:
    """Read a file that was found and check that it is the published one.

    Args:
        file: what it should be.
        path: where it lies.

    Returns:
        The uncompressed content with line feeds as line ends.

    Raises:
        UserError: the checksum is another, or the file cannot be read.

    Example:
        >>> import hashlib
        >>> _ = Path("/tmp/one.txt").write_text("1")
        >>> read_verified(DataFile("one.txt", hashlib.sha256(b"1").hexdigest(), 1), Path("/tmp/one.txt"))
        b'1'
    """
    content = matching_content(read_content(path), file)
    if content is None:
        raise UserError(
            f"{path} is not the published file: its SHA-256 is not {file.sha256}. "
            "Move it away and fetch the right one."
        )
    return content


def missing_data(
    description: DatasetDescription, file: DataFile, data_home: str | Path | None = None
) -> UserError:
    """Make the error that says how to get a data set.

    Args:
        description: the data set.
        file: the file that was not found.
        data_home: where it was looked for, see `data_folders`.

    Example:
        >>> from data_prep.wikiqa import WIKIQA
        >>> print(missing_data(WIKIQA, WIKIQA.files[0], "/tmp/empty"))  # doctest: +ELLIPSIS
        wikiqa/WikiQA-train.tsv is not in /tmp/empty. Run `python -m data_prep get wikiqa`, or ...
    """
    folders = " or ".join(map(str, data_folders(data_home)))
    name_it = f"name the folder that holds {Path(file.path).parent}/ with --data-home or QA_DATA_HOME."
    if file.urls + file.archives:
        cure = f"Run `python -m data_prep get {description.name}`, or {name_it}"
    else:
        cure = (
            f"It cannot be fetched by a program: get it from its source ({description.source}), "
            f"put it there, plain or gzipped, or {name_it}"
        )
    return UserError(f"{file.path} is not in {folders}. {cure}")
