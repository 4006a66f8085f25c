"""Why a search takes as long as it does: the seconds of its parts, and sentences for the table of goals."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import seconds

from answer_ranking.ranking.search.index import AnswerIndex

_SHELL = """
import json, sys, time
marks = [time.perf_counter()]
from answer_ranking.ranking.search.index import AnswerIndex
marks.append(time.perf_counter())
index = AnswerIndex.open(sys.argv[1])
marks.append(time.perf_counter())
index.find(sys.argv[2], first_stage="nearest")
marks.append(time.perf_counter())
rows = dict(line.split(":") for line in open("/proc/self/smaps_rollup").readlines()[1:])
seconds = [after - before for before, after in zip(marks, marks[1:])]
parts = dict(zip(("imports", "opening", "search"), seconds))
print(json.dumps({**parts, "private_bytes": int(rows["Anonymous"].split()[0]) * 1024}))
"""


@contextmanager
def watched(spent: Counter[str], *methods: tuple[str, Any, str]) -> Iterator[None]:
    """Add up the seconds in methods of objects, each given by the part's name, the object and its name."""
    for part, owner, name in methods:
        setattr(owner, name, _timed(spent, part, getattr(owner, name)))
    try:
        yield
    finally:
        for _, owner, name in methods:
            delattr(owner, name)


def _timed(spent: Counter[str], part: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return method(*arguments, **options)
        finally:
            spent[part] += time.perf_counter() - start  # type: ignore[assignment]

    return timed


def searched_in_parts(index: AnswerIndex, questions: list[str], k: int) -> dict[str, list[float]]:
    """Search for the nearest answers, one question after the other; seconds of the whole and of its parts."""
    spent, rows = Counter[str](), []
    state, ranker = index._state, index.ranker
    search = state.searcher("nearest")._search  # type: ignore[attr-defined]
    methods = [
        ("words", ranker.open_vocabulary, "encode"),
        ("point", ranker, "_points_of"),
        ("exact", search, "nearest"),
        ("texts", state.segments, "take"),
    ]
    if search._quantised is not None:
        methods.append(("codes", search._quantised, "choose"))
    with watched(spent, *methods):
        for text in questions:
            spent.clear()
            whole = seconds(partial(index.search, text, k=k, first_stage="nearest"))
            rest = whole - sum(spent[name] for name in ("words", "point", "exact", "texts"))
            exact = spent["exact"] - spent["codes"]
            rows.append({**spent, "exact": exact, "rest": rest, "whole": whole})
    return pd.DataFrame(rows).to_dict("list")


def of_question(parts: dict[str, list[float]], quantile: float) -> str:
    """Say what a new question spends its time on."""
    at = {name: 1e3 * float(np.quantile(times, quantile)) for name, times in parts.items()}
    return (
        f"of {at['whole']:.1f} ms the codes of the points take {at.get('codes', 0):.1f}, the exact "
        f"comparison {at['exact']:.1f}, the texts of the answers {at['texts']:.1f}, the question's words "
        f"{at['words']:.1f} and its point {at['point']:.1f}, all else {at['rest']:.1f}"
    )


def of_points(figures: dict[str, Any]) -> str:
    """Say what the search in memory does that faiss' own index does not."""
    ours, stock = figures["chosen"], figures["stock"]["chosen"]
    codes = ours["codes_ms"]
    return (
        f"the codes alone take {codes:.1f} ms, the exact comparison {ours['median_ms'] - codes:.1f}; faiss' "
        f"index looks through {stock['lists']} of 1,024 lists, and is right for points of one norm alone"
    )


def of_first(figures: dict[str, float]) -> str:
    """Say what the search of the first points spends its time on."""
    codes = figures["codes_ms"]
    return f"the codes take {codes:.1f} ms, the exact comparison {figures['median_ms'] - codes:.1f}"


def of_encoding(encoding: dict[str, float]) -> str:
    """Say what the encoding of texts whose words are known spends its time on."""
    return (
        f"of {encoding['seconds']:.2f} s for {encoding['texts']:,} texts their words take "
        f"{encoding['words']:.2f}, their points {encoding['seconds'] - encoding['words']:.2f}"
    )


def of_long_list(long_list: dict[str, float]) -> str:
    """Say what the ranking of texts that were never seen spends its time on."""
    return (
        f"of {long_list['seconds']:.2f} s tokens and the vectors of new words take {long_list['words']:.2f}, "
        f"points and scores {long_list['scores']:.2f}; ranked again, the list takes "
        f"{long_list['seconds_again']:.2f}"
    )


def shell_parts(index: Path, question: str) -> dict[str, float]:
    """Measure what the command does, part by part, and the memory that is not that of mapped files."""
    command = [sys.executable, "-c", _SHELL, str(index), question]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def of_shell(shell: dict[str, Any]) -> str:
    """Say what a question from the shell spends its time and memory on."""
    parts = shell["parts"]
    rest = shell["seconds"] - parts["imports"] - parts["opening"] - parts["search"]
    peak, private = shell["peak_bytes"] / 1e9, parts["private_bytes"] / 1e9
    return (
        f"of {shell['seconds']:.1f} s the imports take {parts['imports']:.1f}, opening and checking the "
        f"index {parts['opening']:.1f}, the search {parts['search']:.1f}, Python and the command line "
        f"{rest:.1f}; of the peak of {peak:.1f} GB {private:.1f} are private, the others pages of mapped "
        "files, which the system may take back"
    )
