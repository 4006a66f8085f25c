"""The cards of the rankers that come with the package: their figures beside BM25, and which to take."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.metrics import (
    METRICS,
    mean_confidence_interval,
    questions_that_count,
    strictest,
)
from answer_ranking.evaluation.records import read_study
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test
from answer_ranking.evaluation.tables import METRIC_TITLES, format_measured, markdown_table, wrapped

RANKERS = {"preset": "the preset", "bm25": "BM25", "fusion": "the fusion of both"}
"""What a card compares, in the order of its tables."""
FUSION = 60
_METRICS = METRICS[:3]
_NEEDED = ("command", "name", "model", "data", "word_vectors", "trials", "chosen", "conditions", "size")


def fuse(question_ids: Sequence[str], *scores: np.ndarray) -> np.ndarray:
    """Add up 1 / (60 + rank) over several rankings of each question's candidates (Cormack et al., 2009).

    All arguments are parallel, an entry per candidate; equal scores share the mean of their ranks.

    Example:
        >>> fuse(["q", "q"], np.array([2.0, 1.0]), np.array([5.0, 5.0])).round(5).tolist()
        [0.03265, 0.03239]
    """
    questions = pd.factorize(np.asarray(question_ids, object))[0]
    ranks = (pd.Series(each).groupby(questions).rank(ascending=False).to_numpy() for each in scores)
    return np.sum([1 / (FUSION + each) for each in ranks], axis=0)


def compare(tables: Mapping[str, pd.DataFrame], rule: str) -> dict[str, Any]:
    """Compare rankers on the questions that count: the fields of a card's condition that hold figures.

    `tables` are of `evaluate_ranking`, by ranker; intervals are 95 % t intervals over the questions, p the
    paired randomisation tests of their average precision, not yet corrected.
    """
    counted = {name: table[questions_that_count(table, rule)] for name, table in tables.items()}

    def interval(values: pd.Series) -> dict[str, float]:
        return dict(zip(("mean", "ci95"), mean_confidence_interval(values), strict=True))

    return {
        "questions": len(next(iter(counted.values()))),
        "metrics": {name: {m: interval(table[m]) for m in _METRICS} for name, table in counted.items()},
        "p": {
            f"{a} - {b}": paired_randomisation_test(counted[a]["map"], counted[b]["map"])
            for a, b in combinations(counted, 2)
        },
    }


def correct_for_number(conditions: Sequence[dict[str, Any]]) -> None:
    """Correct the p-values of all conditions of a card together, after Holm."""
    places = [(condition["p"], pair) for condition in conditions for pair in condition["p"]]
    corrected = holm_correction([p[pair] for p, pair in places]).tolist()
    for (p, pair), value in zip(places, corrected, strict=True):
        p[pair] = value


def advice(card: Mapping[str, Any]) -> str:
    """Name for each data set the rankers that no other one beats significantly."""
    by_title: dict[str, list[Mapping[str, Any]]] = {}
    for each in card["conditions"]:
        by_title.setdefault(each["title"], []).append(each)
    titles_of: dict[str, list[str]] = {}
    for title, conditions in by_title.items():
        protocol = strictest(each["protocol"] for each in conditions)
        condition = next(each for each in conditions if each["protocol"] == protocol)
        best = [
            text
            for name, text in RANKERS.items()
            if not any(_beats(condition, other, name) for other in RANKERS if other != name)
        ]
        titles_of.setdefault(" or ".join(best), []).append(title)
    listed = "; ".join(f"{' and '.join(titles)}: {best}" for best, titles in titles_of.items())
    return f"**What to take:** {listed}; no other one is better there (MAP, p < {SIGNIFICANT} after Holm)."


def _beats(condition: Mapping[str, Any], a: str, b: str) -> bool:
    """Tell whether the first ranker is significantly better than the second."""
    p = next(condition["p"][pair] for pair in (f"{a} - {b}", f"{b} - {a}") if pair in condition["p"])
    first, second = (condition["metrics"][name]["map"]["mean"] for name in (a, b))
    return first > second and p < SIGNIFICANT


def figures_table(card: Mapping[str, Any]) -> str:
    """Set a card's figures as a Markdown table."""
    rows = []
    for each in card["conditions"]:
        for name, title in RANKERS.items():
            values = [format_measured(each["metrics"][name][metric]) for metric in _METRICS]
            where = f"{each['title']}, {each['protocol']}" if name == "preset" else ""
            counted = f"{each['questions']:,}" if name == "preset" else ""
            rows.append([where, counted, card["name"] if name == "preset" else title, *values])
    header = ["test questions of", "counted", "ranked by", *(METRIC_TITLES[metric] for metric in _METRICS)]
    return markdown_table(header, rows)


