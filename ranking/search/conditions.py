"""Which rows of an index a search may find: conditions on its columns, such as "year>=2001"."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.tables import HALF_CHARACTER

Where: TypeAlias = Mapping[str, Any] | Sequence[str]
"""Values by their columns, where None stands for a missing one, or conditions as texts."""

_COMPARED = re.compile(r"(.+?)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_MISSING = re.compile(r"(.+?)\s+is\s+(not\s+)?missing\s*", re.IGNORECASE)
_FUNCTIONS = {
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
# Letters have the order of time in these alone; not so "10,50", "6.1.2024" and a time with a zone.
_DAY_OR_TIME = re.compile(r"\d{4}-\d\d(-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)?")
_MEASURE = re.compile(r"[-+]?\s*[$€£¥]?\s*[-+]?[.,]?\d")
_MOST_VALUES = 10_000
_NAMED_AT_MOST = 5
_SEVERAL = (Sequence, np.ndarray, set, frozenset, pd.Series, pd.Index)


class Condition(NamedTuple):
    """What must hold of a column."""

    column: str
    operator: str
    """ "in", "missing", "not missing", or one of `_FUNCTIONS`."""
    value: Any = None
    """With "in", the values of which it has one."""

    def holds(self, column: pa.ChunkedArray) -> np.ndarray:
        """Say of which rows it holds, bool `(rows,)`; a missing value is none, and not equal to any.

        Text, such as "3", is read as the column's type; a UserError says that a value is none of this type,
        or that numbers or dates are to be ordered in a column of texts, where "100" comes before "50".
        """
        if self.operator == "missing":
            return column.is_null().to_numpy()
        if self.operator == "not missing":
            return column.is_valid().to_numpy()
        if self.operator not in ("in", "!=") and _is_measure(self.value):
            self._refuse_texts(column)
        try:
            if self.operator == "in":
                return pc.is_in(column, _as(self.value, column.type)).to_numpy()
            met = _FUNCTIONS[self.operator](column, _as([self.value], column.type)[0])
            return met.fill_null(self.operator == "!=").to_numpy()
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            values = self.value if self.operator == "in" else [self.value]
            shown = ", ".join(f"{value!r:.80}" for value in values[:_NAMED_AT_MOST])
            what = f"the column {self.column!r} cannot be compared with {shown}"
            why = f"a text {HALF_CHARACTER}" if isinstance(error, UnicodeEncodeError) else f"{error}."
            raise UserError(f"{what}: {why}") from error

    def _refuse_texts(self, column: pa.ChunkedArray) -> None:
        """Raise a UserError for a column of texts, and name one that is no number or date."""
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return
        texts = [text for text in column.unique().to_pylist() if text is not None]
        example = next((text for text in texts if not _is_number(text)), "".join(texts[:1]))
        raise UserError(
            f"the column {self.column!r} holds texts, such as {example!r:.80}, which are not ordered as "
            f"numbers or dates: {self.operator}{self.value} says nothing of them. Write a number (10.5), a "
            "day (2024-01-31) or a time without a zone into each of its cells, or nothing, and build the "
            "index again."
        )


def conditions_of(where: Where) -> list[Condition]:
    """Read conditions; values that one column may have are alternatives.

    A UserError says that a text is no condition, or that there are too many values.

    Example:
        >>> conditions_of(["topic=food", "topic = law", "year>=2001"])[0]
        Condition(column='topic', operator='in', value=['food', 'law'])
    """
    if isinstance(where, Mapping):
        listed = [Condition(name, "in", _listed(value)) for name, value in where.items()]
        _check_number(sum(len(condition.value) for condition in listed))
        return listed
    where = [where] if isinstance(where, str) else where
    _check_number(len(where))
    conditions: dict[str, Condition] = {}
    for text in where:
        read = _read(text)
        before = conditions.get(read.column) if read.operator == "in" else None
        if before is not None:
            read = read._replace(value=before.value + read.value)
        conditions[read.column if read.operator == "in" else text] = read
    return list(conditions.values())


def _read(text: str) -> Condition:
    if found := _COMPARED.fullmatch(text):
        name, operator, value = (part.strip() for part in found.groups())
        if value.startswith(("=", "<", ">")):
            raise UserError(
                f"{text!r:.80} is not a condition. Write {name:.40}=value, != for <>, <= for =<, >= for =>."
            )
        return Condition(name, "in", [value]) if operator == "=" else Condition(name, operator, value)
    if found := _MISSING.fullmatch(text):
        return Condition(found[1].strip(), "not missing" if found[2] else "missing")
    raise UserError(
        f"{text!r:.80} is not a condition. Write column=value, !=, <, <=, > or >=, or 'column is missing' "
        "(or not missing)."
    )


def _is_measure(value: Any) -> bool:
    """Say whether a value is a number or a date whose order is not that of its letters."""
    if _is_number(value):
        return True
    text = value.strip() if isinstance(value, str) else ""
    return bool(_MEASURE.match(text)) and not _DAY_OR_TIME.fullmatch(text)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, _SEVERAL) and not isinstance(value, str) else [value]


def _check_number(n_values: int) -> None:
    if n_values > _MOST_VALUES:
        raise UserError(f"conditions may have {_MOST_VALUES:,} values. Received: {n_values:,}")


def _as(values: Sequence[Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Cast values, those of one type at once; of several types, these come in the order of their first."""
    by_type: dict[type, list[Any]] = defaultdict(list)
    for value in values:
        by_type[type(value)].append(value)
    return pa.chunked_array([pa.array(own).cast(kind) for own in by_type.values()], kind)


def check_columns(conditions: Iterable[Condition], known: Sequence[str]) -> None:
    """Raise a UserError if a condition names a column that an index has not."""
    for condition in conditions:
        if condition.column not in known:
            columns = ", ".join(known)
            raise UserError(f"the index has no column {condition.column!r}: it has {columns}.")
