"""From a user's table to the rows of an index."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from answer_ranking.base.errors import UserError, say
from answer_ranking.data_prep.column_names import CANDIDATE_SYNONYMS, ColumnNames, EveryColumn, plain_name
from answer_ranking.data_prep.table_files import format_of, read_table_file
from answer_ranking.data_prep.tables import HALF_CHARACTER, Faults, check_table
from answer_ranking.ranking.search.column_types import typed

QUESTION = "indexed_question"
"""The column of an FAQ's own questions, in an index and in what a search gives."""
_RESULT = {"question_id", "question", "rank", "score", "confidence", "first_stage"}
_OURS = {"candidate_id", "candidate", QUESTION, "indexed_question_id", "label"}
_NAMED_AT_MOST = 5
_ONCE = "Name every column once."
_TEXTS = (pa.string(), pa.large_string())


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How tables of answers are read."""

    question_column: str = "question"
    """How the table calls its column of questions."""
    candidate_column: str | None = None
    """How it calls its column of answers; None: candidate, or else the first of `CANDIDATE_SYNONYMS`."""
    sheet: str | None = None
    """The sheet of an Excel file; None: the first that is not hidden."""
    drop_bad_rows: bool = False
    """Leave out the rows that are wrong, and print how many."""
    search: Sequence[str] | None = None
    """The columns in which words and letters are looked for. None: the question, where the table has one,
    and the answer. The model's points are those of the answers, and, by the first stage `questions`, of the
    questions."""
    passage_length: int = 0
    """Split answers into passages of at most so many characters, between sentences where it can. A search
    finds passages, of each answer the best. 0: whole answers."""
    chunk_rows: int = 50_000
    """So many rows are finished and kept at a time."""

    @property
    def theirs(self) -> dict[str, str]:
        """The names of the user's columns, by ours."""
        names = {"question": self.question_column}
        return names if self.candidate_column is None else {**names, "candidate": self.candidate_column}

    def names_in_index(self, found: Iterable[object]) -> list[str]:
        """Give the names that columns of the user's have in an index."""
        names = []
        for name in ColumnNames(self.theirs, labelled=False).standard(found):
            plain = plain_name(name)
            # A name of the result's own would stand there twice.
            names.append(f"indexed_{plain}" if plain in _RESULT else str(name).strip())
        return names


USUAL = Reading()


def read_rows(path: str | Path) -> tuple[pd.DataFrame, list[int] | None]:
    """Read all columns of a table's file, and the number of every row (None: from 1)."""
    table, lines, faults = read_table_file(Path(path), EveryColumn())
    faults.settle(len(table))
    return table, lines


def plain_names(table: pd.DataFrame, where: str | Path, names: Sequence[str]) -> pd.DataFrame:
    """Give those columns of these names, in capitals or not, that the table has; an exact one goes first."""
    found = {}
    plain = table.columns.map(plain_name)
    for name in names:
        same = table.columns[table.columns == name]
        if not len(same):
            same = table.columns[plain == name]
        if len(same) > 1:
            raise UserError(f"{where}: the column {name!r} occurs twice. {_ONCE}")
        if len(same):
            found[name] = table[same[0]]
    return pd.DataFrame(found, index=table.index)


def answers_of(
    table: str | Path | pd.DataFrame, schema: pa.Schema | None = None, reading: Reading = USUAL
) -> tuple[pa.Table, bool]:
    """Check a table of answers and give its `candidate_id`, `candidate` and further columns.

    Also says whether the rows had no `candidate_id`: they are called c1, c2 and so on.

    Args:
        table: a path or a table with the column `candidate` or one of its synonyms.
        schema: the columns of the index to which these are added; None for a new one. A column that the
            table lacks is null.
        reading: where the texts stand. Columns that are searched hold texts, whatever is written there.

    Raises:
        UserError: there are no rows, a text is empty, an identifier occurs twice, or a column does not fit.
    """
    lines: Sequence[int] | None = None
    where, faults = "the table", Faults("the table", "row", reading.drop_bad_rows)
    is_text = isinstance(table, (str, Path)) and format_of(Path(table)) in (".csv", ".tsv")
    if isinstance(table, (str, Path)):
        where, every = str(table), EveryColumn(reading.theirs, labelled=False)
        table, lines, faults = read_table_file(Path(table), every, reading.drop_bad_rows, reading.sheet)
    table = _with_our_names(table, where, reading)
    numbered = "candidate_id" not in table.columns
    columns, rows = _checked(table, where, lines, faults)
    if len(rows) < len(table):
        table = table.iloc[rows]
    for name in table.columns.difference(list(columns), sort=False):
        columns[name] = _array(table[name], where)
    made = pa.table(columns)
    try:
        if is_text:
            made = _typed(made, schema, _searched(reading, made.column_names))
        return made if schema is None else _as_in(schema, made, where), numbered
    except pa.ArrowException as error:
        what = "a column is of another type than the index's, or the first table's"
        raise UserError(f"{where}: {what} ({error!s:.100}). Write it as there.") from error


def has_questions(schema: pa.Schema) -> bool:
    """Tell whether rows are an FAQ's, which have a text as their question."""
    return QUESTION in schema.names and schema.field(QUESTION).type in _TEXTS


def searched_columns(reading: Reading, schema: pa.Schema) -> list[str]:
    """Name the columns in which an index looks for a question's words: the question and the answer.

    A UserError refuses columns that were asked for and are not there, or hold no texts.
    """
    texts = [each.name for each in schema if each.type in _TEXTS]
    if reading.search is None:
        return [name for name in (QUESTION, "candidate") if name in texts]
    names = _searched(reading, schema.names)
    for name, own in zip(reading.search, names, strict=True):
        if own not in texts:
            raise UserError(
                f"the table has no column of texts {name!r} to search (found: {', '.join(texts)})."
            )
    return list(dict.fromkeys(names))


