"""Search the options of a paper's model on dev with Optuna, and record every trial; test is never scored.

    python reproduce/studies/search.py hyperqa_wikiqa --trials 40
    python reproduce/studies/search.py ctrn_trecqa --model lstm --embeddings glove+spacy-450d

The first argument is a script of reproduce/; the other options are that script's and the ones of the search.
What is drawn stands with the paper's recipe (`suggest` in reproduce/experiments/); all else is as given. A
search that was interrupted goes on, and one with more --trials adds to it. Needs Optuna: pip install -e
'.[search]'.
"""

import hashlib
import importlib.util
import json
import statistics
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable
from answer_ranking.reproduce.experiments.options import RESULTS, Experiment, parse
from answer_ranking.reproduce.experiments.run import Seed, load_data, slug
from answer_ranking.training.options import check_range

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How long to search, and where to record it."""

    trials: int = 40
    """How many trials the search has, those of before included."""
    seeds: int = 2
    """How many seeds a trial has."""
    search_seed: int = 0
    """Seeds Optuna's sampler."""
    folder: Path = RESULTS.parent / "searches"
    """Folder of the recorded trials."""

    def __post_init__(self) -> None:
        check_range(self, "trials", "seeds", at_least=1)
        check_range(self, "search_seed", at_least=0)
        if importlib.util.find_spec("optuna") is None:
            raise UserError("the search needs Optuna: pip install -e '.[search]'")


def search(experiment: Experiment, recipe: ModuleType) -> "optuna.Study":
    """Run the trials that are not recorded yet, and print the best.

    The experiment has the options that are not drawn, and `SearchOptions` as its run; the recipe is the
    paper's module with `suggest` and `train`.
    """
    import optuna
    from optuna.trial import TrialState

    from answer_ranking.training import TrainingDivergedError

    options: SearchOptions = experiment.run
    check_writable(options.folder)
    data = getattr(recipe, "load", load_data)(experiment.data)

    def dev_map(trial: optuna.Trial) -> float:
        drawn = experiment.changed(**recipe.suggest(trial, experiment))
        try:
            fits = [recipe.train(drawn, data, Seed(number))[1] for number in range(options.seeds)]
        except TrainingDivergedError as error:
            trial.set_user_attr("diverged", str(error))
            raise optuna.TrialPruned from error
        maps = [fit.history[fit.best_epoch]["dev_map"] for fit in fits]
        trial.set_user_attr("dev_map", maps)
        trial.set_user_attr("best_epoch", [fit.best_epoch for fit in fits])
        trial.set_user_attr("seconds", round(sum(fit.seconds for fit in fits), 1))
        return statistics.mean(maps)

    paper = recipe.__name__.rpartition(".")[2]
    name = slug(paper, experiment.data.dataset, data.dataset.variant, experiment.name)
    path = options.folder / f"{name}.journal"
    # Trials of other options, seeds or data are another study in the same file.
    fixed = {"options": experiment.configuration, "seeds": options.seeds, "data": data.data_hash}
    study_name = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()[:12]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
        study = optuna.create_study(
            storage=storage, study_name=study_name, direction="maximize", load_if_exists=True
        )
    except (ValueError, KeyError) as error:
        raise UserError(f"{path} is damaged ({error}). Remove it to search again.") from error
    study.set_user_attr("fixed", fixed)
    done = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED)))
    # A search that goes on draws other options than its beginning did.
    study.sampler = optuna.samplers.TPESampler(seed=options.search_seed + len(study.trials))
    study.optimize(
        dev_map, n_trials=max(options.trials - done, 0), show_progress_bar=True, gc_after_trial=True
    )
    finished = [trial for trial in study.trials if trial.value is not None]
    diverged = sum("diverged" in trial.user_attrs for trial in study.trials)
    print(f"{len(finished)} trials, and {diverged} that diverged")
    for trial in sorted(finished, key=lambda trial: -trial.value)[:10]:
        print(f"{trial.value:.4f}  {trial.params}")
    print(f"Trials: {path}")
    return study


def main(args: list[str]) -> None:
    """Read the command line, and search."""
    scripts = sorted(path.stem for path in RESULTS.parent.glob("*_*.py") if not path.stem.startswith("_"))
    script = args[0] if args else ""
    if script not in scripts:
        if {"-h", "--help"} & set(args):
            print(__doc__)
            return
        raise UserError(f"the first argument must be one of {', '.join(scripts)}. Received: {script!r}")
    module = import_module(f"answer_ranking.reproduce.{script}")
    searched = [replace(preset, run=SearchOptions()) for preset in module.PRESETS]
    experiment = parse(__doc__, searched, args[1:])
    # A model's options stand in the file of its recipe.
    search(experiment, sys.modules[type(experiment.model).__module__])


if __name__ == "__main__":
    run_command(lambda: main(sys.argv[1:]))
