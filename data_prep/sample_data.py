"""The sample that comes with the project, so that everything runs without a download."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from data_prep.description import DatasetDescription
from data_prep.files import decode_text, read_content
from data_prep.wikiqa import read_wikiqa_tsv

_FOLDER = Path(__file__).parent / "sample"


def _read(variant: str, text_of: Callable[[str], str]) -> tuple[pd.DataFrame, ...]:
    paths = [_FOLDER / f"sample-{split}.tsv" for split in ("train", "dev", "test")]
    return tuple(read_wikiqa_tsv(decode_text(read_content(path), path), path) for path in paths)


SAMPLE = DatasetDescription(
    name="sample",
    title="sample",
    variants=("",),
    protocols={"filtered": "answerable"},
    order_is_signal=False,
    pretokenised=False,
    lists_correct_first=False,
    source="written for this project",
    licence="Apache-2.0",
    read=_read,
)
