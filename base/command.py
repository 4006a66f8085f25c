"""What all command lines have in common."""

import errno
import io
import os
import signal
import sys
from collections.abc import Callable

from answer_ranking.base.errors import UserError, say
from answer_ranking.base.extras import missing

_NO_MEMORY = (
    "there is too little memory{}. Close other programs, give less at a time "
    "(a part of the table, a smaller --batch-size), or use a machine with more."
)


def run_command(main: Callable[[], object]) -> None:
    """Run a command line's main function and exit.

    The exit code is 2 after a `UserError`, too little memory, a missing extra, or an `OSError` that names a
    file, printed as `error: ...`; 130 after an interruption from the keyboard and 143 after SIGTERM, which
    end the program in the same orderly way; else the number that `main` returns, or 0 for anything that is
    no number.
    """
    received: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    # A terminal that has no sign for a character shows its number; a file must not have that for a text.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and (stream.isatty() or stream is sys.stderr):
            stream.reconfigure(errors="backslashreplace")
    # A shell's background job ignores the keyboard's interruption.
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, interrupt)
    try:
        code = _run(main)
    except BrokenPipeError:
        # `... | head` closed the pipe.
        _give_up_output()
        code = 141
    except BaseException as error:
        message = _message(error)
        # TensorFlow's libraries turn an interruption of their import into an ImportError.
        if message is None and not received and not isinstance(error, KeyboardInterrupt):
            raise
        if message is None:
            code = 128 + (received or [signal.SIGINT])[0]
        else:
            say(f"error: {message}")
            code = 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    sys.exit(code if isinstance(code, int) else 0)


def _run(main: Callable[[], object]) -> object:
    """Run a command to its last line; without memory what it holds is let go before the error goes on.

    This function is short on purpose. Python 3.11 needs memory to enter a handler beyond a function's first
    256 instructions, and without any it tries for ever.
    """
    try:
        code = main()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except MemoryError as error:
        error.__traceback__ = error.__context__ = None
        raise


def _message(error: BaseException) -> str | None:
    """Say of an error that the user can mend what to do; None for another one."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return missing((error.name or "").partition(".")[0]) or None
    # pyarrow's and NumPy's are MemoryErrors, too; TensorFlow is not imported for the name of its own.
    if isinstance(error, MemoryError):
        why = " ".join(str(error).split())
        return _NO_MEMORY.format(f" ({why:.200})" if why else "")
    if type(error).__name__ == "ResourceExhaustedError":
        return _NO_MEMORY.format("")
    # In UTF-8 it is half a character, which no output's encoding has.
    if isinstance(error, UnicodeEncodeError) and error.encoding != "utf-8":
        what = f"cannot write {error.object[error.start]!a} in the output's encoding"
        return f"{what}: set PYTHONIOENCODING=utf-8."
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        _give_up_output()
        return f"cannot write: {error.strerror}. Free space."
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}. Check the path and who may use it."
    return None


def _give_up_output() -> None:
    """Lead the output nowhere: Python flushes it at the end, and would fail again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
