"""The tables of an index: read one by one, checked against each other and cut into segments."""

import io
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from answer_ranking.base.errors import UserError, say
from answer_ranking.data_prep.table_files import SUFFIXES
from answer_ranking.data_prep.tables import read_label
from answer_ranking.ranking.search.answers import (
    QUESTION,
    Reading,
    answers_of,
    has_questions,
    named,
    refuse_ids,
)
from answer_ranking.ranking.search.passages import split_rows
from answer_ranking.ranking.search.segments import Part, to_parquet
from answer_ranking.ranking.search.state import State
from answer_ranking.ranking.search.tasks import map_items

Table: TypeAlias = str | Path | pd.DataFrame


@dataclass
class Shard:
    """A table that was read and checked."""

    schema: pa.Schema
    parts: list[Part]
    numbered: bool
    """Whether the rows had no `candidate_id`."""
    hashes: np.ndarray
    """Of the identifiers, uint64."""
    n_known: int = 0
    """How many rows were left out, whose texts the index has."""
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        self.rows = sum(part.rows for part in self.parts)


def tables_in(table: Table | Sequence[Table]) -> list[Path | pd.DataFrame]:
    """List tables: one or several, or for a folder its tables in the order of their names.

    Raises:
        UserError: a folder or a list has none, or a file does not exist.
    """
    if isinstance(table, pd.DataFrame):
        return [table]
    if not isinstance(table, (str, Path)):
        several = [each for part in table for each in tables_in(part)]
        if not several:
            raise UserError("there is no table of answers: the list is empty.")
        return several
    path = Path(table)
    if path.is_dir():
        found = sorted(
            each
            for each in path.iterdir()
            # Spark and others mark their folders by files such as _SUCCESS and .part-0.parquet.crc, and
            # Excel the files that are open, ~$faq.xlsx.
            if not each.name.startswith((".", "_", "~$"))
            and each.name.lower().removesuffix(".gz").endswith(SUFFIXES)
        )
        if not found:
            suffixes = ", ".join(SUFFIXES)
            raise UserError(f"{path} holds no table: none of its files ends in {suffixes}.")
        return list(found)
    return [path]


def read_shards(
    tables: Sequence[Path | pd.DataFrame],
    reading: Reading,
    ray: Any = None,
    now: State | None = None,
    known: np.ndarray | None = None,
) -> Iterator[Shard]:
    """Read tables in their order, here or in tasks of a cluster; no identifier may occur twice.

    The first table says which columns there are, or the index to which the tables are added.

    Args:
        tables: see `tables_in`.
        reading: how; a segment belongs to one table.
        ray: see `map_items`. The files are sent, so that they are needed on this machine alone.
        now: the state of the index to which the rows are added. Rows without `candidate_id` are numbered on.
        known: what `hashes_of_texts` gives for texts to leave out; None to add them again.

    Raises:
        UserError: a table cannot be read, or an identifier is there already.
    """
    # Sorted runs, each at least twice as long as the next: 0.8 GB for a hundred million, a tenth of a set.
    runs: list[np.ndarray] = []
    n_rows, shifts = 0, []
    if now is not None:
        left = np.delete(_hashes(now.ids()), now.deleted)
        runs, n_rows = [np.sort(left)], now.manifest.rows
    sent = ((table, _content(table) if ray is not None else None) for table in tables)
    first: list[Shard] = []
    schema = now.segments.schema if now is not None else None
    if schema is None:
        first = list(map_items(read_shard, (None, reading, known), itertools.islice(sent, 1), ray))
        schema = first[0].schema
    shards = itertools.chain(first, map_items(read_shard, (schema, reading, known), sent, ray))
    for number, shard in enumerate(shards):
        if shard.n_known:
            say(f"{shard.n_known:,} answers are in the index already, and are left out (--keep-duplicates).")
        shifts.append(n_rows if shard.numbered else 0)
        if shifts[-1]:
            shard.parts = [part._replace(shift=n_rows) for part in shard.parts]
            shard.hashes = _hashes(named(n_rows + 1, shard.rows))
        if any(_has(run, shard.hashes) for run in runs):
            _refuse_known(tables[: number + 1], shifts, now, reading, known)
        runs.append(np.sort(shard.hashes))
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
            runs.append(np.sort(np.concatenate([runs.pop(), runs.pop()]), kind="stable"))
        n_rows += shard.rows
        if shard.rows:
            yield shard


def read_shard(
    shared: tuple[pa.Schema | None, Reading, np.ndarray | None],
    table: tuple[Path | pd.DataFrame, bytes | None],
) -> Shard:
    """Read and check a table, or the content of its file, and cut it into parts of `chunk_rows`."""
    (schema, reading, known), (source, content) = shared, table
    if content is None or isinstance(source, pd.DataFrame):
        rows, numbered = answers_of(source, schema, reading)
    else:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / source.name
            copy.write_bytes(content)
            try:
                with redirect_stderr(io.StringIO()) as said:
                    rows, numbered = answers_of(copy, schema, reading)
            except UserError as error:
                raise UserError(str(error).replace(str(copy), str(source))) from error
            print(said.getvalue().replace(str(copy), str(source)), end="", file=sys.stderr)
    n_read = len(rows)
    rows = _without(known, rows, numbered)
    _say_what_is_kept(rows, numbered, "the table" if isinstance(source, pd.DataFrame) else source)
    n_known, hashes = n_read - len(rows), _hashes(rows["candidate_id"].to_pandas())
    if reading.passage_length:
        rows = split_rows(rows, reading.passage_length)
    size = reading.chunk_rows
    chunks = [rows.slice(start, size) for start in range(0, len(rows), size)]
    parts = [Part(to_parquet(chunk), len(chunk)) for chunk in chunks]
    return Shard(rows.schema, parts, numbered, hashes, n_known)


