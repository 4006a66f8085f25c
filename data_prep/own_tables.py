"""Reading and splitting a user's own table."""

import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.data_prep.tables import (
    COLUMNS,
    check_table,
    counts_under,
    numbered_lines,
    read_tsv,
    shared,
    to_table,
)

_CSV_LINE = re.compile("[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_PARQUET_ROWS = 10_000


def load_table(path: str | Path, *, labelled: bool = True) -> pd.DataFrame:
    r"""Read a user's own table of questions and candidate answers.

    The format follows from the name: `.csv` (ordinary CSV quoting; separated by commas, or by the semicolons
    or tabs that the header shows), `.tsv` (tab-separated without quoting, so that a quote is a character like
    any other), `.jsonl` (one object a line) or `.parquet`; the first three may be gzipped (`.csv.gz`). The
    columns `question`, `candidate` and `label`, in capitals or not, are required. Without `question_id` the
    equal questions are one question; without `candidate_id` the rows are numbered. Other columns are
    dropped. The text "NA" or "null" is a text, not a missing value. A label is 1, true or yes for a correct
    candidate, 0, false or no for a wrong one, in capitals or not.

    Without `labelled`, candidates need no labels and the table comes without the column.

    Raises:
        UserError: the file cannot be read, or a row is wrong; the message names the line. No row is ever
            left out.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("/tmp/faq.csv").write_text("question,candidate,label\nWho?,Me.,1\nWho?,There.,0\n")
        >>> load_table("/tmp/faq.csv")[["question_id", "candidate", "label"]].values.tolist()
        [['q1', 'Me.', 1], ['q1', 'There.', 0]]
    """
    path = Path(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in (".csv", ".tsv", ".jsonl", ".parquet"):
        raise UserError(f"{path}: the name must end in .csv, .tsv, .jsonl or .parquet (.gz may follow).")
    # Nothing here holds on to the file's text, nor to the raw table, while the checked one is made: half a
    # million rows would fill the memory once more for each.
    if suffix == ".parquet":
        raw = [_read_parquet(path), None]
    else:
        read = {".csv": read_csv, ".tsv": read_tsv, ".jsonl": read_json_lines}[suffix]
        raw = list(read(decode_text(read_content(path), path), path))
    raw[0].columns = [_standard_name(name) for name in raw[0].columns]
    unit = "row" if suffix == ".parquet" else "line"
    return check_table(raw.pop(0), path, raw.pop(), unit=unit, labelled=labelled)


def read_csv(text: str, where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    """Split comma-separated text with ordinary quoting, header in the first line.

    Where the first line names the columns of `load_table` with semicolons or tabs between them, these
    separate, as in the spreadsheets of many countries; where it does not name them, what is most frequent
    there. Returns the table (all columns str) and the line on which every row begins.
    """
    usual_limit = csv.field_size_limit(sys.maxsize)
    try:
        return to_table(_csv_rows(text, where), where)
    finally:
        csv.field_size_limit(usual_limit)


def _csv_rows(text: str, where: str | Path) -> Iterator[tuple[int, list[str]]]:
    # Line by line: io.StringIO would hold the text once more, in four bytes a character.
    first = _CSV_LINE.search(text)
    separator = _separator(first[0]) if first else ","
    reader = csv.reader((match[0] for match in _CSV_LINE.finditer(text)), delimiter=separator, strict=True)
    begin = 1
    try:
        for fields in reader:
            if fields:
                yield begin, fields
            begin = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{where}, line {begin}: {error}. Put a text with a separator, a quote or a line end in quotes, "
            "and double the quotes inside it."
        ) from error


def _separator(header: str) -> str:
    for separator in ",;\t":
        names = {_standard_name(name.strip().strip('"')) for name in header.split(separator)}
        if {"question", "candidate"} <= names:
            return separator
    return max(",;\t", key=header.count)


def _standard_name(name: object) -> object:
    """Write the name of a column that `load_table` knows as it does, and leave others as they are."""
    plain = str(name).strip().lower()
    return plain if plain in COLUMNS else name


def read_json_lines(text: str, where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    """Make a table of JSON lines: one object a line, its keys the columns.

    Returns the table, None where an object lacks a key, and the line number of every row. Raises a UserError
    if a line is not a JSON object, or there is none.
    """
    # Built by column, because a DataFrame made of records would turn missing values and mixed types about.
    columns: dict[str, list] = {}
    lines: list[int] = []
    for number, line in numbered_lines(text):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{where}, line {number}: not JSON ({error!s:.100}). Write one object a line."
            ) from error
        if not isinstance(record, dict):
            raise UserError(f"{where}, line {number}: not a JSON object. Write one object a line.")
        for name in record:
            # Names that cannot be printed are none of ours, and half characters in them would stop pandas.
            # A name of its own in every line would make as many columns as lines.
            most = 20 if _standard_name(name) in COLUMNS else 10
            if name not in columns and name.isprintable() and len(columns) < most:
                columns[name] = [None] * len(lines)
        for name, column in columns.items():
            value = record.get(name)
            column.append(column[-1] if column and value == column[-1] and type(value) is str else value)
        lines.append(number)
    if not lines:
        raise UserError(f"{where}: the file is empty.")
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()}), lines


