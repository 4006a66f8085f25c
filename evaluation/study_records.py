"""Records of studies: of more than one model's results on one data set, each in a folder of its kind."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from data_prep.errors import UserError
from data_prep.files import decode_text, read_content


def read_study(path: str | Path, needed: Collection[str] = ("command", "code")) -> dict[str, Any]:
    """Read the record of a study.

    Args:
        path: the file.
        needed: the keys that it must have.

    Returns:
        The record.

    Raises:
        UserError: the file cannot be read, or is no such record.

    Example:
        >>> _ = Path("/tmp/study.json").write_text('{"command": "python a.py", "code": {}}')
        >>> read_study("/tmp/study.json")["command"]
        'python a.py'
    """
    try:
        record = json.loads(decode_text(read_content(path), path))
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}). Remove it, or run the study again.") from error
    if not isinstance(record, dict) or not record.keys() >= set(needed):
        raise UserError(f"{path} is no record of its study. Remove it, or run the study again.")
    return record
