"""Reading, splitting and writing a user's own table."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Literal

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError, say
from answer_ranking.data_prep.column_names import ColumnNames
from answer_ranking.data_prep.formulas import with_formula_mark
from answer_ranking.data_prep.table_files import read_table_file
from answer_ranking.data_prep.tables import Faults, check_table, counts_under, is_blank, is_missing, same_text


def load_table(
    table: str | Path | pd.DataFrame,
    *,
    where: str = "the table",
    labelled: bool = True,
    columns: Mapping[str, str] | None = None,
    drop_bad_rows: bool = False,
    drop_duplicates: bool = False,
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""Read a user's own table of questions and candidate answers.

    The format follows from the name: `.csv` (ordinary CSV quoting; separated by commas, or by what a first
    line such as `sep=;` or the header shows), `.tsv` (tab-separated without quoting, so that a quote is a
    character like any other), `.jsonl` (one object a line), `.xlsx` (needs the extra `excel`) or `.parquet`;
    `.csv`, `.tsv` and `.jsonl` may be gzipped (`.csv.gz`). Text is UTF-8, or UTF-16 with a byte order mark;
    `.csv` and `.tsv` may be Windows-1252, which is then printed.

    The columns `question` and `candidate` (or else `answer`, `answers` or `text`, the first that there is),
    in capitals or not, are required. A `label` is 1, true or yes for a correct candidate, 0, false or no for
    a wrong one, also in some other languages; without the column, or where it is empty, every candidate is
    correct, which is printed. Without `question_id` questions of the same text, but for capitals and white
    space, are one question, written as it stands first; without `candidate_id` the rows are numbered. Other
    columns are dropped. The text "NA" or "null" is a text, not a missing value.

    Args:
        table: the file, or a frame, whose columns and rows are read by the same rules.
        where: what messages call a frame.
        labelled: whether to read labels; else the table comes without the column.
        columns: the user's names of columns, by ours, such as {"question": "Frage"}.
        drop_bad_rows: leave out the rows that are wrong, and print how many.
        drop_duplicates: of the rows that have question and candidate in common keep one, a correct one if
            there is any, and print how many are left out.
        sheet: the sheet to read of an Excel file; None for the first that is not hidden.

    Returns the table, as `check_table` describes it. Its `attrs["separator"]` is the separator of the file.
    A UserError says that the file cannot be read, or names the lines of the rows that are wrong.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("faq.csv").write_text("question,answer,label\nWho?,Me.,1\nWho?,There.,0\n")
        >>> load_table("faq.csv")[["question_id", "candidate", "label"]].values.tolist()
        [['q1', 'Me.', 1], ['q1', 'There.', 0]]
    """
    names = ColumnNames(columns, labelled=labelled)
    if isinstance(table, pd.DataFrame):
        raw, lines, faults = _frame(table, where, names), None, Faults(where, "row", drop_bad_rows)
    else:
        raw, lines, faults = read_table_file(Path(table), names, drop_bad_rows, sheet)
    raw = _all_labelled_if_none(raw, faults.where) if labelled and len(raw) else raw
    raw = raw if "question_id" in raw.columns else _with_one_spelling(raw, faults.where)
    # Nothing here holds on to the raw table: half a million rows would fill the memory once more.
    attrs, parts = {"separator": ","} | raw.attrs, [raw]
    del raw, attrs["columns"]
    checked = check_table(
        parts.pop(), faults.where, lines, labelled=labelled, faults=faults, drop_duplicates=drop_duplicates
    )
    checked.attrs = attrs
    return checked


def _frame(table: pd.DataFrame, where: str, names: ColumnNames) -> pd.DataFrame:
    names.require(table.columns, where)
    named = table.set_axis(names.standard(table.columns), axis=1)
    named.attrs["columns"] = list(table.columns)
    return named


def _all_labelled_if_none(table: pd.DataFrame, where: str | Path) -> pd.DataFrame:
    """Take all candidates as correct where a table has no labels, and say so: a name may be mistyped."""
    if list(table.columns).count("label") > 1:
        return table
    if "label" not in table.columns:
        found = ", ".join(map(str, table.attrs["columns"]))
        why = f"no column 'label' (found: {found:.200}; --label-column names another)"
    elif all(is_missing(value) or is_blank(str(value)) for value in table["label"]):
        why = "the labels are empty"
    else:
        return table
    say(f"{where}: {why}, so every candidate is taken as correct.")
    return table.assign(label=1)


def _with_one_spelling(table: pd.DataFrame, where: str | Path) -> pd.DataFrame:
    """Write questions of the same text, but for capitals and white space, as the first of them."""
    if list(table.columns).count("question") != 1:
        return table
    first: dict[str, str] = {}
    written: dict[str, str] = {}
    for question in table["question"]:
        if isinstance(question, str) and question not in written:
            written[question] = first.setdefault(same_text(question), question)
    if n_others := len(set(map(str.strip, written))) - len(first):
        say(
            f"{where}: {n_others:,} spellings of questions differ from an earlier one in capitals and white "
            "space alone, and are one question with it."
        )
    questions = [written[each] if isinstance(each, str) else each for each in table["question"]]
    return table.assign(question=questions)


