"""Folders that are written whole or not at all, and the contents of their files."""

import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from answer_ranking.base.errors import UserError


def saved(save: Callable[..., None], *arrays: np.ndarray, **named: np.ndarray) -> pa.Buffer:
    """Give the content of the file that a function of NumPy writes."""
    sink = io.BytesIO()
    save(sink, *arrays, **named)
    return pa.py_buffer(sink.getbuffer())


def progress(what: str, unit: str, total: int = 0) -> tqdm:
    """Show how far a part of the building is."""
    return tqdm(total=total, desc=what, unit=unit, leave=False, disable=None)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path`, which takes its name when the block ends without an error.

    The caller holds the lock of the index. A UserError says that the disk is full.
    """
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        for each in part.iterdir():
            with each.open("rb+") as file:
                os.fsync(file.fileno())
        part.rename(path)
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}. Free space, then run the same command again: "
            "what is finished is kept."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