def card_page(card: Mapping[str, Any]) -> str:
    """Write a card as a page."""
    data, vectors, chosen, size = (card[name] for name in ("data", "word_vectors", "chosen", "size"))
    varied = [name for name in card["trials"][0] if name not in ("seed", "epoch", "dev_map")]
    header = [*varied, "seed", "epoch", "dev MAP"]
    trials = [
        [*(str(each[name]) for name in (*varied, "seed", "epoch")), f"{each['dev_map']:.4f}"]
        for each in card["trials"]
    ]
    seen = ", ".join(f"{title} {share:.1%}" for title, share in _seen(card).items()).replace("%", " %")
    about = (
        f"±: half width of the 95 % t interval over the questions. Fusion: the sum of 1 / ({FUSION} + rank) "
        f"over both. BM25 has the document frequencies of all candidates. {card['notes']} Candidates that "
        f"also stand in the training or dev texts, spaces and punctuation aside: {seen}."
    )
    difference = f"no score differs by more than {card['largest_difference']:.0e}"
    items = (
        f"**Data:** {data['title']}, {data['source']}; licence {data['licence']}.",
        f"**Word vectors:** {vectors['title']}; licence {vectors['licence']}. They come installed. The "
        f"folder has the {size['words']:,} words that are most frequent in training; the others are looked "
        "up. Words that GloVe lacks share one vector.",
        f"**Model:** {size['parameters']:,} trainable parameters, {size['bytes']:,} bytes. "
        f"Seed {chosen['seed']}, epoch {chosen['epoch']}: dev MAP {chosen['dev_map']:.4f}. On dev "
        f"{difference} from that of the model in training, which held all words.",
        f"**Command:** `{card['command']}`, commit {card['commit'][:12]}.",
    )
    facts = "\n".join(wrapped(f"- {item}", "  ") for item in items)
    return f"""# {card["name"]}

{wrapped(f"{card['model']}, trained on {data['title']}. {advice(card)}")}

```python
from answer_ranking.ranking import Ranker

ranker = Ranker.from_preset("{card["name"]}")
```

{facts}

## On data that it never saw

{figures_table(card)}

{wrapped(about)}

## How it was chosen

By MAP on SQuAD-sent's dev, over epochs, settings and seeds:

{markdown_table(header, trials)}
"""


def _seen(card: Mapping[str, Any]) -> dict[str, float]:
    return {each["title"]: each["seen"] for each in card["conditions"]}


def read_cards(folder: Path) -> dict[Path, dict[str, Any]]:
    """Read the cards of a folder of presets, by their paths."""
    return {path: read_study(path, _NEEDED) for path in sorted(folder.glob("*/card.json"))}


def presets_block(folder: Path) -> str:
    """Write the part of the page on the presets that comes from their cards.

    Example:
        >>> presets_block(Path("/nowhere"))
        'There are no presets.'
    """
    cards = list(read_cards(folder).values())
    if not cards:
        return "There are no presets."
    header, rows = ["MAP / MRR on", "BM25"], []
    for card in cards:
        header += [f"`{card['name']}`", "fused with BM25"]
    # All cards have the same questions.
    for conditions in zip(*(card["conditions"] for card in cards), strict=True):
        measured = [conditions[0]["metrics"]["bm25"]]
        measured += [each["metrics"][name] for each in conditions for name in ("preset", "fusion")]
        cells = [f"{format_measured(each['map'])} / {each['mrr']['mean']:.3f}" for each in measured]
        rows.append([f"{conditions[0]['title']}, {conditions[0]['protocol']}", *cells])
    advices = (wrapped(f"- `{card['name']}`: {advice(card)}", "  ") for card in cards)
    return "\n".join([markdown_table(header, rows), "", *advices])
