"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on TrecQA, clean (Table 4 of the Attentive Pooling paper).

A quick look with one seed: python reproduce/attentive_pooling_trecqa.py --share-negatives

Five seeds, recorded: python reproduce/attentive_pooling_trecqa.py --record

The options that are not given are the paper's for the model (Table 2). The paper trains on the 1,162
questions of TRAIN-ALL that have correct and wrong answers; ours trains on every question with a correct one
(67 of the 1,229 have no wrong one), since the wrong answers come from the whole answer set. The paper reports
the clean protocol; one training serves both, clean and raw: they differ in the test questions that count.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.attentive_pooling_experiment import AttentivePoolingConfig, run_attentive_pooling


@dataclass(frozen=True, kw_only=True)
class Config(AttentivePoolingConfig):
    """Attentive Pooling on TrecQA."""

    dataset: str = "trecqa"
    """Name of the data set."""
    variant: str | None = "TRAIN-ALL"
    """Training set: TRAIN-ALL (1,229 questions) or TRAIN (94)."""
    mask_numbers: bool = True
    """Replace numbers by <num>, as the distributed file of TRAIN-ALL does, in every split."""


if __name__ == "__main__":
    run_command(lambda: run_attentive_pooling(tyro.cli(Config, description=__doc__)))
