"""Files that are read with clear errors and written so that an interruption never leaves half of one."""

import gzip
import hashlib
import io
import lzma
import os
import re
import secrets
import stat
import sys
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import platformdirs
from filelock import FileLock, Timeout

from answer_ranking.base.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the rooms: the repository, or the installed package."""
MOST_BYTES = 2**25
MOST_TIMES = 6
"""A file may unpack to `MOST_BYTES`, or to `MOST_TIMES` its own size where that is more.

A few megabytes can be made to unpack to far more than any memory. Texts unpack to three to five times.
"""

_PLAIN = (OSError, EOFError, ValueError, RuntimeError, MemoryError, OverflowError)
DAMAGED: tuple[type[Exception], ...] = (
    *_PLAIN,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)
"""What Python raises for an archive that is damaged, encrypted, or compressed in a way that it lacks."""

_OTHER_FILES = 512

# What `atomic_path` calls a temporary file; the number is that of the process.
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.(\d+)\.part(\.[^.]*)?")

_Made = TypeVar("_Made")


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO]:
    """Open a temporary file beside `path` that takes its name only when the block ends without an error.

    `mode` is "w" (UTF-8 text, line ends as given) or "wb". The rest as in `atomic_path`.
    """
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    with atomic_path(path) as temporary, temporary.open(mode, **text) as file:
        yield file


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give the path of a temporary file beside `path` and of its suffix, for a library that writes to paths.

    The file takes the name `path` when the block ends without an error. The folder is made where it is
    missing. A link stays, and what it points to is written; a pipe or a device is written to at once. Raises
    a UserError where the folder cannot be written to or the disk is full.
    """
    path = Path(path)
    temporary = None
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            yield path
            return
        suffix, path = path.suffix, Path(os.path.realpath(path))
        name = f".{path.name}.{secrets.token_hex(4)}.{os.getpid()}.part{suffix}"
        temporary = path.with_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        # Renaming without this may leave an empty file behind a power cut.
        _to_disk(temporary)
        temporary.replace(path)
        _to_disk(path.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}. Free space or choose another place."
        ) from error
    finally:
        # Where it could not be written it is not there either.
        with suppress(OSError):
            if temporary is not None:
                temporary.unlink()


def _to_disk(path: Path) -> None:
    """Wait until a file's content, or a folder's names, are on the disk; Windows opens no folders."""
    if os.name == "nt" and path.is_dir():
        return
    # For some systems a file must be open for writing.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_writable(folder: str | Path) -> None:
    """Make a folder and raise a UserError if files cannot be written to it; call it before long work."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"cannot write to {folder}: {error.strerror or error}. Choose another place."
        ) from error


@contextmanager
def locked_folder(folder: str | Path, wait: bool = True) -> Iterator[bool]:
    """Lock a folder, made where it is missing, while the block runs; another process says so and waits.

    Gives whether this process has locked it: without `wait` another process may have. A process that is
    killed locks nothing any more.
    """
    check_writable(folder)
    path = Path(folder) / "lock"
    if path.is_symlink():
        raise UserError(f"{path} is a link, and a lock would empty what it points to. Delete it.")
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if wait:
            print(f"Another process works in {folder}: waiting for it.", flush=True)
            lock.acquire()
    try:
        yield lock.is_locked
    except KeyboardInterrupt:
        print("\nStopped. What is finished is kept: the same command goes on from there.", flush=True)
        raise
    finally:
        lock.release()


def read_lines(path: str | Path, what: str) -> list[str]:
    """Read texts, one per line, without empty ones; "-" is standard input. An empty file is a UserError.

    A line feed alone ends a line, as in tables.
    """
    where = "standard input" if str(path) == "-" else path
    content = sys.stdin.buffer.read() if str(path) == "-" else read_content(path)
    lines = map(str.strip, decode_text(content, where).split("\n"))
    found = list(filter(None, lines))
    if not found:
        raise UserError(f"{where} holds no {what}: write one per line.")
    return found


def allow_files(n: int) -> None:
    """Allow this process to open `n` files more, where the usual limit, often 1,024, is too low.

    A UserError says that the machine's own limit is.
    """
    needed = n + _OTHER_FILES
    # Twice as many, since there may be a new state beside an old one.
    most = raise_file_limit(2 * needed)
    if most < needed:
        what = f"{needed:,} open files are needed, and {most:,} allowed"
        raise UserError(f"{what}. Raise the limit: ulimit -Hn.")


def raise_file_limit(wanted: int) -> int:
    """Let this process open so many files, or as many as the machine allows; return how many it may open."""
    if os.name == "nt":  # There is no such limit.
        return sys.maxsize
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = sys.maxsize if soft == resource.RLIM_INFINITY else soft
    if limit < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def slug(*parts: str) -> str:
    """Join names to one that suits a file system, such as hyperqa_trecqa_ap-cnn."""
    cleaned = []
    for part in filter(None, parts):
        words = re.sub(r"[^\w+.]|_", "-", part.lower())
        cleaned.append(re.sub("-+", "-", words).strip("-"))
    return "_".join(cleaned)


def remove_leftovers(folder: str | Path) -> None:
    """Remove the temporary files that killed processes left in a folder (not below it), which may be missing.

    Those of processes that still run, which may be writing just now, are left alone.
    """
    for path in Path(folder).glob(".*.part*"):
        temporary = _TEMPORARY.fullmatch(path.name)
        if temporary and not _runs(int(temporary[1])):
            path.unlink(missing_ok=True)


def refuse_links(folder: str | Path) -> None:
    """Raise a UserError that names what below a folder is neither a plain file nor a folder.

    A folder that somebody sent may hold links that lead out of it, or pipes that never end. The folder itself
    may be a link: the user named it.
    """
    for place, folders, names in os.walk(folder):
        for name in folders + names:
            path = Path(place, name)
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:  # Another process has just removed it.
                continue
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise UserError(
                    f"{path} is a link or a device, which {folder} must not hold. "
                    "Put the file or the folder itself there, if you trust it."
                )


def _runs(process: int) -> bool:
    """Say whether a process of this machine runs; where that cannot be asked, say that it does."""
    if os.name == "nt":  # There os.kill ends the process, whatever the signal.
        return True
    try:
        os.kill(process, 0)
    except PermissionError:  # It is another user's.
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


class _Bounded(io.RawIOBase):
    def __init__(self, stream: Any, where: str | Path, most: int) -> None:
        self._stream, self._where, self._most, self._left = stream, where, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        buffer[: len(content)] = content
        self._left -= len(content)
        if self._left < 0:
            what = f"{self._where} unpacks to more than {self._most:,} bytes."
            raise UserError(f"{what} Unpack it yourself if you trust it.")
        return len(content)


def bounded(stream: Any, where: str | Path, most: int = 0, times: int = MOST_TIMES) -> io.BufferedReader:
    """Read what unpacks to at most so many bytes (0: `MOST_BYTES`, or `times` the size of the file `where`).

    A UserError is raised where it is more.
    """
    most = most or max(MOST_BYTES, times * Path(where).stat().st_size)
    return io.BufferedReader(_Bounded(stream, where, most))


@contextmanager
def open_content(path: str | Path, most: int = 0, times: int = MOST_TIMES) -> Iterator[Any]:
    """Open a file, uncompressed where it is gzipped (told by its first bytes, not by its name), as `bounded`.

    Raises a UserError where it is missing, cannot be read, is damaged, or unpacks to more than it may.
    """
    try:
        with Path(path).open("rb") as file:
            packed = file.peek(2).startswith(b"\x1f\x8b")
            if packed:
                yield bounded(gzip.GzipFile(fileobj=file), path, most, times)
            else:
                yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        what = f"{path} is damaged or cut short ({error})"
        raise UserError(f"{what}. Delete it and fetch it again.") from error
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist. Check the path.") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}.") from error


def read_content(path: str | Path, most: int = 0) -> bytes:
    """Read a file's content as `open_content` does."""
    with open_content(path, most) as stream:
        return stream.read()


