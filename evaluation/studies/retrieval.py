"""The retrieval study: metrics of rankings over a whole collection, its table and its page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytrec_eval

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.metrics import spreads
from answer_ranking.evaluation.records import read_study
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test
from answer_ranking.evaluation.tables import (
    format_measured,
    markdown_table,
    short_vectors,
    text_table,
    wrapped,
)

METRICS = ("recall@1", "recall@10", "recall@100", "mrr@10")
BASELINE = "BM25"
_TITLES = ("recall@1", "recall@10", "recall@100", "MRR@10")
_NEEDED = {"title", "embeddings", "seeds", "collection", "questions", "conditions", "command"}


def measure(ranking: pd.DataFrame, correct: dict[str, dict[str, int]]) -> pd.DataFrame:
    """Measure a ranking by trec_eval's code.

    Args:
        ranking: the columns `question_id`, `candidate_id` and `rank`, from 1.
        correct: the correct answers by question, each with 1.

    Returns a row per question of `correct`, with `METRICS`: the shares of the correct answers among the first
    1, 10 and 100, and 1 / the rank of the first correct answer if it is at most 10. A question for which
    nothing was found has 0.

    Example:
        >>> ranking = pd.DataFrame({"question_id": "q", "candidate_id": ["b", "a"], "rank": [1, 2]})
        >>> measure(ranking, {"q": {"a": 1}}).loc["q"].tolist()
        [0.0, 1.0, 1.0, 0.5]
    """
    run: dict[str, dict[str, float]] = {}
    for question, candidate, rank in zip(
        ranking["question_id"], ranking["candidate_id"], ranking["rank"], strict=True
    ):
        run.setdefault(question, {})[candidate] = -float(rank)
    measured = pytrec_eval.RelevanceEvaluator(correct, {"recall.1,10,100", "recip_rank"}).evaluate(run)
    rows = pd.DataFrame.from_dict(measured, orient="index").reindex(list(correct)).fillna(0.0)
    reciprocal = rows["recip_rank"].where(rows["recip_rank"] > 1 / 10.5, 0.0)
    columns = [rows["recall_1"], rows["recall_10"], rows["recall_100"], reciprocal]
    return pd.DataFrame(dict(zip(METRICS, columns, strict=True)))


def compare(measured: Mapping[str, Mapping[str, Sequence[pd.DataFrame]]]) -> dict[str, dict[str, Any]]:
    """Sum up the metrics of all systems, and test each against BM25.

    `measured` holds, by system and split ("dev", "test"), a table of `measure` per seed. Returns by system
    `metrics` and `metrics_dev` (mean, ci95 and per_seed, see `spreads`); `per_question`, MRR@10 of every
    question, the mean over the seeds; and, but for BM25, `p`, corrected after Holm over the systems.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, by_split in measured.items():
        means = {
            split: spreads({metric: [float(each[metric].mean()) for each in tables] for metric in METRICS})
            for split, tables in by_split.items()
        }
        mrr = np.mean([each["mrr@10"] for each in by_split["test"]], axis=0)
        rows[name] = {"metrics": means["test"], "metrics_dev": means["dev"], "per_question": mrr.tolist()}
    rivals = [name for name in rows if name != BASELINE]
    raw = [
        paired_randomisation_test(rows[name]["per_question"], rows[BASELINE]["per_question"])
        for name in rivals
    ]
    for name, p in zip(rivals, holm_correction(raw).tolist(), strict=True):
        rows[name]["p"] = p
    return rows


def _cells(condition: Mapping[str, Any]) -> list[str]:
    depth = f" (first {condition['depth']})" if "depth" in condition else ""
    values = [format_measured(condition["metrics"][metric]) for metric in METRICS]
    p = f"{condition['p']:.2g}" if "p" in condition else ""
    return [f"{condition['system']}{depth}", *values, p, f"{condition['milliseconds']:.1f}"]


def results_table(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Set the table as plain text."""
    return text_table(["", *_TITLES, "p", "ms"], [_cells(each) for each in conditions])


def retrieval_block(folder: Path) -> str:
    """Write the part of the page that comes from the records.

    Example:
        >>> retrieval_block(Path("/nowhere"))
        'The study has not been run yet.'
    """
    records = [read_study(path, _NEEDED) for path in sorted(folder.glob("*.json"))]
    return "\n\n".join(map(_section, records)) or "The study has not been run yet."


def _section(record: Mapping[str, Any]) -> str:
    questions, conditions = record["questions"], record["conditions"]
    about = (
        f"{questions['test']:,} test questions, {record['collection']['test']:,} answers; trained on "
        f"{questions['train']:,} questions, chosen on {questions['dev']:,}; {record['seeds']} seeds; "
        f"word vectors {short_vectors(record['embeddings'])}."
    )
    table = markdown_table(["", *_TITLES, "p", "ms"], [_cells(each) for each in conditions])
    title = f"### {record['title']}, {questions['train']:,} training questions"
    parts = [title, wrapped(verdict(conditions)), wrapped(about), table]
    parts.append(wrapped(f"Run: `{record['command']}`."))
    return "\n\n".join(parts)


def verdict(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Say which system is best, and whether it is better than BM25, in a sentence."""
    best = max(conditions, key=lambda each: each["metrics"]["mrr@10"]["mean"])
    bm25 = next(each for each in conditions if each["system"] == BASELINE)
    value, of_bm25 = (each["metrics"]["mrr@10"]["mean"] for each in (best, bm25))
    if best is bm25:
        return f"**BM25 is the best: MRR@10 {of_bm25:.3f}.**"
    if best["p"] >= SIGNIFICANT:
        return (
            f"**{best['system']} has the highest MRR@10, {value:.3f}, but the difference to BM25 "
            f"({of_bm25:.3f}) may be chance (p = {best['p']:.2g}).**"
        )
    return f"**{best['system']} is the best: MRR@10 {value:.3f} against {of_bm25:.3f} of BM25.**"
