"""HyperQA on SemEvalCQA, QatarLiving (Table 4 of the paper).

A quick look with one seed: python reproduce/hyperqa_semevalcqa.py

Five seeds, recorded: python reproduce/hyperqa_semevalcqa.py --record

A question is its subject and its body; "Good" comments are correct answers, all others wrong. As in the
paper the word vectors are skip-gram vectors of the task's own texts, and the last layer sees the text vectors
beside their distance. Beside the papers' measure, over the questions that have a Good comment, stands that of
the task's own scorer, which counts every question and those without a Good comment as 0.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa
from reproduce.semeval_scorer import official_figures


@dataclass(frozen=True, kw_only=True)
class Config(HyperQAConfig):
    """HyperQA on SemEvalCQA."""

    dataset: str = "semevalcqa"
    """Name of the data set."""
    embeddings: tuple[str, ...] = ("task-skipgram-300d",)
    """Word vectors, by name or path; several are concatenated. task-skipgram-300d are trained on the task's
    own texts; the paper chose among 100, 200 and 300 dimensions."""
    dimension: int = 150
    """d, the size of projected words and of text vectors; from 300 dimensions 150 make the paper's 45K
    parameters."""
    # The best of the recorded search on dev, at the paper's size.
    learning_rate: float = 0.1
    """Learning rate of the optimizer."""
    batch_size: int = 100
    """Questions in a batch."""
    l2: float = 1e-4
    """Weight of the L2 penalty on all weights but biases."""
    raw_embeddings: bool = True
    """Show the last layer the text vectors beside their distance."""


def main(config: Config) -> None:
    """Run the experiment and print the task's own measure."""
    result = run_hyperqa(config)
    if result is not None:
        print(f"\n{official_figures(result)}")


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
