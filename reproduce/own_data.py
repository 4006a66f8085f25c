"""Train a ranker on tables of your own, and see whether it is better than rules that need no training.

    python reproduce/own_data.py --train faq.csv --model hyperqa

A table has the columns question, candidate and label (and question_id, candidate_id, if you have them) as
CSV, TSV, Parquet or JSON lines, a row per candidate, label 1 (or yes, true) for a correct one. Where --dev or
--test is not given, whole questions are taken out of the training table at random, by a seed. The ranker is
compared with BM25 and with word overlap (WO) on test. A report in one HTML file, the model for
reproduce/rank.py, the run files, the record and the split are left in a folder that is printed.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd
import tyro

from data_prep import Dataset, UserError, load_table
from data_prep.cli import run_command
from data_prep.files import atomic_write
from data_prep.registry import OWN_TABLES
from data_prep.splitting import split_by_question
from reproduce.attentive_pooling_experiment import AttentivePoolingConfig, train_attentive_pooling
from reproduce.cosinet_experiment import CosinetConfig, train_cosinet
from reproduce.ctrn_experiment import CTRNConfig, train_ctrn
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    ExperimentResult,
    load_experiment_data,
    run_experiment,
    slug,
)
from reproduce.hyperqa_experiment import HyperQAConfig, train_hyperqa
from training.option_ranges import check_range

if TYPE_CHECKING:
    from reproduce.rule_comparison import RuleComparison

# Per model: the paper, the name in tables, the options of its experiments, what trains one seed, and options
# that differ from theirs.
EXPERIMENTS = {
    "hyperqa": ("hyperqa", "HyperQA", HyperQAConfig, train_hyperqa, {}),
    "ctrn": ("ctrn", "CTRN", CTRNConfig, train_ctrn, {}),
    "ap-cnn": (
        "attentive_pooling",
        "AP-CNN",
        AttentivePoolingConfig,
        train_attentive_pooling,
        # Without it a short table takes many times as long.
        {"share_negatives": True},
    ),
    "cosinet": ("cosinet", "Cosinet", CosinetConfig, train_cosinet, {}),
}
METRICS = ("map", "mrr", "p@1")
_LITTLE_KNOWN = 0.5
_FEW = 30


@dataclass(frozen=True, kw_only=True)
class OwnDataConfig:
    """The options."""

    train: Path
    """The table to train on: .csv, .tsv, .jsonl or .parquet."""
    dev: Path | None = None
    """The table that chooses the best epoch; unless given, a share of the questions of --train."""
    test: Path | None = None
    """The table to report on; unless given, a share of the questions of --train."""
    model: Literal["hyperqa", "ctrn", "ap-cnn", "cosinet"] = "hyperqa"
    """The ranker: HyperQA is by far the fastest, AP-CNN the slowest."""
    dev_share: float = 0.15
    """Share of the questions that become dev where --dev is not given."""
    test_share: float = 0.15
    """Share of the questions that become test where --test is not given."""
    split_seed: int = 0
    """Seeds the draw of these questions."""
    epochs: int | None = None
    """Passes over the training table; unless given, as in the paper's experiments here."""
    learning_rate: float | None = None
    """Learning rate; unless given, as in the paper's experiments here."""
    batch_size: int | None = None
    """Size of a batch; unless given, as in the paper's experiments here."""
    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated. The default knows English only; for other
    languages task-skipgram-100d are trained on the training table."""
    lowercase: bool = True
    """Whether words are put into lower case."""
    seeds: int = 1
    """How many seeds to train."""
    first_seed: int = 0
    """The first seed; the others follow it."""
    examples: int = 3
    """How many questions are shown that the ranker wins, and that it loses."""
    tie_seeds: int = 20
    """Over how many random orders of tied candidates the rules' figures are averaged."""
    record: bool = False
    """Write the record to reproduce/results/ instead of the printed folder."""
    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""
    output: Path = Path("outputs")
    """Folder for models, run files, reports and the state of unfinished trainings."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for name in ("epochs", "seeds", "tie_seeds"):
            check_range(self, name, at_least=1)
        for name in ("first_seed", "split_seed", "examples"):
            check_range(self, name, at_least=0)

    @property
    def name(self) -> str:
        """The name of the data set in folders and records."""
        stem = re.sub(r"\.(csv|tsv|jsonl|parquet)(\.gz)?$", "", self.train.name, flags=re.IGNORECASE)
        return slug(f"own-{stem}")


def load_tables(config: OwnDataConfig) -> tuple[Dataset, str]:
    """Read the tables, split where one is not given, and make sure that there is something to learn.

    Args:
        config: the options.

    Returns:
        The data set, and in words how it was split.

    Raises:
        UserError: a table cannot be read, a row is wrong, or there is too little to train or measure on.
    """
    paths = {"train": config.train, "dev": config.dev, "test": config.test}
    tables = {name: load_table(path) for name, path in paths.items() if path is not None}
    for name, table in tables.items():
        _refuse_one_label(table, paths[name])
    shares = {"dev": config.dev_share, "test": config.test_share}
    shares = {name: share for name, share in shares.items() if name not in tables}
    how = "The tables were given."
    if shares:
        tables |= split_by_question(tables["train"], shares, config.split_seed, str(config.train))
        taken = " and ".join(f"{share:.0%} of the questions for {name}" for name, share in shares.items())
        how = f"Split of {config.train.name} by question, seed {config.split_seed}: {taken}."
    for name in ("dev", "test"):
        _refuse_without_choice(tables[name], paths[name] or config.train, name)
    description = replace(OWN_TABLES, name=config.name, title=config.train.name)
    return Dataset(tables["train"], tables["dev"], tables["test"], description), how


def _refuse_one_label(table: pd.DataFrame, path: Path) -> None:
    labels = set(table["label"])
    if labels == {0}:
        raise UserError(f"{path}: no candidate is labelled correct. Give the right answers the label 1.")
    if labels == {1}:
        raise UserError(
            f"{path}: every candidate is labelled correct. Add wrong candidates, with the label 0: answers "
            "to other questions will do."
        )


def _refuse_without_choice(table: pd.DataFrame, path: Path, name: str) -> None:
    if not (table.groupby("question_id")["label"].nunique() == 2).any():
        raise UserError(
            f"{path}: no question of {name} has a correct and a wrong candidate, so that rankings cannot be "
            "told apart. Add such questions."
        )


def remarks(dataset: Dataset) -> list[str]:
    """Say what a reader of the figures should know about the tables."""
    said = []
    texts = {
        name: {" ".join(text.casefold().split()) for text in table["question"].unique()}
        for name, table in dataset.splits.items()
    }
    for name in ("dev", "test"):
        if common := len(texts["train"] & texts[name]):
            said.append(
                f"{common} questions of {name} are in the training table, too: its figures are too good."
            )
    for name, table in dataset.splits.items():
        repeated = table.duplicated(["question_id", "candidate"], keep=False)
        if n := int(table.duplicated(["question_id", "candidate"]).sum()):
            labels = table[repeated].groupby(["question_id", "candidate"])["label"].nunique()
            both = int((labels > 1).sum())
            said.append(
                f"{name}: {n} rows repeat a candidate of their question, and stay"
                + (f"; {both} of these candidates are labelled both correct and wrong." if both else ".")
            )
    n_questions = int(dataset.test.groupby("question_id")["label"].max().sum())
    if n_questions < _FEW:
        said.append(f"Test has {n_questions} questions with a correct candidate: its figures are rough.")
    return said


def train(config: OwnDataConfig, dataset: Dataset, how: str) -> ExperimentResult:
    """Train all seeds with the functions of the paper's experiments; leave model, run files and record."""
    paper, name, config_class, train_seed, own_options = EXPERIMENTS[config.model]
    wanted = {each: getattr(config, each) for each in ("epochs", "learning_rate", "batch_size")}
    experiment = config_class(
        dataset=config.name,
        notes=how,
        **{
            each: getattr(config, each)
            for each in ("embeddings", "lowercase", "seeds", "first_seed", "record")
        },
        **{each: getattr(config, each) for each in ("embeddings_home", "output")},
        **{each: value for each, value in wanted.items() if value is not None},
        **own_options,
    )

    def load(experiment: ExperimentConfig) -> ExperimentData:
        data = load_experiment_data(experiment, dataset=dataset)
        if data.word_vectors.coverage_tokens < _LITTLE_KNOWN:
            print(
                "The word vectors know few of the words: take others, or have some trained on the training "
                "table with --embeddings task-skipgram-100d."
            )
        return data

    return run_experiment(experiment, paper=paper, model=name, train_seed=train_seed, load=load)


