"""HyperQA on WikiQA (Table 2 of the paper).

python reproduce/hyperqa_wikiqa.py                        # a quick look: one seed
python reproduce/hyperqa_wikiqa.py --record --main        # five seeds, recorded

"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa


@dataclass(frozen=True, kw_only=True)
class Config(HyperQAConfig):
    """HyperQA on WikiQA; the defaults were chosen on dev (reproduce/searches)."""

    dataset: str = "wikiqa"
    """Name of the data set."""
    batch_size: int = 50
    """Questions in a batch, each with all its answers of the epoch."""
    dimension: int = 400
    """d, the size of projected words and of text vectors."""
    embedding_dropout: float = 0.3
    """Share of the entries of word vectors that training drops."""
    foreign_negatives: int = 0
    """How many answers of other questions to add per question and epoch."""
    clip_norm: float | None = None
    """Largest norm of the whole converted gradient; None for no limit."""


if __name__ == "__main__":
    run_command(lambda: run_hyperqa(tyro.cli(Config, description=__doc__)))
