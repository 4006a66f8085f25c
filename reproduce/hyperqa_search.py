"""Search HyperQA's hyperparameters on the dev split, keeping a record of every trial.

    python reproduce/hyperqa_search.py --dataset wikiqa --trials 40

Each trial draws one value of every option in SPACE, trains with a few seeds, and appends a line with its
options and dev figures to reproduce/searches/. The test split is never scored.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.experiment import load_experiment_data
from reproduce.hyperqa_experiment import HyperQAConfig, train_hyperqa
from reproduce.search import SearchOptions, run_search

# The paper's grid (learning rate 0.01-0.2, d 100-400, L2 1e-5-1e-3, margin 1-20, 2-8 negatives),
# widened.
SPACE = {
    "learning_rate": (0.02, 0.05, 0.1, 0.2, 0.3),
    "batch_size": (8, 16, 32, 50, 100),
    "dimension": (100, 200, 300, 400),
    "margin": (0.1, 0.25, 0.5, 1.0, 2.0, 5.0),
    "max_norm": (0.3, 0.5, 0.7, 0.9, 0.99),
    "eq9": ("none", "none", "released_code", "parameters", "points"),
    "clip_norm": (0.3, 1.0, 5.0, None),
    "own_negatives": (None, None, 4, 8),
    "sampling": ("random", "mix"),
    "foreign_negatives": (0, 2, 4, 8, 16),
    "dropout": (0.0, 0.0, 0.1, 0.2),
    "embedding_dropout": (0.0, 0.0, 0.1, 0.2, 0.3),
    "reduction": ("sum", "question_mean"),
    "l2": (0.0, 0.0, 1e-5, 1e-4, 1e-3),
}


@dataclass(frozen=True, kw_only=True)
class SearchConfig(SearchOptions, HyperQAConfig):
    """The options of a search; options of the search space are drawn, unless --around keeps them near
    these.
    """


def complete(options: dict) -> dict:
    """Draw no wrong answers where all of a question's are taken: there is nothing to choose among."""
    return options if options["own_negatives"] is not None else options | {"sampling": "random"}


def search(config: SearchConfig) -> None:
    """Run the trials that are not recorded yet, and print the best."""
    # CosineQA has no other reading of Eq. 9.
    space = SPACE if config.model == "hyperqa" else SPACE | {"eq9": ("none",)}
    run_search(
        config,
        space,
        HyperQAConfig,
        load_experiment_data,
        train_hyperqa,
        paper="hyperqa",
        complete=complete,
    )


if __name__ == "__main__":
    run_command(lambda: search(tyro.cli(SearchConfig, description=__doc__)))
