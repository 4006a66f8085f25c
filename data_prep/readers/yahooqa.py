"""YahooQA: questions of Yahoo Answers with the chosen answer and four retrieved ones (Tay et al. 2017)."""

from pathlib import Path

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import MOST_TIMES
from answer_ranking.data_prep.description import DatasetDescription, known_files
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.readers.plain_pickle import load_plain_pickle
from answer_ranking.data_prep.readers.rows import TableRows, refuse_malformed

# In bytes of the file: what may be made of any file, and what a row takes at least.
_GRANTED = 1_000_000
_ROW = 30
_EMPTY = "answers without text"
_REPEATED = "answers that repeat one of the question with the same label"


def read_yahooqa(content: bytes, where: str | Path) -> dict[str, pd.DataFrame]:
    """Read the released `env.pkl`: a dictionary with `train`, `dev` and `test`; others are not looked at.

    Each of the three maps a question to a list of pairs of an answer and its label, 0 or 1, as the repository
    of the splits describes it. A text may be a string or a sequence of words. The file is read by
    `load_plain_pickle`, which runs nothing.
    """
    value = load_plain_pickle(content, where)
    # Answers and texts that are shared take little in the file, but here each is made anew.
    left = _GRANTED + MOST_TIMES * len(content)

    def text_of(value: object) -> str:
        nonlocal left
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
            raise TypeError(f"a {type(value).__name__} is not a text")
        left -= sum(map(len, words)) + len(words)
        if left < 0:
            raise UserError(f"{where}: more is in it than its length allows. Fetch it from its source.")
        return " ".join(" ".join(words).split())

    tables = {}
    for split in ("train", "dev", "test"):
        if not isinstance(value, dict) or not isinstance(value.get(split), dict):
            raise UserError(f"{where}: there is no dictionary {split!r} in it. Is this the released env.pkl?")
        rows = TableRows(f"{where}, {split}", unit="pair")
        for number, (question, answers) in enumerate(value[split].items(), start=1):
            place = f"{where}, {split}, question {number}"
            with refuse_malformed(place, "not a text with its answers"):
                left -= _ROW * len(answers)
                pairs = [(text_of(answer), label) for answer, label in answers]
                if not all(isinstance(label, str | int | float) for _, label in pairs):
                    raise TypeError("a label is neither a number nor a text")
                text = text_of(question)
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


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    return tuple(read_yahooqa(files.content("yahooqa/env.pkl"), "yahooqa/env.pkl").values())


YAHOOQA = DatasetDescription(
    name="yahooqa",
    title="YahooQA",
    source="Tay et al. 2017, env.pkl of https://github.com/vanzytay/YahooQA_Splits",
    licence="none stated; from Yahoo Webscope, for research",
    files=known_files("yahooqa/env.pkl"),
    read=_read,
    notes=(
        "Written against the published description of the file, which was not at hand: no count was checked. "
        "The papers have 50.1K / 6.2K / 6.2K questions and 253K / 31.7K / 31.7K pairs.",
    ),
)
