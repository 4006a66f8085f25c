"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on SemEvalCQA, beside which HyperQA's Table 4 sets AP-CNN.

A quick look with one seed: python reproduce/attentive_pooling_semevalcqa.py

Five seeds, recorded: python reproduce/attentive_pooling_semevalcqa.py --record

A question is its subject and its body; "Good" comments are correct answers, all others wrong. The wrong ones
that a model is trained on are those of the question's own thread, which it has to tell apart in the end.
"""

from dataclasses import dataclass
from typing import Literal

import tyro

from data_prep.cli import run_command
from reproduce.attentive_pooling_experiment import AttentivePoolingConfig, run_attentive_pooling


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


if __name__ == "__main__":
    run_command(lambda: run_attentive_pooling(tyro.cli(Config, description=__doc__)))
