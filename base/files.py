"""Files that are read with clear errors and written so that an interruption never leaves half of one."""

import gzip
import io
import json
import os
import re
import secrets
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

MOST_BYTES = 2**32
"""What a gzipped file may unpack to; a few megabytes can be made to unpack to far more than any memory."""

# The number of the process in the name of a temporary file.
_WRITER = re.compile(r"\.(\d+)\.part")

_Made = TypeVar("_Made")


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO]:
    """Open a temporary file beside `path` that takes its name only when the block ends without an error.

    `mode` is "w" (UTF-8 text, line ends as given) or "wb". The rest as in `atomic_path`.
    """
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    with atomic_path(path) as temporary, temporary.open(mode, **text) as file:
        yield file
        file.flush()
        # Renaming without this may leave an empty file behind a power cut.
        os.fsync(file.fileno())


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give the path of a temporary file beside `path` and of its suffix, for a library that writes to paths.

    The file takes the name `path` when the block ends without an error. The folder is made where it is
    missing. Raises a UserError where the folder cannot be written to or the disk is full.
    """
    path = Path(path)
    name = f".{path.name}.{secrets.token_hex(4)}.{os.getpid()}.part{path.suffix}"
    temporary = path.with_name(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}. Free space or choose another place."
        ) from error
    finally:
        # Nothing can be below a path that is a file.
        with suppress(NotADirectoryError):
            temporary.unlink(missing_ok=True)


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
def held_folder(folder: str | Path) -> Iterator[None]:
    """Lock a folder, made where it is missing, while the block runs; another process says so and waits.

    A process that is killed holds nothing any more.
    """
    check_writable(folder)
    lock = FileLock(Path(folder) / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"Another process works in {folder}: waiting for it.", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def remove_leftovers(folder: str | Path) -> None:
    """Remove the temporary files that killed processes left in a folder (not below it), which may be missing.

    Those of processes that still run, which may be writing just now, are left alone.
    """
    for path in Path(folder).glob(".*.part*"):
        writer = _WRITER.search(path.name)
        if not (writer and _runs(int(writer[1]))):
            path.unlink(missing_ok=True)


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


def read_content(path: str | Path) -> bytes:
    """Read a file's content, uncompressed where it is gzipped (told by its first bytes, not by its name).

    Raises a UserError where it is missing, cannot be read, is damaged, or unpacks to more than `MOST_BYTES`.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist. Check the path.") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}.") from error
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            unpacked = stream.read(MOST_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{path} is damaged or cut short ({error}). Delete it and fetch it again.") from error
    if len(unpacked) > MOST_BYTES:
        raise UserError(
            f"{path} unpacks to more than {MOST_BYTES:,} bytes. Unpack it yourself if you trust it."
        )
    return unpacked


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
    return Path(cache_home) if cache_home else Path(platformdirs.user_cache_dir("answer-ranking"))


def cached_arrays(
    path: Path, make: Callable[[], dict[str, np.ndarray]], restore: Callable[[dict[str, np.ndarray]], _Made]
) -> _Made:
    """Restore something from the arrays kept at `path`, or from those that `make` gives, which are then kept.

    A damaged file, or one that `restore` refuses, is made again with a warning. Where nothing can be
    written, that too is a warning only.
    """
    if path.exists():
        try:
            with np.load(path, allow_pickle=False) as file:
                return restore({name: file[name] for name in file.files})
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            warnings.warn(f"{path} is damaged ({error}); it is made anew.", stacklevel=3)
    arrays = make()
    try:
        with atomic_write(path, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
    except UserError as error:
        warnings.warn(f"not kept for the next run: {error}", stacklevel=3)
    return restore(arrays)


def from_json(array: np.ndarray) -> Any:
    """Give back what `to_json` put into an array."""
    return json.loads(array.tobytes())


def to_json(value: object) -> np.ndarray:
    """Put strings into a byte array, as JSON: NumPy would store them as fixed width or as pickles."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
