"""Search Attentive Pooling's hyperparameters on the dev split, keeping a record of every trial.

    python reproduce/attentive_pooling_search.py --dataset wikiqa --model ap-cnn --share-negatives

Each trial draws one value of every option in SPACE, trains with a few seeds, and appends a line with its
options and dev figures to reproduce/searches/. The test split is never scored.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.attentive_pooling_experiment import (
    AttentivePoolingConfig,
    load_attentive_pooling_data,
    train_attentive_pooling,
)
from reproduce.search import SearchOptions, run_search

# Around the paper's values (Table 2), with Adam beside its SGD.
SPACE = {
    "optimizer": ("sgd", "adam"),
    "learning_rate": (0.3, 0.6, 1.1, 2.0),
    "learning_rate_decay": (True, False),
    "batch_size": (10, 20, 40),
    "margin": (0.05, 0.1, 0.2, 0.5),
    "sampled_negatives": (10, 50, 100),
    "negatives_from": ("answers", "answers", "own"),
    "embedding_dropout": (0.0, 0.2, 0.4),
    "l2": (0.0, 0.0, 1e-5, 1e-4),
}


@dataclass(frozen=True, kw_only=True)
class SearchConfig(SearchOptions, AttentivePoolingConfig):
    """The options of a search; options of the search space are drawn, unless --around keeps them near
    these.
    """


def complete(options: dict) -> dict:
    """Mend what does not go together: an optimizer with the other's learning rate, and shared draws from
    questions' own answers.
    """
    # Adam's steps do not grow with the gradient: SGD's 0.3, 0.6, 1.1 and 2 correspond to 3e-4 to 2e-3.
    if options["optimizer"] == "adam" and options["learning_rate"] > 0.05:
        options = options | {"learning_rate": round(options["learning_rate"] * 1e-3, 6)}
    if options["optimizer"] == "sgd" and options["learning_rate"] < 0.05:
        options = options | {"learning_rate": round(options["learning_rate"] * 1e3, 6)}
    if options["negatives_from"] == "own":
        options = options | {"share_negatives": False}
    return options


def search(config: SearchConfig) -> None:
    """Run the trials that are not recorded yet, and print the best."""
    run_search(
        config,
        SPACE,
        AttentivePoolingConfig,
        load_attentive_pooling_data,
        train_attentive_pooling,
        paper="attentive_pooling",
        complete=complete,
    )


if __name__ == "__main__":
    run_command(lambda: search(tyro.cli(SearchConfig, description=__doc__)))
