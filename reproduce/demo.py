"""HyperQA on the bundled sample: train, rank, evaluate, draw.

    python reproduce/demo.py

The sample is small and made for this: its figures say that the machinery works, and nothing about any
benchmark.
"""

from dataclasses import dataclass, replace

import numpy as np
import tyro

from data_prep.cli import run_command
from evaluation import summarise
from evaluation.tables import text_table
from reproduce.experiment import ExperimentResult, per_question
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa, train_hyperqa
from reproduce.lexical_baselines import evaluated_rows

SHOWN = {"random order": "Random", "word overlap": "WO", "BM25": "BM25"}


@dataclass(frozen=True, kw_only=True)
class Config(HyperQAConfig):
    """HyperQA on the sample."""

    dataset: str = "sample"
    """Name of the data set."""
    seeds: int | None = 3
    """How many seeds to run."""
    epochs: int = 15
    """Passes over the training questions."""
    batch_size: int = 8
    """Questions in a batch."""
    dimension: int = 100
    """d, the size of projected words and of text vectors."""


def beside_the_rules(config: Config, result: ExperimentResult) -> str:
    """Set the trained rankers beside rules that need no training and beside untrained rankers, on test."""
    data = result.data
    untrained = [
        train_hyperqa(replace(config, epochs=0), data, seed, splits=("test",)).scores["test"]
        for seed in config.seed_list
    ]
    description = data.dataset.description
    frames = {rule: [frame] for rule, frame in evaluated_rows(data.dataset.test, description, 20).items()}
    frames = {name: frames[rule] for name, rule in SHOWN.items()}
    frames["HyperQA before training"] = [per_question(data.encoded.test, scores) for scores in untrained]
    frames["HyperQA"] = [per_question(data.encoded.test, scores["test"]) for scores in result.scores]
    metrics = ("map", "mrr", "p@1")
    means = {
        name: [np.mean([summarise(frame, "answerable")[metric] for frame in each]) for metric in metrics]
        for name, each in frames.items()
    }
    return text_table(
        ["sample, test", "MAP", "MRR", "P@1"], [[k, *(f"{x:.3f}" for x in v)] for k, v in means.items()]
    )


def demo(config: Config) -> None:
    """Run the experiment on the sample, print the comparison, and rank one question's answers."""
    result = run_hyperqa(config)
    if result is None:
        return
    print("\nOn the sample, beside rules that are not trained:")
    print(beside_the_rules(config, result))
    print("\nRank answers of your own with what was just trained:")
    print(f'  python reproduce/rank.py {result.folder / "model"} "Who painted it?" candidates.txt')


if __name__ == "__main__":
    run_command(lambda: demo(tyro.cli(Config, description=__doc__)))
