"""HyperQA on WikiQA (Table 2 of the paper).

A quick look with one seed: python reproduce/hyperqa_wikiqa.py

Five seeds, recorded: python reproduce/hyperqa_wikiqa.py --record
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa


@dataclass(frozen=True, kw_only=True)
class Config(HyperQAConfig):
    """HyperQA on WikiQA."""

    dataset: str = "wikiqa"
    """Name of the data set."""


if __name__ == "__main__":
    run_command(lambda: run_hyperqa(tyro.cli(Config, description=__doc__)))
