"""CTRN and QRNN on SemEvalCQA, QatarLiving (Table 5 of the CTRN paper).

A quick look with one seed: python reproduce/ctrn_semevalcqa.py --model ctrn

Five seeds, recorded: python reproduce/ctrn_semevalcqa.py --record

A question is its subject and its body; "Good" comments are correct answers, all others wrong. Beside the
papers' measure, over the questions that have a Good comment, stands that of the task's own scorer, which
counts every question and those without a Good comment as 0.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.ctrn_experiment import CTRNConfig, run_ctrn
from reproduce.semeval_scorer import official_figures


@dataclass(frozen=True, kw_only=True)
class Config(CTRNConfig):
    """CTRN on SemEvalCQA."""

    dataset: str = "semevalcqa"
    """Name of the data set."""
    embeddings: tuple[str, ...] = ("task-skipgram-200d",)
    """Word vectors, by name or path; several are concatenated. task-skipgram-200d are trained on the task's
    own texts, as the paper's GloVe vectors of this size are."""

    # The best of three early trials on dev; reproduce/experiments.txt has what CTRN's later search prefers.
    learning_rate: float = 3e-4
    """Learning rate of the optimizer."""
    kernel_size: int = 3
    """k, the words in the window of the convolutions."""
    dropout: float = 0.2
    """Share of the entries of text vectors and hidden layers that training drops."""
    embedding_dropout: float = 0.2
    """Share of the entries of word vectors that training drops."""
    l2: float = 0.0
    """Weight of the L2 penalty on all weights but biases."""


def main(config: Config) -> None:
    """Run the experiment and print the task's own measure."""
    print(f"\n{official_figures(run_ctrn(config))}")


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
