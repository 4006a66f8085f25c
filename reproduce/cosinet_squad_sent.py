"""Cosinet and Compare-Aggregate on SQuAD-sent (Table 5 of the Cosinet paper).

One seed: python reproduce/cosinet_squad_sent.py --objective listwise --across birnn

Recorded: python reproduce/cosinet_squad_sent.py --record --seeds 1

The paper's word vectors are ConceptNet Numberbatch, 300 dimensions: name the file with --embeddings.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.cosinet_experiment import CosinetConfig, run_cosinet


@dataclass(frozen=True, kw_only=True)
class Config(CosinetConfig):
    """Cosinet on SQuAD-sent."""

    dataset: str = "squad-sent"
    """Name of the data set."""
    variant: str | None = "v1.1"
    """Training set: v1.1, or v2.0, which the paper has (its unanswerable questions are left out of training,
    see --answerable-only)."""


if __name__ == "__main__":
    run_command(lambda: run_cosinet(tyro.cli(Config, description=__doc__)))
