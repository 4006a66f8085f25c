"""CTRN, QRNN and the LSTM baseline on TrecQA (Table 6 of the CTRN paper).

A quick look with one seed: python reproduce/ctrn_trecqa.py --model ctrn

The large training set: python reproduce/ctrn_trecqa.py --variant TRAIN-ALL --epochs 5

Five seeds, recorded: python reproduce/ctrn_trecqa.py --record

The paper appends four word-overlap features to the text vectors. They are strong by themselves: --model
features shows what they reach alone, --no-overlap-features what a network reaches without them.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.ctrn_experiment import CTRNConfig, run_ctrn


@dataclass(frozen=True, kw_only=True)
class Config(CTRNConfig):
    """CTRN on TrecQA."""

    dataset: str = "trecqa"
    """Name of the data set."""
    variant: str | None = "TRAIN"
    """TRAIN (94 questions, 25 epochs in the paper) or TRAIN-ALL (1,229 questions, 5 epochs)."""
    mask_numbers: bool = True
    """Replace numbers by <num>, as the distributed file of TRAIN-ALL does, in every split."""
    overlap_features: bool = True
    """Append the four word-overlap features to the text vectors, as the paper does."""

    # QRNN's, by a recorded search on TRAIN's dev questions; experiments.txt has CTRN's and the LSTM's.
    learning_rate: float = 3e-4
    """Learning rate of the optimizer."""
    batch_size: int = 64
    """Question-answer pairs in a batch."""
    kernel_size: int = 3
    """k, the words in the window of the convolutions."""
    hidden: tuple[int, ...] = (128,)
    """Sizes of the layers of the MLP; 1 to 3 layers in the paper."""
    dropout: float = 0.2
    """Share of the entries of text vectors and hidden layers that training drops."""
    embedding_dropout: float = 0.2
    """Share of the entries of word vectors that training drops."""


if __name__ == "__main__":
    run_command(lambda: run_ctrn(tyro.cli(Config, description=__doc__)))
