"""The table of speed: what was aimed at, what our way takes, and what the plain ways take.

    python benchmarks/table.py

It measures nothing: every row comes from the record that a benchmark has written, and says on which processor
and at which commit. "plain" is the plain way, "best plain" the fastest plain way that we know; a ratio is
plain against ours, the median over the rounds, in which the ways took turns. A row whose record is missing
says so, and one that misses its goal names the cause where one was measured.

A benchmark gives its rows as `table` in its record: by the row's name the rounds of `ours`, `plain` and
`best_plain`, unless they stand elsewhere in it (`Row.places`), and perhaps the `cause`.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import RESULTS, arguments, print_table, ratios

from answer_ranking.base.command import run_command
from answer_ranking.base.files import atomic_write

WAYS = ("ours", "plain", "best_plain")


@dataclass(frozen=True)
class Row:
    """A row of the table: its name, its goal, and where its figures are.

    `least` and `most` bound columns of the row, and the goal is reached where all of them hold. `places` says
    where the figures of a way are in a record that has no `table`, and further ones that a bound reads, such
    as `recall`: keys, one within the other.
    """

    name: str
    goal: str
    record: str
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    unit: str = "s"
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)


ROWS = (
    Row(
        "HyperQA epoch, WikiQA 450 -> 400",
        "0.27 s; 20 times plain, 12 times best plain",
        "hyperqa_epoch_wikiqa_450_400.json",
        least={"ratio": 20, "ratio_best": 12},
        most={"ours": 0.27},
    ),
    Row(
        "CTRN against LSTM, d = 512",
        "at least 5 times, batches of like length",
        "recurrent_epoch.json",
        least={"ratio_best": 5},
    ),
    Row(
        "CTRN against QRNN, d = 512",
        "at most 1.2 times QRNN's time",
        "recurrent_epoch.json",
        least={"ratio_best": 1 / 1.2},
    ),
    Row(
        "AP-CNN, 50 negatives",
        "at least 5 times, like for like",
        "attentive_pooling.json",
        least={"ratio": 5},
    ),
    Row(
        "Cosinet list BiRNN, whole training",
        "below 8 s",
        "cosinet_wikiqa.json",
        most={"ours": 8},
    ),
    Row(
        "Cosinet list BiRNN against CA list BiRNN",
        "at least 6 times",
        "cosinet_wikiqa.json",
        least={"ratio": 6},
    ),
    Row(
        "search, 1M, points in memory",
        "as fast as faiss' own IVF1024,PQ100x4fs,RFlat",
        "search.json",
        least={"ratio_best": 1},
        unit="ms",
        places={
            "ours": ("of_points", "norms of the ranker", "chosen", "median_ms"),
            "plain": ("of_points", "norms of the ranker", "flat_ms"),
            "best_plain": ("of_points", "norms of the ranker", "stock", "chosen", "median_ms"),
        },
    ),
    Row(
        "search, 1M, new question to ten answers, median",
        "at most 5 ms",
        "search.json",
        most={"ours": 5},
        unit="ms",
        places={"ours": ("searches", "nearest", "median_ms")},
    ),
    Row(
        "search, 1M, new question to ten answers, p95",
        "at most 10 ms",
        "search.json",
        most={"ours": 10},
        unit="ms",
        places={"ours": ("searches", "nearest", "p95_ms")},
    ),
    Row(
        "search of 200,000",
        "below 3 ms, recall at least 0.997",
        "search.json",
        least={"recall": 0.997},
        most={"ours": 3},
        unit="ms",
        places={
            "ours": ("of_points", "norms of the ranker", "first", "median_ms"),
            "recall": ("of_points", "norms of the ranker", "first", "recall_at_10"),
        },
    ),
    Row(
        "rank: texts a second",
        "at least 30,000 on two cores",
        "search.json",
        least={"ours": 30_000},
        unit="1/s",
        places={"ours": ("long_list", "texts_per_second")},
    ),
    Row(
        "index: texts a second",
        "at least 30,000 on two cores",
        "search.json",
        least={"ours": 30_000},
        unit="1/s",
        places={"ours": ("texts_encoded_per_second",)},
    ),
    Row(
        "encoder: texts a second",
        "at least 600 of 20 tokens on two cores",
        "encoder.json",
        least={"ours": 600},
        unit="1/s",
    ),
    Row(
        "encoder: one question",
        "at least 1.3 times as fast as with the matrices of the file",
        "encoder.json",
        least={"ratio": 1.3},
        unit="ms",
    ),
    Row(
        "one question from the shell among 1M",
        "below 1 s and 0.4 GB",
        "search.json",
        most={"ours": 1, "bytes": 400_000_000},
        places={"ours": ("shell", "seconds"), "bytes": ("shell", "peak_bytes")},
    ),
    Row(
        "import of the layers",
        "at most 1.1 times Keras' own",
        "install.json",
        least={"ratio": 1 / 1.1},
    ),
    Row(
        "pip install, without a backend",
        "below 150 MB, Keras included",
        "install.json",
        most={"ours": 150},
        unit="MB",
    ),
    Row(
        "service, 100,000 answers, 16 clients",
        "at least 500 a second",
        "service.json",
        least={"ours": 500},
        unit="1/s",
        places={"ours": ("searches_per_second",)},
    ),
    Row(
        "service, 100,000 answers, 16 clients, p99",
        "below 100 ms",
        "service.json",
        most={"ours": 100},
        unit="ms",
        places={"ours": ("p99_ms",)},
    ),
)


def main() -> None:
    """Assemble the rows, print them, and write them."""
    parser = arguments(__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of the records")
    options = parser.parse_args()
    rows = [assembled(row, options.results) for row in ROWS]
    print_table(["work", "goal", *WAYS, "ratio", "to best", "reached"], list(map(printed, rows)))
    for row in rows:
        if row["cause"]:
            print(f"{row['name']}: {row['cause']}")
    with atomic_write(options.results / "table.json") as file:
        json.dump({"rows": rows}, file, indent=1)


def assembled(row: Row, results: Path) -> dict[str, Any]:
    """Make a row of the table from its record."""
    path = results / row.record
    figures = json.loads(path.read_text()) if path.exists() else {}
    given = figures.get("table", {}).get(row.name, {})
    rounds = {way: given.get(way) or at(figures, row.places.get(way)) for way in WAYS}
    made: dict[str, Any] = {"name": row.name, "goal": row.goal, "unit": row.unit}
    for way, values in rounds.items():
        made[way] = statistics.median(values) if values else None
    # Where more is better, a ratio is turned round.
    slow_first = row.unit != "1/s"
    made["ratio"] = ratio(rounds["plain"], rounds["ours"], slow_first)
    made["ratio_best"] = ratio(rounds["best_plain"], rounds["ours"], slow_first)
    made["ranges"] = {way: [min(values), max(values)] for way, values in rounds.items() if values}
    for name in row.places.keys() - rounds.keys():
        made[name] = next(iter(at(figures, row.places[name])), None)
    made["reached"] = reached(row, made)
    made["cause"] = "" if made["reached"] else given.get("cause", "")
    if not rounds["ours"]:
        made["cause"] = f"not measured: {row.record} " + ("lacks it" if figures else "is missing")
    measured = figures.get("measured", {})
    made |= {name: measured.get(name) for name in ("processor", "gflops", "commit", "created")}
    return made


def at(figures: Any, keys: Sequence[str] | None) -> list[float]:
    """Look up a number by keys, one within the other; no number is an empty list."""
    if keys is None:
        return []
    for key in keys:
        figures = figures.get(key) if isinstance(figures, dict) else None
    return [] if figures is None else [figures]


def ratio(plain: Sequence[float], ours: Sequence[float], slow_first: bool) -> float | None:
    """Compare a plain way with ours: the median over the rounds, or that of medians without rounds."""
    if not plain or not ours:
        return None
    slow, fast = (plain, ours) if slow_first else (ours, plain)
    if len(slow) != len(fast):
        return statistics.median(slow) / statistics.median(fast)
    return statistics.median(ratios(slow, fast))


def reached(row: Row, made: Mapping[str, Any]) -> bool | None:
    """Tell whether a row keeps all its bounds; None where a figure is missing."""
    bounds = [(name, least, 1) for name, least in row.least.items()]
    bounds += [(name, most, -1) for name, most in row.most.items()]
    if any(made[name] is None for name, _, _ in bounds):
        return None
    return all(sign * made[name] >= sign * bound for name, bound, sign in bounds)


def printed(row: Mapping[str, Any]) -> list[Any]:
    """Lay a row out for the reader."""
    cells = [row["name"], row["goal"]]
    for way in WAYS:
        cells.append("" if row[way] is None else f"{row[way]:.4g} {row['unit']}")
    for name in ("ratio", "ratio_best"):
        cells.append("" if row[name] is None else f"{row[name]:.2f}")
    return [*cells, {True: "yes", False: "no", None: "not measured"}[row["reached"]]]


if __name__ == "__main__":
    run_command(main)
