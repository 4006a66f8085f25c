"""What the benchmarks share: options, ways by turns, processes of their own, ratios, the file of figures."""

import argparse
import json
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.files import atomic_write, check_writable
from answer_ranking.data_prep.dataset import find_description

RESULTS = Path(__file__).parent / "results"
"""The folder of the records."""
# Options that do not say what is measured.
_PLACES = ("output", "draw")


def at_least(least: int) -> Callable[[str], int]:
    """Make the type of an option for whole numbers from the least one."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}. Received: {text}")
        return int(text)

    return number


COUNT = at_least(1)
"""The type of options that count something."""


def arguments(page: str, record: str = "") -> argparse.ArgumentParser:
    """Begin a parser whose help shows the benchmark's docstring; `record` names the usual file of figures."""
    parser = argparse.ArgumentParser(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)
    if record:
        about = f"file of the figures (default: benchmarks/results/{record})"
        parser.add_argument("--output", type=Path, default=RESULTS / record, help=about)
    return parser


def model_arguments(page: str, dataset: str, rounds: int, record: str = "") -> argparse.ArgumentParser:
    """Begin the parser of a benchmark of models; without `record` figures are written where --output says."""
    parser = arguments(page, record)
    about = f"data set (default {dataset}; sample is bundled)"
    parser.add_argument("--dataset", default=dataset, help=about)
    add_counts(parser, rounds=(rounds, "how often the ways take turns"))
    if not record:
        parser.add_argument("--output", type=Path, help="also write the figures to this JSON file")
    return parser


def add_counts(parser: argparse.ArgumentParser, **counts: tuple[int, str]) -> None:
    """Add options that count something: by name the usual number, and what is counted."""
    for name, (usual, about) in counts.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=COUNT, default=usual, help=f"{about} (default: {usual:,})")


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the options; unknown data sets and files that cannot be written are refused at once."""
    options = parser.parse_args()
    if "dataset" in options:
        find_description(options.dataset)
    if options.output is not None:
        check_writable(options.output.parent)
    return options


def changed(options: argparse.Namespace, **values: Any) -> argparse.Namespace:
    """Copy options with other values of some."""
    return argparse.Namespace(**{**vars(options), **values})


def in_own_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, whose memory and compiled graphs are its own, too."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def by_turns(rounds: int, ways: Mapping[str, Callable[[], Any]]) -> dict[str, list[Any]]:
    """Call every way once a round, so that a drifting machine does not blur ratios; give what they return."""
    results: dict[str, list[Any]] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            results.setdefault(name, []).append(way())
    return results


def seconds(work: Callable[[], Any]) -> float:
    """Time a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def milliseconds(times: Sequence[float]) -> dict[str, float]:
    """Give the median, the 95th and the 99th percentile of times in seconds."""
    median, p95, p99 = np.quantile(times, (0.5, 0.95, 0.99)).tolist()
    return {"median_ms": 1e3 * median, "p95_ms": 1e3 * p95, "p99_ms": 1e3 * p99}


def products_alone(words: Sequence[int], inputs: int, outputs: int) -> Callable[[], None]:
    """Make the function that does the matrix products of a layer alone, with random numbers.

    A batch has so many `words`, each with `inputs` numbers in its window. Forward, and for the kernel's
    gradient, and no others, since word vectors are frozen.
    """
    import tensorflow as tf

    kernel, epoch = tf.random.normal((inputs, outputs)), []
    for number in words:
        epoch.append((tf.random.normal((number, inputs)), tf.random.normal((number, outputs))))

    def multiply() -> None:
        for windows, gradients in epoch:
            tf.matmul(windows, kernel)
            last = tf.matmul(windows, gradients, transpose_a=True)
        last.numpy()

    return multiply


def gradient_ends(tape, loss, weights) -> list:
    """Give one number of each gradient, which keeps them all from being pruned out of a graph."""
    import tensorflow as tf

    return [tf.reshape(gradient, (-1,))[0] for gradient in tape.gradient(loss, weights)]


def ratios(slow: Sequence[float], fast: Sequence[float]) -> list[float]:
    """Divide round by round."""
    return [a / b for a, b in zip(slow, fast, strict=True)]


def in_words(ratios: Sequence[float]) -> str:
    """Write the median of ratios, and those of all rounds."""
    rounds = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return f"{statistics.median(ratios):.2f} (rounds: {rounds})"


def print_table(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; whole numbers get their commas, others three digits."""
    from answer_ranking.evaluation.tables import text_table

    cells = [list(map(_cell, row)) for row in rows]
    print(text_table(list(map(str, header)), cells))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        digits = 3 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Give the options as a record of figures has them."""
    return {name: value for name, value in vars(options).items() if name not in _PLACES}


def write_figures(path: str | Path | None, figures: Mapping[str, Any]) -> None:
    """Write figures to a JSON file, if one is named, with command, commit, processor and versions."""
    if path is None:
        return
    from answer_ranking.evaluation.records import made_by, without_paths

    program, *words = sys.argv
    command = ["python", f"benchmarks/{Path(program).name}", *without_paths(words)]
    measured = {"command": shlex.join(command), **made_by()}
    with atomic_write(path) as file:
        json.dump({**figures, "measured": measured}, file, indent=1)
