"""CTRN and QRNN on YahooQA (Table 4 of the CTRN paper).

A quick look with one seed: python reproduce/ctrn_yahooqa.py --model ctrn

Five seeds, recorded: python reproduce/ctrn_yahooqa.py --record

The data are the released env.pkl, which is not fetched: put it into the folder yahooqa/ of the data folder.
Every question comes with its correct answer and four that a search engine found.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.ctrn_experiment import CTRNConfig, run_ctrn


@dataclass(frozen=True, kw_only=True)
class Config(CTRNConfig):
    """CTRN on YahooQA."""

    dataset: str = "yahooqa"
    """Name of the data set."""


if __name__ == "__main__":
    run_command(lambda: run_ctrn(tyro.cli(Config, description=__doc__)))