def write_csv(
    table: pd.DataFrame,
    file: IO[str],
    separator: str = ",",
    *,
    bom: bool = False,
    quoting: Literal[0, 1, 2, 3] = csv.QUOTE_MINIMAL,
) -> None:
    r"""Write a table for spreadsheets, with ordinary CSV quoting.

    An apostrophe is put before a text that a spreadsheet would take for a formula: one that begins with =, +,
    -, @, a tab or a line end, behind apostrophes or not. `load_table` takes it away again. Numbers
    stay numbers. With `bom` a byte order mark comes first, by which Excel tells UTF-8;
    `quoting` is one of the constants of `csv`. Where a text holds a carriage return, all texts are quoted.

    Example:
        >>> import sys
        >>> write_csv(pd.DataFrame({"text": ["=1+1", "a;b"], "score": [-0.5, 1.0]}), sys.stdout, ";")
        text;score
        '=1+1;-0.5
        "a;b";1.0
    """
    columns = {}
    for name, column in table.items():
        is_number = pd.api.types.is_numeric_dtype(column)
        columns[with_formula_mark(name)] = column if is_number else column.map(with_formula_mark)
    marked = pd.DataFrame(columns)
    # Before Python 3.13 csv leaves a text bare that holds the line end of other systems than its own.
    if quoting == csv.QUOTE_MINIMAL and _has_carriage_return(marked):
        quoting = csv.QUOTE_NONNUMERIC
    if bom:
        file.write("\ufeff")
    marked.to_csv(file, sep=separator, index=False, quoting=quoting)


def _has_carriage_return(table: pd.DataFrame) -> bool:
    texts = table.select_dtypes(exclude="number")
    columns = [table.columns, *(column for _, column in texts.items())]
    return any("\r" in str(value) for column in columns for value in column)


def split_by_question(
    table: pd.DataFrame, shares: Mapping[str, float], seed: int = 0, where: str = "the table"
) -> dict[str, pd.DataFrame]:
    """Take whole questions out of a table, at random by a seed; the rest is for training.

    Questions of the same text, but for capitals and white space, go together, whatever their identifiers.
    Questions by which rankers can be told apart, those with a correct and a wrong candidate, and the others
    are dealt out separately, so that every part has its share of both, and at least one of the first kind.
    A table of correct candidates alone has nothing but questions of the first kind.
    Who goes where depends on the texts of the questions and the seed, not on the order of the rows.

    `shares` are the shares of the questions that the parts get, such as {"dev": 0.15, "test": 0.15}; each
    above 0, together below 1. Returns "train" and the parts by name; their rows keep their order.
    """
    for name, share in shares.items():
        if not 0 < share < 1:
            raise UserError(f"the share of {name} must be above 0 and below 1, not {share}.")
    if sum(shares.values()) >= 1:
        raise UserError(f"the shares {dict(shares)} leave nothing to train on. Choose smaller ones.")
    texts = [same_text(text) for text in table["question"].unique()]
    group_of_text = pd.Series(texts, index=table["question"].unique())
    groups = table["question"].map(group_of_text).to_numpy(object)
    counts = table.groupby(groups)["label"].agg(["sum", "size"])  # by group, in alphabetical order
    # Where every answer is correct, wrong ones are drawn afterwards, for every question.
    is_faq = table["label"].all()
    rule, kinds = ("answerable", "a correct") if is_faq else ("clean", "a correct and a wrong")
    n_correct, n_wrong = counts["sum"], counts["size"] - counts["sum"]
    clean = counts_under(rule, n_correct.to_numpy(), n_wrong.to_numpy())
    # A wrong answer is one to another question.
    n_least = len(shares) + (2 if is_faq else 1)
    if clean.sum() < n_least:
        raise UserError(
            f"{where}: {clean.sum()} of its {len(counts)} questions have {kinds} candidate. "
            f"{n_least} such questions are the least that give train and {' and '.join(shares)}. "
            "Add questions, or candidates of both kinds, or name tables of their own for these."
        )
    rng = np.random.default_rng(seed)
    part_of = pd.Series("train", index=counts.index, dtype=object)
    for kind, least in ((clean, 1), (~clean, 0)):
        names = rng.permutation(counts.index[kind].to_numpy(object))
        # What is left to the later parts, and one for training, must not be given away.
        start, reserved = 0, least * len(shares)
        for part, share in shares.items():
            size = min(max(round(share * len(names)), least), len(names) - start - reserved)
            part_of[names[start : start + size]] = part
            start, reserved = start + size, reserved - least
    part_of_row = part_of[groups].to_numpy()
    return {part: table[part_of_row == part].reset_index(drop=True) for part in ("train", *shares)}