def _searched(reading: Reading, columns: Sequence[str]) -> list[str]:
    """Give the names that the columns which are searched have in an index of these columns."""
    # The table may have an answer beside its candidate: the name of a column that is there is that column's.
    there = {"question": QUESTION} | {plain_name(name): name for name in columns}
    names = []
    for name in reading.search or ():
        (own,) = reading.names_in_index([name])
        if own == "candidate" or own not in columns:
            own = there.get(plain_name(name), own)
        names.append(own)
    return names


def _with_our_names(table: pd.DataFrame, where: str, reading: Reading) -> pd.DataFrame:
    """Rename the columns that an index knows to `candidate_id` and `candidate`; others keep their names."""
    # Spreadsheets leave empty columns without a name behind.
    table = table.loc[:, [bool(str(name).strip()) for name in table.columns]]
    names = reading.names_in_index(table.columns)
    if reading.question_column != USUAL.question_column and QUESTION not in names:
        raise UserError(f"{where}: no column is called {reading.question_column!r}. See --question-column.")
    if "candidate" not in names:
        found = ", ".join(map(str, table.columns)) or "none"
        own = reading.candidate_column
        wanted = ("candidate", *CANDIDATE_SYNONYMS) if own is None else (own,)
        raise UserError(
            f"{where}: no column is called {', '.join(wanted)} (found: {found}). Rename one, or say with "
            "--candidate-column how it is named there."
        )
    table = table.set_axis(names, axis=1)
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise UserError(f"{where}: the column {twice[0]!r} occurs twice. {_ONCE}")
    return table


def _checked(
    table: pd.DataFrame, where: str, lines: Sequence[int] | None, faults: Faults
) -> tuple[dict[str, pa.Array], list[int]]:
    """Give the identifiers and texts, and the rows that they are of; a UserError names a wrong one."""
    # Each row is a question of its own, by whose number it is known again.
    numbers = list(map(str, range(len(table))))
    pairs = table.reindex(columns=["candidate", *table.columns.intersection(["candidate_id"])])
    pairs = pairs.assign(question=numbers, question_id=numbers)
    checked = check_table(pairs, where, lines, labelled=False, faults=faults)
    if "candidate_id" in table.columns:
        ids = checked["candidate_id"]
        refuse_ids(ids[ids.duplicated()], f"{where}: more than one row has")
    columns = {}
    for name in ("candidate_id", "candidate"):
        columns[name] = pa.array(checked[name].tolist(), pa.string())
    return columns, list(map(int, checked["question"]))


def _typed(rows: pa.Table, schema: pa.Schema | None, texts: Sequence[str]) -> pa.Table:
    """Give the further columns of a text format the types of an index, or their own; `texts` stay."""
    for place, name in enumerate(rows.column_names):
        if name in _OURS and name != QUESTION:
            continue
        kind = pa.string() if name in (QUESTION, *texts) else None
        if schema is not None and name in schema.names:
            kind = schema.field(name).type
        rows = rows.set_column(place, name, typed(rows[name].combine_chunks(), kind))
    return rows


def _as_in(schema: pa.Schema, rows: pa.Table, where: str) -> pa.Table:
    """Give the rows the columns and types of an index; says which columns they lack."""
    for name in rows.column_names:
        if name not in schema.names:
            what = f"the index, or the first table, has no column {name!r}"
            raise UserError(f"{where}: {what}. Leave it out, or build a new index.")
    lacking = [each for each in schema if each.name not in rows.column_names]
    if lacking:
        names = ", ".join("question" if each.name == QUESTION else each.name for each in lacking)
        say(f"{where}: its rows have no {names}, which the index, or the first table, has.")
    for each in lacking:
        rows = rows.append_column(each.name, pa.nulls(len(rows), each.type))
    return rows.select(schema.names).cast(schema)


def named(first: int, n: int) -> list[str]:
    """Name `n` rows by their numbers from `first` on: c1, c2 and so on."""
    return [f"c{number}" for number in range(first, first + n)]


def refuse_ids(ids: Sequence, what: str) -> None:
    """Raise a UserError that names identifiers, if there are any."""
    if len(ids):
        named = list(dict.fromkeys(map(str, ids)))
        shown = ", ".join(f"{name!r:.80}" for name in named[:_NAMED_AT_MOST])
        if len(named) > _NAMED_AT_MOST:
            shown += f" and {len(named) - _NAMED_AT_MOST:,} more"
        raise UserError(f"{what} the candidate_id {shown}. Give every answer its own.")


def _array(column: pd.Series, where: str) -> pa.Array:
    try:
        try:
            array = pa.Array.from_pandas(column)
        except (pa.ArrowException, OverflowError):
            array = None
        if array is None or isinstance(array.type, pa.BaseExtensionType):
            # Values of several types, of more than 64 bits, or of a type of pandas' own.
            array = pa.Array.from_pandas(column.astype(object).map(str, na_action="ignore"))
    except UnicodeEncodeError as error:
        raise UserError(f"{where}: the column {column.name!r} {HALF_CHARACTER}") from error
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if _holds_bytes(array.type):
        what = "holds bytes, which no output can show. Write it as text (UTF-8), or leave it out."
        raise UserError(f"{where}: the column {column.name!r} {what}")
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


def _holds_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _holds_bytes(kind.value_type)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return True
    return any(_holds_bytes(kind.field(place).type) for place in range(kind.num_fields))
