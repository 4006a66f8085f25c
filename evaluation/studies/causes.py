"""What the recorded experiments say of the results whose MAP lies below the printed one."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from answer_ranking.evaluation.comparisons import differing_options
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import (
    METRIC_TITLES,
    Papers,
    format_measured,
    markdown_table,
    short_vectors,
)

SUPPORTED, RULED_OUT, OPEN, WORSE = "supported", "ruled out", "open", "worse"
_KINDS = {
    "training data": ("variant",),
    "word vectors": (
        *("embeddings", "identity_dimensions", "unknown_scale", "word_vector_norm", "unit_words"),
        "train_word_vectors",
    ),
    "tokens": ("lowercase", "mask_numbers"),
    "model": (
        *("dimension", "filters", "hidden", "kernel_size", "window", "width", "max_norm", "projection"),
        *("alignment", "activation", "distance_form", "raw_embeddings", "pooling"),
    ),
    "features": ("overlap_features",),
}
"""Causes by the options that stand for them; all other options are those of the training."""


def verdict(gain: float, noise: float, gap: float) -> str:
    """Say whether a change closes the gap.

    Args:
        gain: what the change adds to the metric.
        noise: the half width of the gain's 95 % interval.
        gap: printed minus ours.

    Example:
        >>> verdict(gain=0.001, noise=0.005, gap=0.04)
        'ruled out'
    """
    if gain > noise:
        return SUPPORTED
    if gain < -noise:
        return WORSE
    return RULED_OUT if gain + noise < gap else OPEN


def below_print(records: Sequence[ResultRecord], papers: Papers) -> Iterator[tuple[ResultRecord, str, float]]:
    """Find the main results that are more than an interval below the printed value: record, metric, gap.

    The metric is MAP, or P@1 where no MAP is printed.
    """
    for record in records:
        if not record.main or record.split != "test" or papers.printed_edition(record):
            continue
        paper = papers.papers.get(record.paper)
        if not record.parameters or paper is None or not paper.measured(record.model):
            continue
        printed, ours = papers.printed_row(record)[1], papers.comparable_metrics(record)
        metric = next((each for each in ("map", "p@1") if each in printed and each in ours), None)
        if metric and ours[metric]["ci95"] is not None:
            gap = float(printed[metric]) - ours[metric]["mean"]
            if gap > ours[metric]["ci95"]:
                yield record, metric, gap


def causes_block(
    records: Sequence[ResultRecord], papers: Papers, searched: Sequence[ResultRecord] = ()
) -> str:
    """Write a table of tried causes for every main result below the printed value; `searched` had a search.

    Example:
        >>> from answer_ranking.evaluation.tables import read_papers
        >>> causes_block([], read_papers())
        'No result is below the printed value.'
    """
    rows = []
    for record, metric, gap in below_print(records, papers):
        ours = papers.comparable_metrics(record)[metric]
        printed = papers.printed_row(record)[1][metric]
        data = ", ".join(filter(None, (record.dataset, record.variant, record.protocol)))
        about = [f"**{record.model}**, {data}", METRIC_TITLES[metric], printed, format_measured(ours)]
        for kind, tried, summary, said in _tried(record, metric, gap, [*records, *searched], papers):
            gain = f"{summary['mean'] - ours['mean']:+.3f}"
            rows.append([*about, kind, tried, format_measured(summary), gain, said])
            about = [""] * len(about)
    header = ["result", "metric", "printed", "ours", "cause", "tried", "with it", "gain", "says"]
    return markdown_table(header, rows) if rows else "No result is below the printed value."


def _tried(
    record: ResultRecord, metric: str, gap: float, others: Sequence[ResultRecord], papers: Papers
) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Go through what was tried: cause, change, the metric's summary, and what it says."""
    ours = papers.comparable_metrics(record)[metric]
    best = max(ours["per_seed"])
    said = RULED_OUT if best - ours["mean"] < gap else OPEN
    yield "seeds", f"the best of {len(record.seeds)}", {"mean": best, "ci95": None}, said
    for other in others:
        same = ("dataset", "model", "split", "protocol", *(["variant"] if other.search else []))
        if other is record or any(getattr(other, name) != getattr(record, name) for name in same):
            continue
        kinds, summary = _kinds(record, other), papers.comparable_metrics(other)[metric]
        # Of several changes at once none can be named, and one seed has no interval.
        if len(kinds) == 1 and summary["ci95"] is not None:
            noise = math.hypot(ours["ci95"], summary["ci95"])
            said = verdict(summary["mean"] - ours["mean"], noise, gap)
            yield kinds[0], _change(record, other), summary, said


def _kinds(record: ResultRecord, other: ResultRecord) -> list[str]:
    """Name the kinds of options in which two runs differ."""
    if other.search:
        return ["search of options"]
    # Word vectors have several names, and options come and go with the versions of the project.
    common = record.configuration.keys() & other.configuration.keys() - {"embeddings"}
    keys = {key for key in common if record.configuration[key] != other.configuration[key]}
    keys |= {"embeddings"} if record.embeddings != other.embeddings else set()
    kinds = [kind for kind, options in _KINDS.items() if keys & set(options)]
    return kinds + ["training"] * bool(keys - {key for options in _KINDS.values() for key in options})


def _change(record: ResultRecord, other: ResultRecord) -> str:
    """Say what a run changes."""
    if other.search:
        parts = [f"{other.search['trials']} trials on dev, {len(other.seeds)} fresh seeds"]
        parts += [
            f"{name} = {other.configuration[name]}".lower()
            for name in ("eq9", "unit_words")
            if name in other.configuration
        ]
    else:
        parts = [other.variant] * (other.variant != record.variant) + [differing_options(other, record)]
    vectors = short_vectors(other.embeddings) if other.embeddings != record.embeddings else ""
    return ", ".join(filter(None, [*parts, vectors]))
