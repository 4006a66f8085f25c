"""Measure the rule baselines on any data set: random order, original order, shared words, BM25.

    python reproduce/studies/rules.py --dataset wikiqa

Nothing is trained. Random: the expectation over all orders. RR: the original order. WO: the number of words
that question and answer share. WO+RR: WO, ties in the original order. IDF-WO: WO with rare words weighing
more. BM25: the library bm25s, document frequencies of the whole split. Ties are broken at random, and the
mean over --tie-seeds orders is printed, unless a row says otherwise. The files of TrecQA list correct answers
first, so two more rows show what a tie kept in file order is worth there.

With --encoder it measures one thing alone: the cosine of the mean vectors that a frozen encoder gives to the
tokens of question and answer (docs/contextual.md).

With --record each rule gets a record; the Cosinet paper prints Random, RR, WO and WO+RR. The questions per
second of the processor are those of the test split with its words split beforehand; BM25's include the
counting of the words, and those of an encoder the encoder.
"""

import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable, slug
from answer_ranking.base.ranges import check_range
from answer_ranking.data_prep import Dataset, load_dataset
from answer_ranking.data_prep.word_vectors.encoder_folder import seen_by
from answer_ranking.evaluation.metrics import METRICS, over_seeds, questions_that_count, summarise
from answer_ranking.evaluation.records import ResultRecord, record_path, save_records
from answer_ranking.evaluation.rules import RULES, WORST_WO, measure_rules, texts_of
from answer_ranking.evaluation.tables import METRIC_TITLES, paper_ours_table, text_table
from answer_ranking.ranking.contextual_vocabulary import ContextualVocabulary
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.reproduce.experiments.data_options import DataHome
from answer_ranking.reproduce.experiments.options import RecordOptions
from answer_ranking.reproduce.experiments.run import clean_command, questions_per_second
from answer_ranking.reproduce.presets import scores_of

PRINTED = ("Random", "RR", "WO", "WO+RR")
UNTIMED = ("Random", "RR")
"""They compute nothing."""
COSINE = "Mean cosine"
COUNTED = {
    "answerable": "questions with a correct answer",
    "clean": "questions with a correct and a wrong answer",
    "all": "all questions, those without a correct answer as 0",
}


@dataclass(frozen=True, kw_only=True)
class Config(RecordOptions, DataHome):
    """The options."""

    dataset: str
    """Name of the data set, such as wikiqa or squad-sent."""
    variant: str | None = None
    """Training set of the data set, where there are several; the rules do not learn from it."""
    white_space: bool = False
    """Split words at white space alone, where the models' words are spaCy's: the Cosinet paper's counts of
    SQuAD-sent are of such words."""
    encoder: str | None = None
    """An encoder of contextual words, such as minilm: its cosine in the place of the rules."""
    tie_seeds: int = 50
    """How many random orders of tied candidates to average over."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "tie_seeds", at_least=1)
        if self.encoder and self.white_space:
            raise UserError("an encoder makes tokens in its own way: leave out --encoder or --white-space.")


def main(config: Config) -> None:
    """Measure, print the tables, and write the records."""
    if path := config.record_file:
        check_writable(path.parent)
    dataset = load_dataset(config.dataset, config.variant, config.data_home)
    if config.white_space:
        dataset = replace(dataset, description=replace(dataset.description, pretokenised=True))
    description = dataset.description
    splits = {"dev": dataset.dev, "test": dataset.test}
    ranker = Ranker.of_encoder(config.encoder) if config.encoder else None
    measured = {}
    for name, table in splits.items():
        scores = {COSINE: scores_of(ranker, table)} if ranker else None
        measured[name] = measure_rules(table, description, config.tie_seeds, scores)
    print("\n\n".join(tables(dataset, measured)))
    if config.record is None:
        return
    records = {}
    for record in rule_records(config, dataset, measured, ranker):
        protocol = record.protocol if len(description.protocols) > 1 else ""
        path = record_path(config.results, config.record, slug(record.model), protocol)
        records[path] = record
    save_records(records)
    print(paper_ours_table(list(records.values())))


Measured = dict[str, dict[str, pd.DataFrame]]
"""By split and rule, a row per question."""


def tables(dataset: Dataset, measured: Measured) -> list[str]:
    """Set a table per split and rule of what counts, all questions included, as plain text."""
    texts = []
    rules = dict.fromkeys((*dataset.description.protocols.values(), "all"))
    for split, rule in product(measured, rules):
        rows = []
        for name, table in measured[split].items():
            metrics = summarise(table, rule)
            rows.append([name, *(f"{metrics[metric]:.4f}" for metric in METRICS)])
        count = int(questions_that_count(table, rule).sum())
        header = ["rule", *(METRIC_TITLES[metric] for metric in METRICS)]
        title = f"{dataset.description.title}, {split}: {count} {COUNTED[rule]}"
        texts.append(f"{title}\n\n{text_table(header, rows)}")
    return texts


def speeds(dataset: Dataset, ranker: Ranker | None) -> dict[str, float]:
    """Measure how many questions of test are ranked per second of the processor."""
    table, n_questions = dataset.test, dataset.test["question_id"].nunique()
    if ranker:
        began = time.process_time()
        scores_of(ranker, table)
        return {COSINE: round(n_questions / (time.process_time() - began), 1)}
    texts = texts_of(table, dataset.description)
    timed = [name for name in RULES if name not in UNTIMED]
    return {name: questions_per_second(partial(RULES[name], *texts), n_questions) for name in timed}


def rule_records(
    config: Config, dataset: Dataset, measured: Measured, ranker: Ranker | None
) -> list[ResultRecord]:
    """Make a record per protocol and rule; RR has none where files list correct answers first.

    A record has one seed, under which stands the mean over the random orders of ties.
    """
    description = dataset.description
    timed = speeds(dataset, ranker)
    configuration: dict[str, Any] = {
        "dataset": config.dataset,
        "tie_seeds": config.tie_seeds,
        "white_space": config.white_space,
    }
    vectors = seen = ""
    if ranker:
        words = ranker.open_vocabulary
        assert isinstance(words, ContextualVocabulary)
        vectors = words.encoder.name
        configuration["encoder"] = words.sha256
        seen = f"Nothing is trained here. {seen_by(words.sha256)}"
    records = []
    for protocol, rule in description.protocols.items():
        wo = f"Ties at random: the mean over {config.tie_seeds} orders."
        if WORST_WO in measured["test"]:
            worst = summarise(measured["test"][WORST_WO], rule)
            values = f"MAP is {worst['map']:.4f}, MRR {worst['mrr']:.4f} and P@1 {worst['p@1']:.4f}"
            wo += f" With every tie against the correct answer {values}."
        notes = {"Random": "The expectation over all orders.", "WO": wo, COSINE: seen}
        for name in (each for each in (*RULES, COSINE) if each in measured["test"]):
            if config.white_space and name in UNTIMED:
                continue  # which do not look at words
            found = over_seeds([measured["test"][name]], [measured["dev"][name]], rule)
            del found["per_question"]
            records.append(
                ResultRecord(
                    paper="cosinet",
                    dataset=description.name,
                    protocol=protocol,
                    split="test",
                    model=f"{name}, white space" if config.white_space else name,
                    embeddings=vectors,
                    variant=dataset.variant,
                    seeds=[0],
                    **found,
                    parameters=0,
                    seconds_per_epoch=None,
                    command=clean_command(),
                    configuration=configuration,
                    main=name in PRINTED
                    and dataset.variant == description.variants[0]
                    and not config.white_space,
                    questions_per_second=timed.get(name),
                    notes=notes.get(name, ""),
                )
            )
    return records


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
