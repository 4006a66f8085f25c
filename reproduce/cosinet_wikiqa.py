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

    # Chosen on dev by cosinet_search.py (reproduce/searches), for Cosinet pointwise and list-wise with a
    # BiRNN; every model has them. Pointwise, dev prefers a learning rate of 1e-3: experiments.txt gives it.
    embedding_dropout: float = 0.2
    """Share of the entries of word vectors that training drops; the paper names no dropout."""
    l2: float = 1e-5
    """Weight of the L2 penalty."""


if __name__ == "__main__":
    run_command(lambda: run_cosinet(tyro.cli(Config, description=__doc__)))
