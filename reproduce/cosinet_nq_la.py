"""Cosinet and Compare-Aggregate on Natural Questions (Table 6 of the Cosinet paper).

The paper's task, the paragraph that answers a question: python reproduce/cosinet_nq_la.py

A small sample, the sentence of the paragraph: python reproduce/cosinet_nq_la.py --dataset qed

NQ-LA wants the official files of Natural Questions, more than 40 GB: python -m data_prep get nq-la says where
to put them. The paper's word vectors are ConceptNet Numberbatch, 300 dimensions: name the file with
--embeddings.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.cosinet_experiment import CosinetConfig, run_cosinet


@dataclass(frozen=True, kw_only=True)
class Config(CosinetConfig):
    """Cosinet on Natural Questions."""

    dataset: str = "nq-la"
    """Name of the data set: nq-la or qed."""


if __name__ == "__main__":
    run_command(lambda: run_cosinet(tyro.cli(Config, description=__doc__)))
