"""Search CTRN's hyperparameters on the dev split, keeping a record of every trial.

    python reproduce/ctrn_search.py --dataset trecqa --variant TRAIN --overlap-features --mask-numbers

Each trial draws one value of every option in SPACE, trains with a few seeds, and appends a line with its
options and dev figures to reproduce/searches/. The test split is never scored.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.ctrn_experiment import CTRNConfig, load_ctrn_data, train_ctrn
from reproduce.search import SearchOptions, run_search

# The paper's grid (learning rate 1e-3 to 1e-5, batch 64 to 512, 1 to 3 hidden layers, d from 128) as far as
# it fits two cores, with smaller batches and dropout as well.
SPACE = {
    "learning_rate": (1e-4, 3e-4, 1e-3, 3e-3),
    "batch_size": (32, 64, 128),
    "filters": (128, 256),
    "hidden": ((64,), (128,), (128, 128)),
    "kernel_size": (1, 2, 3),
    "dropout": (0.2, 0.5),
    "embedding_dropout": (0.0, 0.2),
    "l2": (0.0, 4e-6, 1e-4),
}


@dataclass(frozen=True, kw_only=True)
class SearchConfig(SearchOptions, CTRNConfig):
    """The options of a search; options of the search space are drawn, unless --around keeps them near
    these.
    """


def search(config: SearchConfig) -> None:
    """Run the trials that are not recorded yet, and print the best."""
    run_search(
        config,
        SPACE,
        CTRNConfig,
        load_ctrn_data,
        train_ctrn,
        paper="ctrn",
    )


if __name__ == "__main__":
    run_command(lambda: search(tyro.cli(SearchConfig, description=__doc__)))