def _say_what_is_kept(rows: pa.Table, numbered: bool, where: str | Path) -> None:
    """Say of rows that a user may not expect in an index that they are there."""
    if "label" in rows.column_names:
        n_wrong = sum(read_label(value) == 0 for value in rows["label"].to_pylist())
        if n_wrong:
            say(
                f"{where}: {n_wrong:,} rows are labelled wrong, and are found as the others. Delete those "
                "that no question may have as its answer."
            )
    is_text = QUESTION not in rows.column_names or has_questions(rows.schema)
    if numbered and is_text:
        n_repeated = len(rows) - len(np.unique(hashes_of_texts(rows)))
        if n_repeated:
            say(f"{where}: {n_repeated:,} rows repeat the texts of another, and are found beside it.")


def ids_to_replace(
    tables: Sequence[Path | pd.DataFrame], reading: Reading, columns: Sequence[str]
) -> pd.Series:
    """Read the identifiers of answers; a UserError says that a table has none, or not all of the columns."""
    ids = []
    for table in tables:
        rows, numbered = answers_of(table, reading=reading)
        where = "the table" if isinstance(table, pd.DataFrame) else table
        if numbered:
            raise UserError(f"{where}: the column 'candidate_id' is missing, which says what to replace.")
        lacking = [name for name in columns if name not in rows.column_names]
        if lacking:
            names = ", ".join("question" if name == QUESTION else name for name in lacking)
            raise UserError(
                f"{where}: its rows have no {names}, which would be lost in what they replace. Give whole "
                "rows, or delete the answers and add these."
            )
        ids.append(rows["candidate_id"].to_pandas())
    return pd.concat(ids)


def hashes_of_texts(rows: pa.Table) -> np.ndarray:
    """Hash each answer with its question, uint64."""
    answers = rows["candidate"].to_pylist()
    if QUESTION not in rows.column_names:
        return _hashes(answers)
    questions = rows[QUESTION].cast(pa.string()).to_pylist()
    # A sign that is in no text: "Tea? Yes." and "No." are no "Tea?" and "Yes. No.".
    pairs = zip(questions, answers, strict=True)
    return _hashes([f"{question}\0{answer}" if question else answer for question, answer in pairs])


def _without(known: np.ndarray | None, rows: pa.Table, numbered: bool) -> pa.Table:
    """Leave out the rows whose texts are known, and number the others anew where they had no names."""
    if known is None:
        return rows
    fresh = rows.filter(pa.array(~np.isin(hashes_of_texts(rows), known)))
    if numbered:
        place = rows.schema.get_field_index("candidate_id")
        fresh = fresh.set_column(place, "candidate_id", pa.array(named(1, len(fresh)), pa.string()))
    return fresh


def _content(table: Path | pd.DataFrame) -> bytes | None:
    if isinstance(table, pd.DataFrame):
        return None
    try:
        return table.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"{table} does not exist. Check the path.") from error
    except OSError as error:
        raise UserError(f"cannot read {table}: {error.strerror or error}.") from error


def _hashes(ids: Sequence[str] | pd.Series) -> np.ndarray:
    return pd.util.hash_array(np.array(ids, object), categorize=False)


def _has(run: np.ndarray, hashes: np.ndarray) -> bool:
    """Say whether a sorted run has one of some hashes."""
    before, after = np.searchsorted(run, hashes), np.searchsorted(run, hashes, "right")
    return bool((after > before).any())


def _refuse_known(
    tables: Sequence[Path | pd.DataFrame],
    shifts: Sequence[int],
    now: State | None,
    reading: Reading,
    known: np.ndarray | None,
) -> None:
    """Refuse the last table if it has an identifier of the index or of another table, not only its hash."""
    ids = []
    for table, shift in zip(tables, shifts, strict=True):
        rows, numbered = answers_of(table, reading=reading)
        rows = _without(known, rows, numbered)
        own = named(shift + 1, len(rows)) if shift else rows["candidate_id"].to_pandas()
        ids.append(pd.Series(own))
    where = "the table" if isinstance(tables[-1], pd.DataFrame) else tables[-1]
    if now is not None:
        refuse_ids(ids[-1].drop(now.lacks(ids[-1]).index), f"{where}: the index has already")
    for table, others in zip(tables[:-1], ids[:-1], strict=True):
        other = "a table before it" if isinstance(table, pd.DataFrame) else table
        refuse_ids(ids[-1][ids[-1].isin(others)], f"{where}: {other} has already")