def figures_of(comparison: "RuleComparison") -> tuple[list[str], list[list[str]]]:
    """Set the metrics of ranker and rules in a table."""
    from evaluation import summarise
    from evaluation.tables import METRIC_TITLES

    rows = []
    for name, frame in comparison.measured.items():
        means = summarise(frame, "answerable")
        p = comparison.p_values.get(name)
        rows.append([name, *(f"{means[metric]:.3f}" for metric in METRICS), "" if p is None else f"{p:.3g}"])
    return ["test", *(METRIC_TITLES[metric] for metric in METRICS), f"p ({comparison.model})"], rows


def outcome(comparison: "RuleComparison", rival: str) -> str:
    """Say in a sentence on how many questions the ranker wins and loses."""
    differences = comparison.differences(rival)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return (
        f"Against {rival}, {comparison.model} ranks better on {wins} of {len(differences)} questions and "
        f"worse on {losses} (average precision)."
    )


def print_comparison(comparison: "RuleComparison", examples: int) -> None:
    """Print the table, and where the ranker wins and loses."""
    from evaluation.tables import text_table

    print(f"\n{text_table(*figures_of(comparison))}")
    print("p: paired randomisation test on average precision against the rule, corrected after Holm.")
    for rival in comparison.p_values:
        print(f"\n{outcome(comparison, rival)}")
        for kind, rows in comparison.examples(rival, examples).items():
            for _, row in rows.iterrows():
                one = {"wins": "win", "losses": "loss"}[kind]
                print(f"  {one} ({row['difference']:+.2f}): {_one_line(row['question'])}")
                for name in (comparison.model, rival):
                    mark = "right" if row[f"{name} correct"] else "wrong"
                    print(f"    {name} ranked first ({mark}): {_one_line(row[name])}")


