"""Equal budgets: choose a model's options on dev and measure it on test, in the same way for every model.

    python reproduce/studies/equal_budget.py --model hyperqa --dataset wikiqa --record fair/wikiqa/hyperqa
    python reproduce/studies/equal_budget.py --model ctrn --variant TRAIN --record fair/trecqa-train/ctrn

A trial is one training, with options drawn at random: those that all models share (`SHARED`, and factors on
learning rate and batch size), and the model's own (`space` of its entry in models/catalogue/), which may
have other values of a shared option, as many. The values of earlier searches are none of them: these were
of unequal length. The same number of a trial draws the same shared options for every model. An option that
is drawn cannot be given. A trial stops early once its best dev MAP is below the median of the trials
before. The best trial on dev is trained with fresh seeds, which are scored on test. Without --record
nothing is scored on test.

A search that was interrupted goes on, and one with more --trials adds to it. Seconds are those of the
processor, which do not depend on what else the machine does.
"""

from dataclasses import dataclass, replace
from typing import Any

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import slug
from answer_ranking.base.ranges import check_range
from answer_ranking.models.catalogue import CATALOGUE, Entry
from answer_ranking.reproduce.experiments.data_options import data_options_of
from answer_ranking.reproduce.experiments.options import TRIALS, Experiment, StudyOptions, parse
from answer_ranking.reproduce.experiments.random_search import RandomSearch
from answer_ranking.reproduce.experiments.run import Run, check_records

SHARED = {
    "l2": (0.0, 1e-6, 1e-5, 1e-4),
    "dropout": (0.0, 0.1, 0.3, 0.5),
    "embedding_dropout": (0.0, 0.1, 0.2, 0.4),
}
FACTORS = {"learning_rate": (0.25, 0.5, 1, 2, 4), "batch_size": (0.25, 0.5, 1, 2)}
"""On the value that the experiment has: the paper's, or what is usual for its optimizer."""
CHANGED = {
    "hyperqa": {"learning_rate": 0.1},
    # QA-CNN as the others, whatever its paper has: single pairs take 20 times as long.
    "attentive_pooling": {
        "learning_rate": 1.1,
        "batch_size": 20,
        "share_negatives": True,
        "word_vector_norm": 2.0,
    },
}
"""By paper, what differs from its own experiments."""


@dataclass(frozen=True, kw_only=True)
class BudgetOptions(StudyOptions):
    """How long to search, and what is measured then."""

    trials: int = 24
    """How many trials the search has, those of before included."""
    search_seed: int = 0
    """Seeds the options that are drawn, and the training of every trial."""
    seeds: int = 10
    """How many seeds of the chosen options to train and to score on test."""
    first_seed: int = 100
    """The first of these seeds; the others follow it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "trials", at_least=1)
        check_range(self, "search_seed", at_least=0, at_most=1_000_000)  # as `first_seed`
        if self.search_seed in self.seed_list:
            raise UserError(f"search_seed {self.search_seed} is a seed for test. Choose another one.")

    @property
    def search(self) -> dict[str, int]:
        return {"trials": self.trials}


def presets() -> list[Experiment]:
    """State every trained model of the papers, on WikiQA and with `--variant TRAIN` on TrecQA.

    Learning rate and batch size are the middle of what is drawn.
    """
    on_trecqa = {"dataset": "trecqa", "variant": "TRAIN", "mask_numbers": True}
    found = []
    for data in ({"dataset": "wikiqa"}, on_trecqa):
        for entry in CATALOGUE.values():
            if entry.reads == "words" and entry.printed:
                stated = experiment_on(entry, data).changed(patience=5)
                found.append(replace(stated, run=BudgetOptions()))
    return found


def experiment_on(entry: Entry, data: dict[str, Any]) -> Experiment:
    """State a model of the catalogue on a data set."""
    given = dict(data)
    if entry.takes_features:
        # CTRN's paper has them on TrecQA alone.
        given["overlap_features"] = entry.paper != "ctrn" or data["dataset"] == "trecqa"
    return Experiment.of(entry.name, data_options_of(entry)(**given), **CHANGED.get(entry.paper, {}))


def search_of(experiment: Experiment) -> RandomSearch:
    """State the search of an experiment: what all models share, and last the model's own options."""
    options, own = experiment.run, experiment.entry.space
    return RandomSearch(
        experiment=experiment,
        # A model's own values are the values themselves, no factors.
        factors={name: values for name, values in FACTORS.items() if name not in own},
        space={**SHARED, **own},
        trials=options.trials,
        seed=options.search_seed,
    )


def refuse_drawn(experiment: Experiment) -> None:
    """Refuse an option that the search draws, since what the user gives would have no effect."""
    usual = [each.configuration for each in presets() if each.name == experiment.name]
    for name in search_of(experiment).space:
        given = experiment.configuration.get(name)
        if usual and given not in [each.get(name) for each in usual]:
            raise UserError(f"the search draws {name}: leave --{name.replace('_', '-')} out.")


def equal_budget(experiment: Experiment) -> Run | None:
    """Search the options of an experiment; with --record train and measure the best."""
    options = experiment.run
    name = slug(experiment.data.dataset, experiment.data.variant or "", experiment.name)
    path = options.output / "equal_budget" / f"{name}{TRIALS}"
    if record := options.record_file:
        path = record.with_suffix(TRIALS)
    refuse_drawn(experiment)
    data = experiment.data.load()
    check_records(experiment, data)  # before the search, not after it
    folder = options.output / "equal_budget" / slug(options.record or name)
    search = search_of(experiment)
    trials = search.run(data, path, folder)
    return search.record(trials, data) if options.record else None


if __name__ == "__main__":
    run_command(lambda: equal_budget(parse(__doc__, presets())))
