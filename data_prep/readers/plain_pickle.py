"""Reading pickled plain values without running anything."""

import io
import pickletools
import sys
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError

# A tuple's hash follows the tuples inside it by recursion in C, so that deep ones could crash the program.
_DEEPEST = 20
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NUMBERS = frozenset({"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"})
_TEXTS = frozenset(
    {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
)
_BYTES = frozenset({"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"})
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
_CONTAINERS = ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE", "LIST", "DICT", "TUPLE", *_TUPLES)
_MARK = object()
# What may be built whatever the length of the file, and what each thing costs, in bytes of the file.
_GRANTED = 400_000
_COSTS = dict.fromkeys((*_CONTAINERS, *_PUTS), 4)


def load_plain_pickle(content: bytes, where: str | Path) -> object:
    """Read a pickle that holds nothing but dictionaries, lists, tuples, texts, numbers, booleans and None.

    A pickle is a program, and `pickle.load` runs it. Here the standard library's `pickletools` decodes the
    instructions and only those that build such values are followed; there is no instruction that looks up a
    name, calls, sets an attribute, or asks for persistent objects, and a place in the memo costs no more than
    its entry. What `pickle.Unpickler` with its own `find_class` would still allow (a memo of any size, tuples
    nested until their hash overflows the stack, one huge key used again and again) is refused, too: what is
    built may not cost more than the file is long. Byte strings of Python 2 become str.
    """
    left = _GRANTED + len(content)
    stack: list = []
    memo: dict[int, object] = {}
    depth_of: dict[int, int] = {}  # of the tuples that are alive in `keep`
    keep: list[tuple] = []

    def since_mark() -> list:
        for i in range(len(stack) - 1, -1, -1):
            if stack[i] is _MARK:
                items = stack[i + 1 :]
                del stack[i:]
                return items
        raise IndexError("no mark")

    def spend(cost: int) -> None:
        nonlocal left
        left -= cost
        if left < 0:
            raise ValueError("it builds more than a file of its length can hold")

    def put(target: dict, key: Any, value: object) -> None:
        items = key if type(key) is tuple else (key,)
        if any(type(item) is tuple for item in items):
            raise ValueError("a key is a tuple of tuples")
        # Python may go through all of a key each time that it looks it up.
        spend(len(items) + sum(map(sys.getsizeof, items)) // 16)
        target[key] = value

    def make_tuple(items: list) -> tuple:
        made = tuple(items)
        depth = 1 + max((depth_of[id(item)] for item in items if type(item) is tuple), default=0)
        if depth > _DEEPEST:
            raise ValueError(f"tuples are nested more than {_DEEPEST} deep")
        if id(made) not in depth_of:
            depth_of[id(made)] = depth
            keep.append(made)
        return made

    def top(kind: type) -> Any:
        if type(stack[-1]) is not kind:
            raise TypeError(f"{kind.__name__} expected")
        return stack[-1]

    def plain(items: list) -> list:
        if any(item is _MARK for item in items):
            raise ValueError("a mark is out of place")
        return items

    try:
        argument: Any
        for operation, argument, _ in pickletools.genops(io.BytesIO(content)):
            name = operation.name
            spend(_COSTS.get(name, 0))
            if name in _TEXTS:
                stack.append(argument if isinstance(argument, str) else argument.decode("utf-8"))
                if name in ("STRING", "BINSTRING", "SHORT_BINSTRING") and not argument.isascii():
                    # pickletools gives these byte strings as Latin-1.
                    stack[-1] = argument.encode("latin-1").decode("utf-8")
            elif name in _NUMBERS or name in _BYTES:
                stack.append(argument)
            elif name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            elif name in _PUTS:
                memo[len(memo) if name == "MEMOIZE" else argument] = plain([stack[-1]])[0]
            elif name in ("GET", "BINGET", "LONG_BINGET"):
                stack.append(memo[argument])
            elif name == "MARK":
                stack.append(_MARK)
            elif name in ("EMPTY_LIST", "EMPTY_DICT"):
                stack.append([] if name == "EMPTY_LIST" else {})
            elif name == "EMPTY_TUPLE":
                stack.append(make_tuple([]))
            elif name == "LIST":
                stack.append(since_mark())
            elif name == "TUPLE":
                stack.append(make_tuple(since_mark()))
            elif name in _TUPLES:
                items = plain(stack[-_TUPLES[name] :])
                if len(items) < _TUPLES[name]:
                    raise IndexError("the stack is empty")
                del stack[-_TUPLES[name] :]
                stack.append(make_tuple(items))
            elif name == "APPEND":
                (item,) = plain([stack.pop()])
                top(list).append(item)
            elif name == "APPENDS":
                items = since_mark()
                top(list).extend(items)
            elif name in ("DICT", "SETITEMS"):
                items = since_mark()
                if name == "DICT":
                    stack.append({})
                for key, value in zip(items[::2], items[1::2], strict=True):
                    put(top(dict), key, value)
            elif name == "SETITEM":
                key, value = plain([stack.pop(-2), stack.pop()])
                put(top(dict), key, value)
            elif name == "POP":
                stack.pop()
            elif name == "POP_MARK":
                since_mark()
            elif name == "DUP":
                stack.append(plain([stack[-1]])[0])
            elif name == "STOP":
                if len(stack) != 1:
                    raise ValueError("values are left over")
                return plain(stack)[0]
            elif name not in ("PROTO", "FRAME"):
                shown = f"{name} {argument}"[:80] if argument is not None else name
                raise UserError(
                    f"{where}: the pickle holds more than plain values ({shown}). It is not read, for "
                    "reading it could run a program. Fetch the file from its source."
                )
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise UserError(f"{where}: not a whole pickle ({error!r:.100}). Fetch the file again.") from error
    raise UserError(f"{where}: not a whole pickle. Fetch the file again.")
