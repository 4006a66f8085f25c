"""Fetching a data set's files from their public addresses."""

import bz2
import gzip
import hashlib
import lzma
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin

from tqdm import tqdm

from answer_ranking.base.errors import UserError, say
from answer_ranking.base.files import DAMAGED, atomic_write, bounded, remove_leftovers
from answer_ranking.data_prep.description import DataFile, DatasetDescription
from answer_ranking.data_prep.downloads.data_files import (
    data_folders,
    find_file,
    matching_content,
    missing_data,
    most_bytes,
    read_verified,
)

_TIMEOUT = (10, 60)  # seconds to connect, and between two parts of an answer
_ATTEMPTS = 3
# What may come from an address, and an archive unpack to, where the size is not known.
_MOST_BYTES = 2**29
_DEADLINE = 600  # seconds for an answer as a whole; after the first minute it must also come this quickly:
_SLOWEST = 10_000  # bytes a second
_MOST_REDIRECTS = 5
_UNPACKING: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}


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
    name is complete and right, and is given up where it is too large or takes too long. Archives are never
    unpacked to the disk. Every address is asked up to three times, `wait` seconds before the second round,
    doubled before the third.

    Returns the path of every file by its place under the data folder. A file that only other training sets
    than the first need is left out where it is absent and cannot be downloaded; why is printed.
    """
    paths = {}
    for file in description.files:
        served, found = find_file(file, data_home)
        if found is not None:
            read_verified(served, found)
        else:
            try:
                if not file.urls + file.archives:
                    raise missing_data(description, file, data_home)
                found = _fetch(file, data_folders(data_home)[0], wait)
            except UserError as error:
                if not file.variants or description.variants[0] in file.variants:
                    raise
                say(str(error))
                continue
        paths[file.path] = found
    return paths


def _fetch(file: DataFile, folder: Path, wait: float) -> Path:
    """Download one file and keep it gzipped."""
    target = folder / f"{file.path}.gz"
    pending = [*file.urls, *file.archives]
    reasons: dict[str, str] = {}
    remove_leftovers(target.parent)
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
    """Download from one address into a file without a name and give the content if it is the right one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as answer:
            is_archive = url in file.archives
            most = most_bytes(file) if file.bytes and not is_archive else _MOST_BYTES
            _download(url, answer, most + 1024)
            for candidate in _candidates(answer, file, is_archive, most):
                content = matching_content(candidate, file)
                if content is not None:
                    return content
            answer.seek(0)
            received = hashlib.file_digest(answer, "sha256").hexdigest()
            what = "holds no file with" if is_archive else f"has the SHA-256 {received}, not"
            raise _AddressError(f"what came {what} the published SHA-256 {file.sha256}", final=True)
    except OSError as error:
        raise UserError(
            f"cannot write to {folder}: {error.strerror or error}. Free space or choose another --data-home."
        ) from error


def _download(url: str, file: IO[bytes], most: int) -> None:
    """Write an answer of at most so many bytes to a file; whatever else fails is an _AddressError."""
    errors: list[Exception] = []

    def receive() -> None:
        try:
            for part in _parts(url, most):
                file.write(part)
        except Exception as error:
            errors.append(error)

    # Only from outside can a name that is not resolved or a head that comes byte by byte be given up. What is
    # given up ends when it next writes to the file, which is closed then.
    thread = threading.Thread(target=receive, daemon=True)
    began = time.monotonic()
    thread.start()
    with tqdm(desc=url[-40:], unit="B", unit_scale=True, disable=not sys.stderr.isatty()) as progress:
        while thread.is_alive():
            thread.join(1)
            took, size = time.monotonic() - began, file.tell()
            progress.update(size - progress.n)
            if thread.is_alive() and (took > _DEADLINE or (took > _TIMEOUT[1] and size < took * _SLOWEST)):
                raise _AddressError(f"{size:,} bytes in {took:.0f} seconds: too slow", final=True)
    if errors:
        raise errors[0]


def _parts(url: str, most: int) -> Iterator[bytes]:
    import requests

    class Session(requests.Session):
        def get_redirect_target(self, resp: Any) -> None:
            """Leave redirections alone: requests would read all that comes with them into memory."""

    try:
        with Session() as session:
            # What comes is not unpacked on the way: its size could not be bounded.
            session.headers["Accept-Encoding"] = "identity"
            for _ in range(_MOST_REDIRECTS):
                with session.get(url, timeout=_TIMEOUT, stream=True) as answer:
                    answer.raise_for_status()
                    if not answer.is_redirect:
                        yield from _within(answer.raw.stream(1 << 16, decode_content=False), most)
                        return
                    url = urljoin(url, answer.headers["location"])
        raise _AddressError("it redirects without an end", final=True)
    except _AddressError:
        raise
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        final = 400 <= status < 500 and status not in (408, 429)
        raise _AddressError(f"HTTP status {status}", final) from error
    except Exception as error:
        raise _AddressError(f"no connection, or it broke off ({type(error).__name__})") from error


def _within(parts: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Give parts that have at most so many bytes in all."""
    size = 0
    for part in parts:
        size += len(part)
        if size > most:
            raise _AddressError(f"more came than the {most:,} bytes expected", final=True)
        yield part


def _candidates(answer: IO[bytes], file: DataFile, is_archive: bool, most: int) -> Iterator[bytes]:
    """Give what came, unpacked, or an archive's regular files that could be the one wanted by their lengths.

    Names and links inside the archive mean nothing here, so that they can do no harm.
    """
    lengths = range(file.bytes, most_bytes(file) + 1)
    try:
        if is_archive and zipfile.is_zipfile(answer):
            with zipfile.ZipFile(answer) as archive:
                fitting = [each for each in archive.infolist() if each.file_size in lengths]
                if sum(each.file_size for each in fitting) > most:
                    raise _AddressError(f"what came unpacks to more than {most:,} bytes", final=True)
                yield from map(archive.read, fitting)
            return
        answer.seek(0)
        unpack = _UNPACKING.get(answer.read(2))
        answer.seek(0)
        stream = bounded(unpack(answer) if unpack else answer, "what came", most)
        if not is_archive:
            yield stream.read()
            return
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if member.isfile() and member.size in lengths and (content := tar.extractfile(member)):
                    yield content.read()
    except UserError as error:
        raise _AddressError(str(error), final=True) from error
    except DAMAGED as error:
        raise _AddressError(f"what came is damaged or cut short ({error})") from error
