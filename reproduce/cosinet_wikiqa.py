"""Cosinet and Compare-Aggregate on WikiQA (Table 4 of the Cosinet paper).

A quick look with one seed: python reproduce/cosinet_wikiqa.py

The paper's best: python reproduce/cosinet_wikiqa.py --objective listwise --across birnn

Five seeds, recorded: python reproduce/cosinet_wikiqa.py --record

The paper's word vectors are ConceptNet Numberbatch, 300 dimensions: name the file with --embeddings.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.cosinet_experiment import CosinetConfig, run_cosinet


@dataclass(frozen=True, kw_only=True)
class Config(CosinetConfig):
    """Cosinet on WikiQA."""

    dataset: str = "wikiqa"
    """Name of the data set."""

    # The best of the recorded searches on dev, pointwise and list-wise with a BiRNN; every model has them.
    embedding_dropout: float = 0.2
    """Share of the entries of word vectors that training drops; the paper names no dropout."""
    l2: float = 1e-5
    """Weight of the L2 penalty."""


if __name__ == "__main__":
    run_command(lambda: run_cosinet(tyro.cli(Config, description=__doc__)))
