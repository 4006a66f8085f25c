"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on SemEvalCQA, beside which HyperQA's Table 4 sets AP-CNN.

A quick look with one seed: python reproduce/attentive_pooling_semevalcqa.py

Five seeds, recorded: python reproduce/attentive_pooling_semevalcqa.py --record

A question is its subject and its body; "Good" comments are correct answers, all others wrong. The wrong ones
that a model is trained on are those of the question's own thread, which it has to tell apart in the end. The
options that differ from the paper's, which has no such data set, were chosen for AP-CNN on dev by
attentive_pooling_search.py (6 epochs a trial; a run has 8 and keeps the one that is best on dev). Beside the
measure over the questions that have a Good comment stands that of the task's own scorer, which counts every
question and those without a Good comment as 0.
"""

from dataclasses import dataclass
from typing import Literal

import tyro

from data_prep.cli import run_command
from reproduce.attentive_pooling_experiment import AttentivePoolingConfig, run_attentive_pooling
from reproduce.semeval_scorer import official_figures


@dataclass(frozen=True, kw_only=True)
class Config(AttentivePoolingConfig):
    """Attentive Pooling on SemEvalCQA."""

    dataset: str = "semevalcqa"
    """Name of the data set."""
    embeddings: tuple[str, ...] = ("task-skipgram-200d",)
    """Word vectors, by name or path; several are concatenated. task-skipgram-200d are trained on the task's
    own texts."""
    negatives_from: Literal["answers", "own"] = "own"
    """Draw wrong answers from the question's own pool, or from all training answers, as the paper does."""
    optimizer: str = "adam"
    """Name of a Keras optimizer."""
    learning_rate: float | None = 3e-4
    """Learning rate of the optimizer, in the first epoch."""
    learning_rate_decay: bool | None = False
    """Divide the learning rate by t in epoch t = 1, 2, ..."""
    epochs: int = 8
    """Passes over the training data."""
    l2: float = 1e-4
    """Weight of the L2 penalty on all weights but biases."""
    embedding_dropout: float = 0.4
    """Share of the entries of word vectors that training drops."""


def main(config: Config) -> None:
    """Run the experiment and print the task's own measure."""
    print(f"\n{official_figures(run_attentive_pooling(config))}")


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
