"""HyperQA on YahooQA (Table 3 of the paper).

A quick look with one seed: python reproduce/hyperqa_yahooqa.py

Five seeds, recorded: python reproduce/hyperqa_yahooqa.py --record

The data are the released env.pkl, which is not fetched: put it into the folder yahooqa/ of the data folder.
Every question comes with its correct answer and four that a search engine found.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa


@dataclass(frozen=True, kw_only=True)
class Config(HyperQAConfig):
    """HyperQA on YahooQA."""

    dataset: str = "yahooqa"
    """Name of the data set."""


if __name__ == "__main__":
    run_command(lambda: run_hyperqa(tyro.cli(Config, description=__doc__)))
