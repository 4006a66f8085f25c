"""The help of commands, told by one process, so that each import is done once."""

import ast
import subprocess
import sys
from contextlib import contextmanager
from functools import cache

HEAVY = ("tensorflow", "keras", "spacy", "gensim", "matplotlib", "jax", "torch", "bm25s")
TELL = f"""
import contextlib, io, runpy, sys
for line in sys.stdin:
    sys.argv = [*line.split(), "--help"]
    printed, code = io.StringIO(), 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try: runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end: code = end.code or 0
    print(repr((code, printed.getvalue(), sorted(sys.modules.keys() & set({HEAVY})))), flush=True)
"""


@contextmanager
def help_teller(environment, **options):
    """Give a function of a command's words: exit code, help, and what is imported by then that is heavy."""
    words = [sys.executable, "-c", TELL]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    wide = {**environment, "COLUMNS": "120"}  # of more, tyro makes two columns
    with subprocess.Popen(words, env=wide, **pipes, **options) as teller:

        @cache
        def help_of(*command):
            print(*command, file=teller.stdin, flush=True)
            return ast.literal_eval(teller.stdout.readline())

        yield help_of
        teller.stdin.close()
