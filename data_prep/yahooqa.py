"""YahooQA: questions of Yahoo Answers with the chosen answer and four retrieved ones (Tay et al. 2017)."""

from pathlib import Path

import pandas as pd

from data_prep.data_files import DataFiles
from data_prep.description import DataFile, DatasetDescription
from data_prep.errors import UserError
from data_prep.plain_pickle import load_plain_pickle
from data_prep.tables import COLUMNS, check_table

_SPLITS = ("train", "dev", "test")
_EMPTY = "answers without text"
_REPEATED = "answers that repeat one of the question with the same label"


def read_yahooqa(content: bytes, where: str | Path) -> dict[str, pd.DataFrame]:
    """Read the released `env.pkl`: a dictionary with `train`, `dev` and `test`.

    Each of them maps a question to a list of pairs of an answer and its label, 0 or 1, as the repository of
    the splits describes it. A text may be a string or a sequence of words. The file is read by
    `load_plain_pickle`, which runs nothing. Further entries of the dictionary are not looked at.

    Args:
        content: the file's content.
        where: its name, for messages.

    Returns:
        The checked tables by split. `attrs["skipped"]` counts answers without text, and answers that occur
        twice at one question with the same label.

    Raises:
        UserError: the pickle holds more than plain values, is damaged, or has not this form.

    Example:
        >>> import pickle
        >>> part = {"who ?": [["not me", 0], ["me", 1]]}
        >>> tables = read_yahooqa(pickle.dumps({"train": part, "dev": part, "test": part}), "env.pkl")
        >>> tables["train"][["question", "candidate", "label"]].values.tolist()
        [['who ?', 'not me', 0], ['who ?', 'me', 1]]
    """
    value = load_plain_pickle(content, where)
    missing = [
        name for name in _SPLITS if not isinstance(value, dict) or not isinstance(value.get(name), dict)
    ]
    if missing:
        raise UserError(
            f"{where}: there is no dictionary {missing[0]!r} in it. Is this the released env.pkl?"
        )
    # No file can hold more answers than bytes, unless one list stands for the answers of many questions.
    left = len(content)
    tables = {}
    for split in _SPLITS:
        columns: dict[str, list] = {name: [] for name in COLUMNS}
        skipped: dict[str, int] = {}
        n_empty = 0
        for number, (question, answers) in enumerate(value[split].items(), start=1):
            try:
                pairs = [(_text(answer), label) for answer, label in answers]
                text = _text(question)
            except (TypeError, ValueError) as error:
                raise UserError(
                    f"{where}, {split}, question {number}: not a text with its answers ({error!r:.80}). "
                    "Is this the released env.pkl?"
                ) from error
            left -= len(pairs)
            if left < 0:
                raise UserError(f"{where}: it holds more answers than bytes. Fetch it from its source.")
            seen = set()
            for i, (answer, label) in enumerate(pairs, start=1):
                reason = _EMPTY if not answer else _REPEATED if (answer, str(label)) in seen else None
                if reason:
                    skipped[reason] = skipped.get(reason, 0) + 1
                    continue
                seen.add((answer, str(label)))
                row = (f"{split}-{number}", text, f"{split}-{number}-{i}", answer, label)
                for column, cell in zip(columns.values(), row, strict=True):
                    column.append(cell)
            n_empty += not seen
        tables[split] = check_table(pd.DataFrame(columns, dtype=object), f"{where}, {split}", unit="pair")
        tables[split].attrs = {"questions_without_candidates": n_empty, "skipped": skipped}
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
    variants=("",),
    protocols={"answerable": "answerable"},
    order_is_signal=False,
    pretokenised=False,
    lists_correct_first=False,
    source="Tay et al. 2017, env.pkl of https://github.com/vanzytay/YahooQA_Splits",
    licence="none stated; from Yahoo Webscope, for research",
    files=(DataFile("yahooqa/env.pkl"),),
    read=_read,
    notes=(
        "Written against the published description of the file, which was not at hand: no count was checked. "
        "The papers have 50.1K / 6.2K / 6.2K questions and 253K / 31.7K / 31.7K pairs.",
    ),
)
