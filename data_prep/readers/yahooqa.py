"""YahooQA: questions of Yahoo Answers with the chosen answer and four retrieved ones (Tay et al. 2017)."""

from pathlib import Path

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.description import DataFile, DatasetDescription
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.readers.plain_pickle import load_plain_pickle
from answer_ranking.data_prep.readers.rows import TableRows, refuse_malformed

_EMPTY = "answers without text"
_REPEATED = "answers that repeat one of the question with the same label"


def read_yahooqa(content: bytes, where: str | Path) -> dict[str, pd.DataFrame]:
    """Read the released `env.pkl`: a dictionary with `train`, `dev` and `test`; others are not looked at.

    Each of the three maps a question to a list of pairs of an answer and its label, 0 or 1, as the repository
    of the splits describes it. A text may be a string or a sequence of words. The file is read by
    `load_plain_pickle`, which runs nothing.
    """
    value = load_plain_pickle(content, where)
    # No file can hold more answers than bytes, unless one list stands for the answers of many questions.
    left = len(content)
    tables = {}
    for split in ("train", "dev", "test"):
        if not isinstance(value, dict) or not isinstance(value.get(split), dict):
            raise UserError(f"{where}: there is no dictionary {split!r} in it. Is this the released env.pkl?")
        rows = TableRows(f"{where}, {split}", unit="pair")
        for number, (question, answers) in enumerate(value[split].items(), start=1):
            with refuse_malformed(f"{where}, {split}, question {number}: not a text with its answers"):
                pairs = [(_text(answer), label) for answer, label in answers]
                text = _text(question)
            left -= len(pairs)
            if left < 0:
                raise UserError(f"{where}: it holds more answers than bytes. Fetch it from its source.")
            rows.n_questions += 1
            seen = set()
            for i, (answer, label) in enumerate(pairs, start=1):
                if not answer or (answer, str(label)) in seen:
                    rows.skipped[_REPEATED if answer else _EMPTY] += 1
                    continue
                seen.add((answer, str(label)))
                rows.add(None, f"{split}-{number}", text, f"{split}-{number}-{i}", answer, label)
        tables[split] = rows.table()
    return tables


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        value = " ".join(value)
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a text")
    return " ".join(value.split())


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    return tuple(read_yahooqa(files.content("yahooqa/env.pkl"), "yahooqa/env.pkl").values())


YAHOOQA = DatasetDescription(
    name="yahooqa",
    title="YahooQA",
    source="Tay et al. 2017, env.pkl of https://github.com/vanzytay/YahooQA_Splits",
    licence="none stated; from Yahoo Webscope, for research",
    files=(DataFile("yahooqa/env.pkl"),),
    read=_read,
    notes=(
        "Written against the published description of the file, which was not at hand: no count was checked. "
        "The papers have 50.1K / 6.2K / 6.2K questions and 253K / 31.7K / 31.7K pairs.",
    ),
)
