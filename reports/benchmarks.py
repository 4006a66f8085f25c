"""What pages say about the figures of the benchmarks."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.evaluation.records import read_study
from answer_ranking.reports.pages import render

_PIPELINES = ("pipelines.json", "pipelines_paraphrases.json")
"""The records of FAQs whose questions are the data sets' own, and of paraphrased ones."""
_PLAIN = ("bm25 in answer", "nearest in answer, points of hyperqa_squad")
"""Pipelines that stand on the page beside those that win."""
_STAGES = {"nearest": "nearest points", "bm25": "BM25", "both": "both, fused"}


def search_block(path: Path) -> str:
    """Write the part of the page on search that comes from the figures of `benchmarks/search.py`."""
    figures = read_study(path, {"points", "searches", "of_points", "extrapolated", "measured"})
    searches = pd.DataFrame.from_dict(figures["searches"], orient="index")
    stages = searches.index.to_series().str.partition(", then ")
    searches["stage"], searches["reranker"] = stages[0].map(_STAGES), stages[2]
    return render(
        "search.md.j2",
        figures=figures,
        searches=searches,
        sizes=_extrapolated(figures),
        picture=f"{path.stem}.png",
    )


def encoder_search_block(folder: Path) -> str:
    """Write how long a million answers take with the encoder, from two benchmarks' figures."""
    needed = {"points", "ranker", "searches", "of_points", "measured"}
    figures = read_study(folder / "search_minilm.json", needed)
    encoder = read_study(folder / "encoder.json", {"table"})
    rounds = encoder["table"]["encoder: one question"]["ours"]
    points = figures["of_points"]["norms of the ranker"]
    return render(
        "encoder_search.md.j2", figures=figures, points=points, encoder_ms=statistics.median(rounds)
    )


def _extrapolated(figures: dict) -> pd.DataFrame:
    """Give hours, memory and disk by the size of a collection; memory grows with the number of points."""
    sizes = {}
    for name, each in figures["extrapolated"].items():
        disk = each["bytes_on_disk"]
        growth = disk["points"] / figures["bytes_on_disk"]["points"]
        sizes[name] = {
            "hours": each["build_hours"],
            "memory_gb": figures["build_peak_bytes"] / 1e9 * growth,
            "disk_gb": sum(disk.values()) / 1e9,
            "quantised_gb": disk["ball"] / 1e9,
            "bm25_gb": disk["bm25"] / 1e9,
        }
    return pd.DataFrame.from_dict(sizes, orient="index")


def pipelines_block(folder: Path) -> str:
    """Write the part of the page on FAQs that comes from the records of `benchmarks/pipelines.py`."""
    needed = {"typos", "faqs", "rows"}
    figures, others = (read_study(folder / name, needed) for name in _PIPELINES)
    faqs, rows = (figures[name] + others[name] for name in ("faqs", "rows"))
    return render("pipelines.md.j2", typos=figures["typos"], faqs=faqs, shown=_shown(rows))


def _shown(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Choose the rows of each FAQ that a reader wants to see, and say why."""
    table = pd.DataFrame(rows)
    of_faq = table.groupby("faq")
    chosen, encoded = table["chosen"].astype(bool), table["encoder"].astype(bool)
    plain = table["mrr@10"].mask(encoded)
    reasons = {
        "chosen": chosen & encoded,
        "chosen without encoder": chosen & ~encoded,
        "best": table["mrr@10"] == of_faq["mrr@10"].transform("max"),
        "best with typos": table["mrr@10_typos"] == of_faq["mrr@10_typos"].transform("max"),
        "best without encoder": plain == plain.groupby(table["faq"]).transform("max"),
    }
    shown = []
    for number, row in enumerate(rows):
        why = [title for title, holds in reasons.items() if holds[number]]
        if why or row["pipeline"] in _PLAIN:
            shown.append({**row, "why": ", ".join(why)})
    return shown


def service_block(path: Path) -> str:
    """Write the part of the page on the service that comes from the figures of `benchmarks/service.py`."""
    needed = {"searches_per_second", "faults", "memory_growth", "measured"}
    return render("service.md.j2", figures=read_study(path, needed))


def speed_block(path: Path) -> str:
    """Write what a benchmark of training measured: our way beside the plain ways.

    Its record has a `table`: by work the rounds of `ours`, `plain` and `best_plain` in seconds, in which they
    took turns, and as `cause` where our time goes.
    """
    figures = read_study(path, {"table", "measured"})
    cells = [_speed_cells(work, row) for work, row in figures["table"].items()]
    causes = dict.fromkeys(row["cause"] for row in figures["table"].values())
    return render("speed.md.j2", cells=pd.DataFrame(cells), causes=causes, measured=figures["measured"])


def _speed_cells(work: str, row: dict[str, Any]) -> dict[str, str]:
    """Set a row of the table of speed as texts: medians, and the median ratio of the rounds."""
    rounds = {way: np.array(row[way]) for way in ("ours", "plain", "best_plain")}
    cells = {"work": work}
    for way, taken in rounds.items():
        cells[way.replace("_", " ")] = f"{np.median(taken):.3g} s"
    for way in ("plain", "best_plain"):
        cells[f"{way.replace('_', ' ')} / ours"] = f"{np.median(rounds[way] / rounds['ours']):.1f}"
    return cells


def cluster_block(path: Path) -> str:
    """Write the part of the page on clusters that comes from the figures of `benchmarks/cluster.py`."""
    needed = {"tasks", "seconds", "ratios", "kills", "lost", "doubled", "different"}
    return render("cluster.md.j2", figures=read_study(path, needed))
