"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on WikiQA (Table 5 of the Attentive Pooling paper).

A quick look with one seed: python reproduce/attentive_pooling_wikiqa.py --share-negatives

Another model: python reproduce/attentive_pooling_wikiqa.py --model qa-bilstm

Five seeds, recorded: python reproduce/attentive_pooling_wikiqa.py --record

The options that are not given are the paper's for the model (Table 2). --share-negatives draws the wrong
answers once per batch and not for each pair, which takes a fraction of the time.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.attentive_pooling_experiment import AttentivePoolingConfig, run_attentive_pooling


@dataclass(frozen=True, kw_only=True)
class Config(AttentivePoolingConfig):
    """Attentive Pooling on WikiQA."""

    dataset: str = "wikiqa"
    """Name of the data set."""


if __name__ == "__main__":
    run_command(lambda: run_attentive_pooling(tyro.cli(Config, description=__doc__)))