def decode_text(content: bytes, path: str | Path) -> str:
    """Decode UTF-8 with or without a byte order mark, and make every line end a line feed.

    A UserError for other bytes names `path` and the line.
    """
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(
            f"{path}, line {line}: not UTF-8 text. Save the file with the encoding UTF-8."
        ) from error


def cache_folder(cache_home: str | Path | None = None) -> Path:
    """Give the folder for files that can be made again: `cache_home`, else the user's cache directory."""
    return Path(cache_home or platformdirs.user_cache_dir("answer-ranking"))


def homes(given: str | Path | None, variable: str, in_cache: str) -> list[Path]:
    """List the folders where a user's files are looked for: one that is named, and one of the user's cache.

    What is `given` counts before the environment's `variable`; ~ is the user's own folder.
    """
    named = given or os.environ.get(variable)
    own = [Path(os.path.expanduser(named))] if named else []  # noqa: PTH111 (Path.expanduser raises)
    return [*own, cache_folder() / in_cache]


def cached_arrays(
    path: Path, make: Callable[[], dict[str, np.ndarray]], restore: Callable[[dict[str, np.ndarray]], _Made]
) -> _Made:
    """Restore something from the arrays kept at `path`, or from those that `make` gives, which are then kept.

    Where these are not the very arrays that were kept, or `restore` fails, they are made anew with a warning.
    Where nothing can be written, that too is a warning only.
    """
    if os.path.isfile(path):  # noqa: PTH113 (Path.is_file raises where it may not look)
        try:
            with zipfile.ZipFile(path) as archive:
                unpacked = sum(each.file_size for each in archive.infolist())
                if unpacked > path.stat().st_size:
                    raise ValueError("it is compressed, which it never was")
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            if arrays.pop("sha256").tobytes() != _sha256(path.name, arrays):
                raise ValueError("it is not what was kept")
            return restore(arrays)
        except Exception as error:
            warnings.warn(f"{path} is damaged ({error!r:.200}); it is made anew.", stacklevel=3)
    arrays = make()
    try:
        with atomic_write(path, "wb") as file:
            sha256 = np.frombuffer(_sha256(path.name, arrays), np.uint8)
            np.savez(file, allow_pickle=False, sha256=sha256, **arrays)
    except UserError as error:
        warnings.warn(f"not kept for the next run: {error}", stacklevel=3)
    return restore(arrays)


def _sha256(name: str, arrays: dict[str, np.ndarray]) -> bytes:
    digest = hashlib.sha256(name.encode())
    for key, array in sorted(arrays.items()):
        digest.update(repr((key, array.dtype.str, array.shape)).encode())
        if array.size:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.digest()