def _one_line(text: str, length: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def report(
    config: OwnDataConfig, result: ExperimentResult, comparison: "RuleComparison", said: list[str]
) -> str:
    """Make the report, one HTML file with its figures in it."""
    from evaluation.figures import learning_curves, wins_and_losses
    from evaluation.html_page import HtmlPage
    from reproduce.experiment import clean_command

    page = HtmlPage(f"{comparison.model} on {config.train.name}")
    for sentence in said:
        page.paragraph(sentence)
    sizes = [
        [name, f"{split.n_questions:,}", f"{split.n_rows:,}", f"{int(split.labels.sum()):,}"]
        for name, split in result.data.encoded.splits.items()
    ]
    page.table(["table", "questions", "candidates", "correct"], sizes)
    page.paragraph(f"Word vectors: {result.data.word_vectors}. Seeds: {len(result.scores)}.")
    page.heading("Beside rules that need no training")
    page.table(*figures_of(comparison))
    page.paragraph(
        "Means over the questions of test that have a correct candidate. p: paired randomisation test on "
        "average precision against the rule, corrected after Holm. Ties are broken at random."
    )
    page.figure(
        wins_and_losses({r: comparison.differences(r) for r in comparison.p_values}, model=comparison.model),
        f"Average precision of {comparison.model} minus that of the rule, question by question.",
    )
    for rival in comparison.p_values:
        page.heading(f"Where it wins and loses against {rival}")
        page.paragraph(outcome(comparison, rival))
        for kind, rows in comparison.examples(rival, config.examples).items():
            if rows.empty:
                continue
            page.table(
                [kind, "question", f"{comparison.model} ranked first", f"{rival} ranked first"],
                [
                    [f"{row['difference']:+.2f}", row["question"]]
                    + [
                        f"{row[name]} ({'right' if row[f'{name} correct'] else 'wrong'})"
                        for name in (comparison.model, rival)
                    ]
                    for _, row in rows.iterrows()
                ],
            )
    page.heading("Training")
    page.figure(
        learning_curves(result.histories, title=comparison.model),
        "Training loss and mean average precision on dev by epoch.",
    )
    page.heading("Again")
    page.code(clean_command())
    return page.render()


def main(config: OwnDataConfig) -> None:
    """Train, compare, print and write everything.

    Args:
        config: the options.

    Raises:
        UserError: a table cannot be read or is too small, an option is out of range, or a file cannot be
            written.
    """
    from reproduce.rule_comparison import compare_with_rules

    dataset, how = load_tables(config)
    said = [how, *remarks(dataset)]
    print("\n".join(said), flush=True)
    result = train(config, dataset, how)
    comparison = compare_with_rules(
        dataset.test,
        result.data.encoded.test,
        dataset.description,
        [scores["test"] for scores in result.scores],
        result.best.scores["test"],
        result.records[0].model,
        config.tie_seeds,
    )
    print_comparison(comparison, config.examples)
    if config.dev is None or config.test is None:
        for name, table in dataset.splits.items():
            with atomic_write(result.folder / "split" / f"{name}.csv") as file:
                table.to_csv(file, index=False)
        print(f"\nSplit: {result.folder / 'split'}")
    with atomic_write(result.folder / "report.html") as file:
        file.write(report(config, result, comparison, said))
    print(f"Report: {result.folder / 'report.html'}")
    print("\nRank candidates for new questions:")
    print(f'  python reproduce/rank.py {result.folder / "model"} "your question" candidates.txt')
    print(f"  python reproduce/rank.py {result.folder / 'model'} --table new.csv --output ranked.csv")


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(OwnDataConfig, description=__doc__)))
