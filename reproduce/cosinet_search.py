"""Search Cosinet's hyperparameters on the dev split, keeping a record of every trial.

    python reproduce/cosinet_search.py --dataset wikiqa --objective listwise --across birnn

Each trial draws one value of every option in SPACE, trains with a few seeds, and appends a line with its
options and dev figures to reproduce/searches/. The test split is never scored.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.cosinet_experiment import CosinetConfig, train_cosinet
from reproduce.experiment import load_experiment_data
from reproduce.search import SearchOptions, run_search

# Around the paper's values (3 epochs; at most 2e-3 pointwise, 2e-4 list-wise); it names neither the sizes of
# batches nor any dropout.
SPACES = {
    "pointwise": {
        "learning_rate": (3e-4, 1e-3, 2e-3, 4e-3),
        "batch_size": (16, 32, 64, 128),
    },
    "listwise": {
        "learning_rate": (1e-4, 2e-4, 5e-4, 1e-3),
        "batch_size": (4, 8, 16, 32),
    },
}
SHARED_SPACE = {
    "epochs": (3, 5),
    "activation": ("relu", "tanh"),
    "embedding_dropout": (0.0, 0.2),
    "dropout": (0.0, 0.3),
    "l2": (0.0, 1e-5, 1e-4),
}


@dataclass(frozen=True, kw_only=True)
class SearchConfig(SearchOptions, CosinetConfig):
    """The options of a search; options of the search space are drawn, unless --around keeps them near
    these.
    """


def search(config: SearchConfig) -> None:
    """Run the trials that are not recorded yet, and print the best."""
    run_search(
        config,
        SPACES[config.objective] | SHARED_SPACE,
        CosinetConfig,
        load_experiment_data,
        train_cosinet,
        paper="cosinet",
    )


if __name__ == "__main__":
    run_command(lambda: search(tyro.cli(SearchConfig, description=__doc__)))
