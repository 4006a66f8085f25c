"""Writing files so that an interruption never leaves half of one."""

import gzip
import io
import json
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import platformdirs
from filelock import FileLock, Timeout

from data_prep.errors import UserError

MOST_BYTES = 2**32
"""What a gzipped file may unpack to; a few megabytes can be made to unpack to far more than any memory."""

# Escapes that follow each other, behind an even number of backslashes.
_JSON_ESCAPES = re.compile(r"(?<!\\)(?:\\\\)*((?:\\u[0-9a-fA-F]{4})+)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

# The number of the process in the name of a temporary file.
_WRITER = re.compile(r"\.(\d+)\.part")


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO]:
    """Open a temporary file beside `path` that takes its name only when the block ends without an error.

    Args:
        path: the file to write; its folder is made where it is missing.
        mode: "w" (UTF-8 text, line ends as given) or "wb".

    Raises:
        UserError: the folder cannot be written to, or the disk is full.

    Example:
        >>> with atomic_write("/tmp/numbers.txt") as file:
        ...     _ = file.write("1 2 3")
    """
    path = Path(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=f".{os.getpid()}.part"
        )
        with os.fdopen(descriptor, mode, **text) as file:
            yield file
            file.flush()
            # Renaming without this may leave an empty file behind a power cut.
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner may read; give the usual permissions.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give the path of a temporary file beside `path` and of its suffix, for a library that writes to paths.

    The file takes the name `path` when the block ends without an error.

    Args:
        path: the file to write; its folder is made where it is missing.

    Raises:
        UserError: the file cannot be written, or the disk is full.

    Example:
        >>> with atomic_path("/tmp/numbers.npy") as temporary:
        ...     _ = temporary.write_bytes(b"1 2 3")
        >>> temporary.exists()
        False
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot write {path}: {error.strerror or error}. Free space or choose another place.")


def check_writable(folder: str | Path) -> None:
    """Make a folder and see whether files can be written to it, before hours of work are done for them.

    Args:
        folder: the folder.

    Raises:
        UserError: it cannot be made or written to.

    Example:
        >>> check_writable("/tmp/outputs")
    """
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
    """Hold a folder while the block runs; who wants it meanwhile says so and waits, in whatever process.

    A process that is killed holds nothing any more.

    Args:
        folder: the folder; it is made where it is missing.

    Raises:
        UserError: the folder cannot be written to.

    Example:
        >>> with held_folder("/tmp/outputs/seed-0"):
        ...     pass
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
    """Remove the temporary files that a killed process left in a folder; call it before anything is written.

    Those of processes that still run, which may be writing just now, are left alone.

    Args:
        folder: the folder; it may be missing. Those within it are left alone.

    Example:
        >>> _ = Path("/tmp/.numbers.txt.x1.part").write_text("1 2")
        >>> remove_leftovers("/tmp")
        >>> Path("/tmp/.numbers.txt.x1.part").exists()
        False
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

    Args:
        path: the file.

    Returns:
        The content as bytes.

    Raises:
        UserError: the file is missing, cannot be read, or its gzip stream is damaged, cut short, or unpacks
            to more than `MOST_BYTES`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("/tmp/numbers.txt").write_text("1 2 3")
        >>> read_content("/tmp/numbers.txt")
        b'1 2 3'
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
        if len(unpacked) > MOST_BYTES:
            raise UserError(
                f"{path} unpacks to more than {MOST_BYTES:,} bytes. Unpack it yourself if you trust it."
            )
        return unpacked
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{path} is damaged or cut short ({error}). Delete it and fetch it again.") from error


def decode_text(content: bytes, path: str | Path) -> str:
    r"""Decode UTF-8 with or without a byte order mark, and make every line end a line feed.

    Args:
        content: the bytes.
        path: where they come from, for the message.

    Raises:
        UserError: the bytes are not UTF-8; the message names the line.

    Example:
        >>> decode_text(b"\xef\xbb\xbfone\r\ntwo", "words.txt")
        'one\ntwo'
    """
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(
            f"{path}, line {line}: not UTF-8 text. Save the file with the encoding UTF-8."
        ) from error


def holds_json(path: str | Path) -> bool:
    """Tell by its name whether a file is JSON or JSON lines.

    Example:
        >>> holds_json("a.jsonlines"), holds_json("a.json.gz"), holds_json("a.txt")
        (True, True, False)
    """
    return Path(str(path).removesuffix(".gz")).suffix in (".json", ".jsonl", ".jsonlines")


def refuse_half_characters(text: str, path: str | Path, first_line: int = 1) -> None:
    r"""Refuse JSON that escapes one half of a surrogate pair without the other.

    No encoding can write it and spaCy does not read it.

    Args:
        text: JSON, or lines of it.
        path: where it comes from, for the message.
        first_line: the number of the text's first line, for the message.

    Raises:
        UserError: an escape is half of a character; the message names the line.

    Example:
        >>> refuse_half_characters('"\\ud83d\\ude00"', "a.json")
    """
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


def decode_json_text(content: bytes, path: str | Path) -> str:
    r"""Decode a file of JSON, or of JSON lines, as `decode_text` does, and refuse half of a character.

    Args:
        content: the bytes.
        path: where they come from, for the message.

    Raises:
        UserError: the bytes are not UTF-8, or an escape is half of a character; the message names the line.

    Example:
        >>> decode_json_text(b'"\\ud83d\\ude00"', "a.json")
        '"\\ud83d\\ude00"'
    """
    text = decode_text(content, path)
    refuse_half_characters(text, path)
    return text


def cache_folder(cache_home: str | Path | None = None) -> Path:
    """Give the folder for files that can be made again: `cache_home`, else the user's cache directory.

    Example:
        >>> cache_folder("/tmp/cache")
        PosixPath('/tmp/cache')
    """
    return Path(cache_home) if cache_home else Path(platformdirs.user_cache_dir("answer-ranking"))
