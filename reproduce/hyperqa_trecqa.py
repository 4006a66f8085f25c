"""HyperQA on TrecQA (Tables 5 and 6 of the paper).

A quick look with one seed: python reproduce/hyperqa_trecqa.py

The small training set: python reproduce/hyperqa_trecqa.py --variant TRAIN

Five seeds, recorded: python reproduce/hyperqa_trecqa.py --record

One training serves both protocols, raw and clean: they differ in the test questions that count.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa


@dataclass(frozen=True, kw_only=True)
class Config(HyperQAConfig):
    """HyperQA on TrecQA."""

    dataset: str = "trecqa"
    """Name of the data set."""
    variant: str | None = "TRAIN-ALL"
    """TRAIN-ALL (1,229 questions) or TRAIN (94)."""
    mask_numbers: bool = True
    """Replace numbers by <num>, as the distributed file of TRAIN-ALL does, in every split."""
    learning_rate: float = 0.1
    """Step size; with the limit below the best on dev (docs/eq9.md)."""
    clip_norm: float | None = 1.0
    """Largest norm of the whole gradient after its conversion; None for no limit."""


if __name__ == "__main__":
    run_command(lambda: run_hyperqa(tyro.cli(Config, description=__doc__)))