def _read_parquet(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise UserError(f"{path} is no file, or does not exist. Check the path.")
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = [name for name in file.schema_arrow.names if _standard_name(name) in COLUMNS]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice:
                raise UserError(f"{path}: the column {twice!r} occurs twice. Name every column once.")
            # By column and part by part, so that no more than a part is held in Arrow's form beside Python's.
            columns = {}
            for name in names:
                parts = file.iter_batches(columns=[name], batch_size=_PARQUET_ROWS)
                values = shared(value for part in parts for value in part.column(0).to_pylist())
                columns[name] = pd.Series(values, dtype=object)
            return pd.DataFrame(columns)
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise UserError(f"{path} is not a readable Parquet file ({error!s:.200}). Write it again.") from error


def split_by_question(
    table: pd.DataFrame, shares: Mapping[str, float], seed: int = 0, where: str = "the table"
) -> dict[str, pd.DataFrame]:
    """Take whole questions out of a table, at random by a seed; the rest is for training.

    Questions of the same text, but for capitals and white space, go together, whatever their identifiers.
    Questions by which rankers can be told apart, those with a correct and a wrong candidate, and the others
    are dealt out separately, so that every part has its share of both, and at least one of the first kind.
    Who goes where depends on the texts of the questions and the seed, not on the order of the rows.

    `shares` are the shares of the questions that the parts get, such as {"dev": 0.15, "test": 0.15}; each
    above 0, together below 1. Returns "train" and the parts by name; their rows keep their order.
    """
    for name, share in shares.items():
        if not 0 < share < 1:
            raise UserError(f"the share of {name} must be above 0 and below 1, not {share}.")
    if sum(shares.values()) >= 1:
        raise UserError(f"the shares {dict(shares)} leave nothing to train on. Choose smaller ones.")
    texts = [" ".join(text.casefold().split()) for text in table["question"].unique()]
    group_of_text = pd.Series(texts, index=table["question"].unique())
    groups = table["question"].map(group_of_text).to_numpy(object)
    counts = table.groupby(groups)["label"].agg(["sum", "size"])  # by group, in alphabetical order
    clean = counts_under("clean", counts["sum"].to_numpy(), (counts["size"] - counts["sum"]).to_numpy())
    if clean.sum() <= len(shares):
        raise UserError(
            f"{where}: {clean.sum()} of its {len(counts)} questions have a correct and a wrong candidate. "
            f"{len(shares) + 1} such questions are the least from which train and {' and '.join(shares)} can "
            "be made. Add questions, or candidates of both kinds, or name tables of their own for these."
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
