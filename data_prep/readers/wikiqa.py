"""WikiQA (questions of a search log, sentences of a Wikipedia summary), and our sample in its layout."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.data_prep.description import DatasetDescription, known_files
from answer_ranking.data_prep.tables import check_table, read_tsv

_COLUMNS = {
    "QuestionID": "question_id",
    "Question": "question",
    "SentenceID": "candidate_id",
    "Sentence": "candidate",
    "Label": "label",
}


def read_wikiqa_tsv(text: str, where: str | Path) -> pd.DataFrame:
    """Read one split in WikiQA's layout (Yang et al. 2015).

    Tab-separated, no quoting, with a header that names QuestionID, Question, DocumentID, DocumentTitle,
    SentenceID, Sentence and Label; the sentences of a document in its own order.
    """
    table, lines = read_tsv(text, where)
    if missing := set(_COLUMNS).difference(table.columns):
        raise UserError(
            f"{where}: the column {min(missing)!r} is missing; is this a file in WikiQA's layout?"
        )
    return check_table(table[list(_COLUMNS)].rename(columns=_COLUMNS), where, lines)


def _read(variant: str, text_of: Callable[[str], str]) -> tuple[pd.DataFrame, ...]:
    paths = [file.path for file in WIKIQA.files]
    return tuple(read_wikiqa_tsv(text_of(path), path) for path in paths)


WIKIQA = DatasetDescription(
    name="wikiqa",
    title="WikiQA",
    protocols={"filtered": "answerable"},
    order_is_signal=True,
    source="Yang, Yih and Meek 2015, https://www.microsoft.com/en-us/download/details.aspx?id=52419",
    licence="Microsoft Research Data License Agreement",
    files=known_files("wikiqa/WikiQA-train.tsv", "wikiqa/WikiQA-dev.tsv", "wikiqa/WikiQA-test.tsv"),
    read=_read,
)


_SAMPLE_FOLDER = Path(__file__).parent.parent / "sample"


def _read_sample(variant: str, text_of: Callable[[str], str]) -> tuple[pd.DataFrame, ...]:
    paths = [_SAMPLE_FOLDER / f"sample-{split}.tsv" for split in ("train", "dev", "test")]
    texts = [decode_text(read_content(path), path) for path in paths]
    return tuple(map(read_wikiqa_tsv, texts, paths))


SAMPLE = DatasetDescription(
    name="sample",
    title="sample",
    protocols={"filtered": "answerable"},
    source="written for this project",
    licence="Apache-2.0",
    read=_read_sample,
)
