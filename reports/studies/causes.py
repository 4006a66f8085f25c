"""What the recorded experiments say of the results whose MAP lies below the printed one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from answer_ranking.evaluation.comparisons import differing_options
from answer_ranking.evaluation.papers import Papers
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import METRIC_TITLES, short_vectors
from answer_ranking.reports.pages import render

SUPPORTED, RULED_OUT, OPEN, WORSE = "supported", "ruled out", "open", "worse"
_CAUSES = {
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
_CAUSE_OF: dict[str, str] = {}
for _cause, _options in _CAUSES.items():
    _CAUSE_OF |= dict.fromkeys(_options, _cause)


@dataclass(frozen=True)
class Gap:
    """A main result that is more than its interval below the printed value."""

    record: ResultRecord
    metric: str
    printed: str
    ours: dict[str, Any]

    @property
    def size(self) -> float:
        return float(self.printed) - self.ours["mean"]

    @property
    def data(self) -> str:
        parts = (self.record.dataset, self.record.variant, self.record.protocol)
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class Attempt:
    """What was tried to close a gap, and the metric with it."""

    gap: Gap
    cause: str
    tried: str
    found: dict[str, Any]
    verdict: str

    @property
    def gain(self) -> float:
        return self.found["mean"] - self.gap.ours["mean"]


def causes_block(
    records: Sequence[ResultRecord],
    papers: Papers,
    searched: Sequence[ResultRecord] = (),
) -> str:
    """Write a table of tried causes for every main result below the printed value; `searched` had a search.

    Example:
        >>> from answer_ranking.evaluation.papers import read_papers
        >>> causes_block([], read_papers())
        'No result is below the printed value.'
    """
    attempts: list[Attempt] = []
    for gap in gaps(records, papers):
        attempts += _attempts(gap, [*records, *searched], papers)
    return render("studies/causes.md.j2", attempts=attempts, titles=METRIC_TITLES)


def gaps(records: Sequence[ResultRecord], papers: Papers) -> Iterator[Gap]:
    """Find the main results that are more than an interval below the printed value.

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
            gap = Gap(record, metric, printed[metric], ours[metric])
            if gap.size > gap.ours["ci95"]:
                yield gap


def _attempts(gap: Gap, others: Sequence[ResultRecord], papers: Papers) -> Iterator[Attempt]:
    """Go through what was tried: other seeds, and runs in which one kind of option differs."""
    record = gap.record
    best = max(gap.ours["per_seed"])
    said = RULED_OUT if best - gap.ours["mean"] < gap.size else OPEN
    yield Attempt(gap, "seeds", f"the best of {len(record.seeds)}", {"mean": best, "ci95": None}, said)
    for other in others:
        if other is record or not _same_subject(record, other):
            continue
        causes = _causes(record, other)
        found = papers.comparable_metrics(other)[gap.metric]
        # Of several changes at once none can be named, and one seed has no interval.
        if len(causes) == 1 and found["ci95"] is not None:
            noise = math.hypot(gap.ours["ci95"], found["ci95"])
            said = verdict(found["mean"] - gap.ours["mean"], noise, gap.size)
            yield Attempt(gap, causes[0], _change(record, other), found, said)


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


def _same_subject(record: ResultRecord, other: ResultRecord) -> bool:
    """Tell whether two records are of one model on the same test; a search keeps the training set, too."""
    names = ["dataset", "model", "split", "protocol"]
    if other.search:
        names.append("variant")
    return all(getattr(other, name) == getattr(record, name) for name in names)


def _causes(record: ResultRecord, other: ResultRecord) -> list[str]:
    """Name the kinds of options in which two runs differ."""
    if other.search:
        return ["hyperparameter search"]
    # Word vectors have several names, and options come and go with the versions of the project.
    ours, theirs = record.configuration, other.configuration
    common = ours.keys() & theirs.keys() - {"embeddings"}
    changed = {key for key in common if ours[key] != theirs[key]}
    if record.embeddings != other.embeddings:
        changed.add("embeddings")
    found = {_CAUSE_OF.get(key, "training") for key in changed}
    return [cause for cause in (*_CAUSES, "training") if cause in found]


def _change(record: ResultRecord, other: ResultRecord) -> str:
    """List what a run changes."""
    parts = _searched(other) if other.search else [differing_options(other, record)]
    if not other.search and other.variant != record.variant:
        parts.insert(0, other.variant)
    if other.embeddings != record.embeddings:
        parts.append(short_vectors(other.embeddings))
    return ", ".join(filter(None, parts))


def _searched(other: ResultRecord) -> list[str]:
    parts = [f"{other.search['trials']} trials on dev", f"{len(other.seeds)} fresh seeds"]
    for name in ("eq9", "unit_words"):
        if name in other.configuration:
            parts.append(f"{name} = {other.configuration[name]}".lower())
    return parts
