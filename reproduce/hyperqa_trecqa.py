"""HyperQA on TrecQA (Tables 5 and 6 of the paper).

    python reproduce/hyperqa_trecqa.py                        # a quick look: one seed
    python reproduce/hyperqa_trecqa.py --variant TRAIN        # the small training set
    python reproduce/hyperqa_trecqa.py --record --main        # five seeds, recorded

One training serves both protocols, raw and clean: they differ in the test questions that count.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa


@dataclass(frozen=True, kw_only=True)
class Config(HyperQAConfig):
    """HyperQA on TrecQA; the defaults were chosen on dev (reproduce/searches)."""

    dataset: str = "trecqa"
    """Name of the data set."""
    variant: str = "TRAIN-ALL"
    """TRAIN-ALL (1,229 questions) or TRAIN (94)."""


if __name__ == "__main__":
    run_command(lambda: run_hyperqa(tyro.cli(Config, description=__doc__)))
