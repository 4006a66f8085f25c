"""The cards of the rankers that come with the package: their figures beside BM25, and which to take."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.evaluation.card_metrics import RRF_CONSTANT
from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.metrics import strictest
from answer_ranking.evaluation.records import read_studies
from answer_ranking.evaluation.tables import format_measured
from answer_ranking.reports.pages import render

RANKERS = {
    "preset": "the preset",
    "cosine": "the encoder's cosine",
    "bm25": "BM25",
    "fusion": "the fusion with BM25",
}
"""What a card compares, in the order of its tables; only a preset on an encoder has that encoder's cosine."""
_MEASURED = ("seed", "epoch", "dev_map", "dev_mrr@10")
_NEEDED = (
    *("command", "name", "model", "data", "word_vectors"),
    *("trials", "chosen", "conditions", "size"),
)

Card = Mapping[str, Any]


def read_cards(folder: Path) -> dict[Path, dict[str, Any]]:
    """Read the cards of a folder of presets, by their paths."""
    return read_studies(folder, _NEEDED, "*/card.json")


def card_page(card: Card) -> str:
    """Write a card as a page."""
    varied = [name for name in card["trials"][0] if name not in _MEASURED]
    page = render(
        "preset_card.md.j2",
        card=card,
        best=best_rankers(card),
        rankers=_rankers(card["conditions"][0]) | {"preset": card["name"]},
        varied=varied,
        seen={each["title"]: each["seen"] for each in card["conditions"]},
        significant=SIGNIFICANT,
        fusion=RRF_CONSTANT,
    )
    return f"{page}\n"


def presets_block(folder: Path) -> str:
    """Write the part of the page on the presets that comes from their cards.

    Example:
        >>> presets_block(Path("/nowhere"))
        'There are no presets.'
    """
    cards = list(read_cards(folder).values())
    return render(
        "presets.md.j2",
        cards=cards,
        figures=_figures(cards),
        best={card["name"]: best_rankers(card) for card in cards},
        significant=SIGNIFICANT,
    )


def best_rankers(card: Card) -> dict[str, list[str]]:
    """Find the rankers that no other one beats significantly, and the data sets where they are the same ones.

    Of a data set with several protocols the strictest speaks.
    """
    by_title: dict[str, dict[str, Mapping[str, Any]]] = {}
    for each in card["conditions"]:
        by_title.setdefault(each["title"], {})[each["protocol"]] = each
    titles: dict[str, list[str]] = {}
    for title, conditions in by_title.items():
        best = _unbeaten(conditions[strictest(conditions)])
        titles.setdefault(" or ".join(best), []).append(title)
    return titles


def _rankers(condition: Mapping[str, Any]) -> dict[str, str]:
    return {name: title for name, title in RANKERS.items() if name in condition["metrics"]}


def _figures(cards: Sequence[Card]) -> pd.DataFrame:
    """Set the cards side by side: a row for each data set and protocol; a card may lack some."""
    rows: dict[str, dict[str, str]] = {}
    for card in cards:
        name = f"`{card['name']}`"
        titles = {
            "preset": name,
            "fusion": f"{name}, fused",
            "cosine": "the encoder's cosine",
            "bm25": "BM25",
        }
        for each in card["conditions"]:
            row = rows.setdefault(f"{each['title']}, {each['protocol']}", {})
            for ranker in ("bm25", "preset", "fusion", "cosine"):
                if found := each["metrics"].get(ranker):
                    figures = f"{format_measured(found['map'])} / {found['mrr']['mean']:.3f}"
                    row.setdefault(titles[ranker], figures)
    frame = pd.DataFrame.from_dict(rows, orient="index").fillna("")
    return frame.rename_axis("MAP / MRR on").reset_index()


def _unbeaten(condition: Mapping[str, Any]) -> list[str]:
    found = _rankers(condition)
    for a, b in permutations(_rankers(condition), 2):
        if _beats(condition, a, b):
            found.pop(b, None)
    return list(found.values())


def _beats(condition: Mapping[str, Any], a: str, b: str) -> bool:
    """Tell whether the first ranker is significantly better than the second."""
    tests = condition["p"]
    p = tests[f"{a} - {b}"] if f"{a} - {b}" in tests else tests[f"{b} - {a}"]
    metrics = condition["metrics"]
    return metrics[a]["map"]["mean"] > metrics[b]["map"]["mean"] and p < SIGNIFICANT
