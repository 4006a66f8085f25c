"""Rank by rules alone and set the results beside the papers' printed values.

    python reproduce/lexical_baselines.py --dataset wikiqa

Random: the expectation over all orders. RR: the original order. WO: the number of distinct words that
question and candidate share. WO+RR: WO, ties in the original order. IDF-WO: WO with rare words weighing more.
BM25: the library bm25s, document frequencies of the whole split. Ties are broken at random, and the mean over
--tie-seeds orders is printed, unless a row says otherwise. The files of TrecQA list correct answers first, so
two more rows show what a tie kept in file order is worth there.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import tyro

from data_prep.cli import run_command
from data_prep.errors import UserError

if TYPE_CHECKING:
    from data_prep import Tokenizer
    from evaluation.records import ResultRecord

PAPER_RESULTS = Path(__file__).parent / "paper_results.csv"
_LEAK = "file order: do not use"
_RECORDED = ("Random", "RR", "WO", "WO+RR")
_SOURCES = (
    "reproduce/lexical_baselines.py::LexicalBaselinesConfig.tie_seeds",
    "reproduce/lexical_baselines.py::evaluated_rows",
    "reproduce/lexical_baselines.py::split_scores",
    "reproduce/lexical_baselines.py::tie_rows",
    "models/lexical.py",
    "data_prep/tokens.py",
    "evaluation/ranking.py",
)
_TIE_NOTES = {
    "Random": "The expectation over all orders.",
    "RR": "",
    "WO": "Ties at random: the mean over {} orders.",
    "WO+RR": "",
}


@dataclass(frozen=True)
class LexicalBaselinesConfig:
    """The options."""

    dataset: str
    """Name of the data set, such as wikiqa or squad-sent."""
    variant: str | None = None
    """Training set of the data set, where there are several; the rules do not learn from it."""
    tie_seeds: int = 50
    """How many random orders of tied candidates to average over."""
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    output: Path = Path("outputs/lexical_baselines")
    """Folder for the JSON file of the numbers."""
    record: bool = False
    """Write Random, RR, WO and WO+RR to reproduce/results/, from which RESULTS.md is made."""
    results: Path = Path(__file__).parent / "results"
    """With --record: the folder of the records."""


def split_scores(table: pd.DataFrame, description) -> dict[str, np.ndarray]:
    """Score the candidates of a split by every rule.

    Args:
        table: the split, the rows of a question contiguous.
        description: the data set's description.

    Returns:
        Per rule one float64 score per row.
    """
    from data_prep import Tokenizer
    from models.lexical import LEXICAL_MODELS

    tokenizer = Tokenizer(pretokenised=description.pretokenised)
    first = np.flatnonzero(~table["question_id"].duplicated())
    questions = _tokens(tokenizer, table["question"].iloc[first])
    candidates = _tokens(tokenizer, table["candidate"])
    offsets = np.append(first, len(table))
    return {name: model(questions, candidates, offsets) for name, model in LEXICAL_MODELS.items()}


def _tokens(tokenizer: "Tokenizer", texts: pd.Series, at_once: int = 10_000) -> list[list[str]]:
    """Split each distinct text once, part by part, and keep each word once: that saves most of the memory."""
    numbers, distinct = pd.factorize(texts)
    parts = (tokenizer(distinct[i : i + at_once].tolist()) for i in range(0, len(distinct), at_once))
    split = [list(map(sys.intern, tokens)) for part in parts for tokens in part]
    return [split[number] for number in numbers]


def tie_rows(
    table: pd.DataFrame, scores: dict[str, np.ndarray], description
) -> Iterator[tuple[str, np.ndarray]]:
    """Give word overlap with its ties broken in ways that nobody should use, by the names of the rows."""
    overlap = scores["WO"]
    if description.lists_correct_first:
        step = np.arange(len(table)) / len(table)
        yield f"WO, ties in {_LEAK}", overlap - step
        yield "WO, ties in reversed file order: do not use", overlap + step
    else:
        yield "WO, every tie against the correct answer", overlap - 0.5 * table["label"].to_numpy()


def evaluated_rows(
    table: pd.DataFrame, description, tie_seeds: int, scores: dict[str, np.ndarray] | None = None
) -> dict[str, pd.DataFrame]:
    """Measure every rule on every question of a split.

    Args:
        table: the split.
        description: the data set's description.
        tie_seeds: number of random orders of ties.
        scores: what `split_scores` gives for the split, where that is known already.

    Returns:
        Per row of the printed table, the metrics per question (mean over the orders of ties).
    """
    from evaluation import evaluate_ranking, expected_random_ranking

    question_ids, labels = table["question_id"].to_numpy(object), table["label"].to_numpy()

    def mean_over_ties(scores: np.ndarray, seeds: int) -> pd.DataFrame:
        return sum(evaluate_ranking(question_ids, labels, scores, tie_seed=s) for s in range(seeds)) / seeds

    scores = split_scores(table, description) if scores is None else scores
    rows = {}
    for name, values in scores.items():
        if name == "Random":
            counts = evaluate_ranking(question_ids, labels, values)
            rows[name] = expected_random_ranking(counts["n_correct"], counts["n_wrong"])
        elif name in ("RR", "WO+RR"):
            label = f"{name}, {_LEAK}" if description.lists_correct_first else name
            rows[label] = mean_over_ties(values, 1)
        else:
            rows[name] = mean_over_ties(values, tie_seeds)
    for name, values in tie_rows(table, scores, description):
        rows[name] = mean_over_ties(values, 1)
    return rows


def printed_by_papers(
    paper_results: pd.DataFrame, dataset: str, protocol: str, model: str
) -> dict[str, float]:
    """Find the values that any paper prints for a rule.

    Args:
        paper_results: what `read_paper_results` returns.
        dataset: name of the data set.
        protocol: name of its protocol.
        model: name of the rule.

    Returns:
        Per metric the value as a fraction; {} where no paper prints one.
    """
    from evaluation.paper_results import prints_percent

    fitting = paper_results[
        (paper_results["model"] == model) & paper_results["dataset"].isin([dataset, f"{dataset}-{protocol}"])
    ]
    return {
        row.metric: round(float(row.value) / (100 if prints_percent(row.paper, row.table) else 1), 6)
        for row in fitting.drop_duplicates("metric").itertuples()
    }


def measure_baselines(config: LexicalBaselinesConfig) -> list[dict]:
    """Measure all rules on dev and test under every protocol.

    Args:
        config: the options.

    Returns:
        One mapping per row: split, protocol, rule (which questions count), n_questions, baseline, the metrics
        and `paper`, the printed values by metric.

    Raises:
        UserError: the data are missing or an option is out of range.
    """
    from data_prep import load_dataset
    from evaluation import METRICS, questions_that_count, summarise
    from evaluation.paper_results import counts_every_question, read_paper_results

    if config.tie_seeds < 1:
        raise UserError(f"--tie-seeds must be at least 1. Received: {config.tie_seeds}")
    dataset = load_dataset(config.dataset, config.variant, config.data_home)
    paper_results = read_paper_results(PAPER_RESULTS)
    rows = []
    for split in ("dev", "test"):
        measured = evaluated_rows(getattr(dataset, split), dataset.description, config.tie_seeds)
        for protocol, rule in dataset.description.protocols.items():
            like_printed = counts_every_question(dataset.description.name, protocol)
            for counted in (rule, "all") if like_printed else (rule,):
                for name, per_question in measured.items():
                    printed = {}
                    if split == "test" and (counted == "all") == like_printed:
                        printed = printed_by_papers(
                            paper_results, dataset.description.name, protocol, name.partition(",")[0]
                        )
                    metrics = summarise(per_question, counted)
                    rows.append(
                        {
                            "split": split,
                            "protocol": protocol,
                            "rule": counted,
                            "n_questions": int(questions_that_count(per_question, counted).sum()),
                            "baseline": name,
                            **{metric: round(metrics[metric], 6) for metric in METRICS},
                            "paper": {metric: printed[metric] for metric in METRICS if metric in printed},
                        }
                    )
    return rows


def baseline_records(rows: list[dict], config: LexicalBaselinesConfig, command: str) -> "list[ResultRecord]":
    """Make records of the rules that Bonadiman and Moschitti (2020) print, to stand beside their values.

    A record has one seed, under which stands the mean over the random orders of ties. RR has no record
    where the files list correct answers first.

    Args:
        rows: what `measure_baselines` returns.
        config: the options.
        command: repeats the measurement.

    Returns:
        One record per protocol and rule.
    """
    from data_prep.registry import find_description, reader_sources
    from evaluation import METRICS
    from evaluation.records import ResultRecord
    from evaluation.source_fingerprints import source_fingerprints

    description = find_description(config.dataset)
    variant = config.variant or description.variants[0]

    def metrics(split: str, protocol: str, rule: str, name: str) -> dict:
        for row in rows:
            if (row["split"], row["protocol"], row["rule"], row["baseline"]) == (split, protocol, rule, name):
                return {m: {"mean": row[m], "ci95": None, "per_seed": [row[m]]} for m in METRICS}
        return {}

    records = []
    for protocol, rule in description.protocols.items():
        for name in _RECORDED:
            measured = metrics("test", protocol, rule, name)
            if not measured:
                continue
            notes = _TIE_NOTES[name].format(config.tie_seeds)
            worst = metrics("test", protocol, rule, f"{name}, every tie against the correct answer")
            if worst:
                notes += (
                    f" With every tie against the correct answer MAP is {worst['map']['mean']:.4f}, MRR "
                    f"{worst['mrr']['mean']:.4f} and P@1 {worst['p@1']['mean']:.4f}."
                )
            records.append(
                ResultRecord(
                    paper="cosinet",
                    dataset=config.dataset,
                    protocol=protocol,
                    split="test",
                    model=name,
                    variant=variant,
                    seeds=[0],
                    metrics=measured,
                    metrics_count_all=metrics("test", protocol, "all", name),
                    metrics_dev=metrics("dev", protocol, rule, name),
                    parameters=0,
                    seconds_per_epoch=None,
                    command=command,
                    configuration={"dataset": config.dataset, "tie_seeds": config.tie_seeds},
                    code=source_fingerprints(
                        (*_SOURCES, *reader_sources(config.dataset)), PAPER_RESULTS.parents[1]
                    ),
                    main=variant == description.variants[0],
                    notes=notes,
                )
            )
    return records


def printed_tables(rows: list[dict], dataset: str) -> str:
    """Set the rows as plain text, a table for every split and protocol, each value beside the paper's."""
    from evaluation import METRICS
    from evaluation.tables import METRIC_TITLES, text_table

    counted_as = {
        "answerable": "questions with a correct answer",
        "clean": "questions with a correct and a wrong answer",
        "all": "all questions, those without a correct answer as 0",
    }
    tables = []
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault((row["split"], row["protocol"], row["rule"], row["n_questions"]), []).append(row)
    for (split, protocol, rule, n_questions), group in groups.items():
        with_paper = {metric for row in group for metric in row["paper"]}
        header, lines = ["baseline"], [[row["baseline"]] for row in group]
        for metric in METRICS:
            header.append(METRIC_TITLES[metric])
            header += ["paper"] if metric in with_paper else []
            for line, row in zip(lines, group, strict=True):
                line.append(f"{row[metric]:.4f}")
                if metric in with_paper:
                    line.append(f"{row['paper'][metric]:.4f}" if metric in row["paper"] else "")
        title = f"{dataset}, {split}, {protocol}: {n_questions} {counted_as[rule]}"
        tables.append(f"{title}\n\n{text_table(header, lines)}")
    return "\n\n\n".join(tables)


def main(config: LexicalBaselinesConfig) -> None:
    """Measure, print and write the JSON file.

    Args:
        config: the options.

    Raises:
        UserError: the data are missing, an option is out of range or the file cannot be written.
    """
    from data_prep import DATASETS
    from data_prep.files import atomic_write, check_writable
    from evaluation.records import package_versions

    check_writable(config.output)
    if config.record:
        check_writable(config.results)
    rows = measure_baselines(config)
    description = DATASETS[config.dataset]
    print(printed_tables(rows, description.title))
    name = "_".join(filter(None, (config.dataset, config.variant)))
    path = config.output / f"{name}.json"
    with atomic_write(path) as file:
        json.dump(
            {
                "dataset": config.dataset,
                "tie_seeds": config.tie_seeds,
                "rows": rows,
                "versions": package_versions(),
            },
            file,
            indent=1,
        )
        file.write("\n")
    print(f"\nNumbers: {path}")
    if config.record:
        from evaluation.records import save_record
        from reproduce.experiment import clean_command, record_name

        for record in baseline_records(rows, config, clean_command()):
            path = config.results / f"{record_name(record)}.json"
            save_record(record, path)
            print(f"wrote {path}")


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(LexicalBaselinesConfig, description=__doc__)))
