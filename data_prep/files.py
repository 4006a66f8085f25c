"""Writing files so that an interruption never leaves half of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from data_prep.errors import UserError


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
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(descriptor, mode, **text) as file:
            yield file
            file.flush()
            # Renaming without this may leave an empty file behind a power cut.
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner may read; give the usual permissions.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}. Free space or choose another place.") from error
    finally:
        if temporary:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
