"""Reading pickled plain values without running anything."""

import io
import pickle
import pickletools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError, damaged

_MOST_BYTES = 2**28
# What may be built whatever the length of the file, and what each thing costs, in bytes of the file.
_GRANTED = 400_000
_COST = 4
_COSTLY = """
    EMPTY_LIST EMPTY_DICT EMPTY_TUPLE LIST DICT TUPLE TUPLE1 TUPLE2 TUPLE3
    PUT BINPUT LONG_BINPUT MEMOIZE
"""
_FREE = """
    PROTO FRAME STOP MARK POP POP_MARK DUP APPEND APPENDS SETITEM SETITEMS GET BINGET LONG_BINGET
    NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
    BINBYTES SHORT_BINBYTES BINBYTES8
"""
_Step = Callable[[Any], None]


def load_plain_pickle(content: bytes, where: str | Path) -> object:
    """Read a pickle that holds nothing but dictionaries, lists, tuples, texts, numbers, booleans and None.

    A pickle is a program, and `pickle.load` runs it. Here only the instructions that build such values are
    followed; there is none that looks up a name, calls, sets an attribute, or asks for persistent objects.
    What is built may not cost more than the file is long. Byte strings of Python 2 become str.
    """
    if len(content) > _MOST_BYTES:
        raise UserError(f"{where} has more than {_MOST_BYTES:,} bytes. Fetch it from its source.")
    unpickler = _PlainUnpickler(content)
    try:
        value = unpickler.load()
        if unpickler.stack or unpickler.metastack:
            raise ValueError("values are left over")
    except _NotPlainError as error:
        raise UserError(
            f"{where}: the pickle holds more than plain values ({error}). It is not read, for "
            "reading it could run a program. Fetch the file from its source."
        ) from error
    except Exception as error:  # what the standard library raises for a damaged file may be anything
        raise damaged(where, f"not a whole pickle ({error!r:.100})") from error
    return value


class _NotPlainError(Exception):
    """An instruction that builds more than plain values; the text names it."""


class _PlainUnpickler(pickle._Unpickler):
    """The standard library's unpickler in Python, without the instructions that do more than build values.

    That in C takes memory for all places of the memo below the highest, and hashes keys before they can be
    looked at: a tuple's hash follows the tuples inside it until the stack overflows.
    """

    stack: list[Any]
    metastack: list[list[Any]]

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self._left = _GRANTED + len(content)

    def spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise ValueError("it builds more than a file of its length can hold")

    def check_keys(self, keys: Iterable[Any]) -> None:
        """Refuse tuples of tuples as keys; a key that is looked up is gone through from end to end."""
        for key in keys:
            parts = key if type(key) is tuple else (key,)
            if tuple in map(type, parts):
                raise ValueError("a key is a tuple of tuples")
            self.spend(len(parts) + sum(map(sys.getsizeof, parts)) // 16)


def _refusal(name: str) -> _Step:
    def refuse(_: Any) -> None:
        raise _NotPlainError(name)

    return refuse


def _paid(step: _Step) -> _Step:
    def pay(unpickler: Any) -> None:
        unpickler.spend(_COST)
        step(unpickler)

    return pay


def _with_checked_keys(step: _Step, keys: slice) -> _Step:
    def check(unpickler: Any) -> None:
        unpickler.check_keys(unpickler.stack[keys])
        step(unpickler)

    return check


def _plain_steps() -> dict[int, _Step]:
    """Give what each instruction does, by its code."""
    steps: dict[int, _Step] = {}
    for instruction in pickletools.opcodes:
        code, name = ord(instruction.code), instruction.name
        step = pickle._Unpickler.dispatch[code]
        if name in _COSTLY.split():
            step = _paid(step)
        elif name not in _FREE.split():
            step = _refusal(name)
        # The stack begins at the last mark.
        if name in ("DICT", "SETITEMS"):
            step = _with_checked_keys(step, slice(0, None, 2))
        elif name == "SETITEM":
            step = _with_checked_keys(step, slice(-2, -1))
        steps[code] = step
    return steps


_PlainUnpickler.dispatch = _plain_steps()
