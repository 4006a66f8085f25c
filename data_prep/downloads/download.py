"""Fetching a data set's files from their public addresses."""

import gzip
import hashlib
import lzma
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from pathlib import Path

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, read_content
from answer_ranking.data_prep.description import DataFile, DatasetDescription
from answer_ranking.data_prep.downloads.data_files import (
    data_folders,
    find_file,
    matching_content,
    missing_data,
    read_verified,
)

_TIMEOUT = (10, 60)  # seconds to connect, and between two parts of an answer
_ATTEMPTS = 3
_DAMAGED = (zlib.error, tarfile.TarError, zipfile.BadZipFile)


class _AddressError(Exception):
    """One address did not serve the file; `final` where asking it again would not help."""

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


def get_dataset(
    description: DatasetDescription, data_home: str | Path | None = None, *, wait: float = 1.0
) -> dict[str, Path]:
    """Find the files of a data set, download those that are absent, and check them all.

    A download is checked against the published SHA-256 before it takes its name, so that whatever has the
    name is complete and right. Archives are read in memory and never unpacked to the disk. Every address is
    asked up to three times, `wait` seconds before the second round, doubled before the third.

    Returns the path of every file by its place under the data folder. A file that only other training sets
    than the first need is left out where it is absent and has no public address.
    """
    paths = {}
    for file in description.files:
        served, found = find_file(file, data_home)
        if found is not None:
            read_verified(served, found)
        elif file.urls + file.archives:
            found = _fetch(file, data_folders(data_home)[0], wait)
        elif not file.variants or description.variants[0] in file.variants:
            raise missing_data(description, file, data_home)
        else:
            continue
        paths[file.path] = found
    return paths


def _fetch(file: DataFile, folder: Path, wait: float) -> Path:
    """Download one file and keep it gzipped."""
    target = folder / f"{file.path}.gz"
    pending = [*file.urls, *file.archives]
    reasons: dict[str, str] = {}
    for round_number in range(_ATTEMPTS):
        if round_number and pending:
            time.sleep(wait * 2 ** (round_number - 1))
        for url in list(pending):
            try:
                content = _content_from(url, file, target.parent)
            except _AddressError as failure:
                reasons[url] = str(failure)
                if failure.final:
                    pending.remove(url)
                continue
            with atomic_write(target, "wb") as stream:
                stream.write(gzip.compress(content, mtime=0))
            return target
    tried = "".join(f"\n  {url}: {reason}" for url, reason in reasons.items())
    raise UserError(
        f"cannot download {file.path}:{tried}\n"
        f"Check the network and try again, or put the file at {folder / file.path} yourself."
    )


def _content_from(url: str, file: DataFile, folder: Path) -> bytes:
    """Download from one address into a temporary file and give the content if it is the right one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as workspace:
            path = Path(workspace) / "download"
            _download(url, path)
            for candidate in _members(path, file) if url in file.archives else [_downloaded(path)]:
                content = matching_content(candidate, file)
                if content is not None:
                    return content
            received = hashlib.sha256(path.read_bytes()).hexdigest()
            what = "holds no file with" if url in file.archives else f"has the SHA-256 {received}, not"
            raise _AddressError(f"what came {what} the published SHA-256 {file.sha256}", final=True)
    except OSError as error:
        raise UserError(
            f"cannot write to {folder}: {error.strerror or error}. Free space or choose another --data-home."
        ) from error


def _download(url: str, path: Path) -> None:
    import pooch
    import requests

    try:
        pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=_TIMEOUT)(url, str(path), None)
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        final = 400 <= status < 500 and status not in (408, 429)
        raise _AddressError(f"HTTP status {status}", final) from error
    except requests.Timeout as error:
        raise _AddressError("no answer in time") from error
    except requests.ConnectionError as error:
        raise _AddressError("no connection, or it broke off") from error
    except requests.RequestException as error:
        raise _AddressError(f"the transfer broke off ({type(error).__name__})") from error


def _downloaded(path: Path) -> bytes:
    try:
        return read_content(path)
    except UserError as error:
        raise _AddressError("the gzip stream that came is damaged or cut short") from error


def _members(path: Path, file: DataFile) -> list[bytes]:
    """Read the regular files of an archive that could be the one wanted, told by their lengths.

    Names and links inside the archive mean nothing here, so that they can do no harm.
    """
    # The other form of line ends makes a file longer, by less than half in any text with words in it.
    lengths = range(file.bytes, file.bytes * 3 // 2 + 2)
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return [archive.read(info) for info in archive.infolist() if info.file_size in lengths]
        with tarfile.open(path) as archive:
            fitting = [each for each in archive if each.isfile() and each.size in lengths]
            return [file.read() for file in map(archive.extractfile, fitting) if file]
    # RuntimeError is zipfile's word for a password; its subclass NotImplementedError, for a compression.
    except (OSError, EOFError, ValueError, RuntimeError, lzma.LZMAError, *_DAMAGED) as error:
        raise _AddressError(f"the archive that came is damaged or cut short ({error})") from error
