"""Reading tensors of a safetensors file: a header in JSON and plain bytes, nothing that is executed."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.errors import damaged

_TYPES: dict[str, np.dtype] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
_LONGEST_HEADER = 10_000_000


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Read what a safetensors file says of its tensors, and where their bytes begin."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
            raise damaged(path, "no safetensors file, or cut short")
        content = file.read(length)
    try:
        header = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise damaged(path, "its header is not a JSON object")
    return {name: facts for name, facts in header.items() if isinstance(facts, dict)}, 8 + length


def read_tensor(
    path: Path, header: dict[str, Any], start: int, name: str, shape: tuple[int, ...]
) -> np.ndarray:
    """Read one tensor of a known shape, float32; a UserError says what of it is not there."""
    try:
        dtype, found = _TYPES[header[name]["dtype"]], tuple(header[name]["shape"])
        first, last = map(int, header[name]["data_offsets"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise damaged(path, f"it has no weight {name} of type F32 or F16") from error
    if found != shape:
        raise damaged(path, f"{name} has the shape {list(found)}, not {list(shape)}")
    count = int(np.prod(shape))
    there = 0 <= first <= last <= path.stat().st_size - start
    if not there or last - first != count * dtype.itemsize:
        raise damaged(path, f"cut short: the bytes of {name} are not there")
    values = np.fromfile(path, dtype, count, offset=start + first).astype(np.float32, copy=False)
    if not np.isfinite(values).all():
        raise damaged(path, f"{name} has a number that is not finite")
    return values.reshape(shape)
