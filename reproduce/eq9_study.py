"""HyperQA under every reading of Eq. 9, and CosineQA, each at the learning rate that suits it on dev.

    python reproduce/eq9_study.py --dataset wikiqa --dimensions 50 100 200 300

The recorded ones have --embeddings glove-6b-50d glove.6B.100d.subset.txt.gz spacy-md.300d.subset.txt.gz as
well; the second is --dataset trecqa, without other sizes. A seed takes about 20 s of one core on WikiQA.

Tunes the learning rate of every condition with seeds of its own, the test split unseen; trains all seeds at
the chosen rates; sums up quality, convergence, norms and the share of texts on the ball's edge in
reproduce/results/eq9/, and draws the figure into docs/. `python -m evaluation.report` then writes the tables
of docs/eq9.md. A study that was killed goes on with the seed that it was at. A condition that diverges is
reported as such.
"""

import gc
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro
from tqdm import tqdm

from data_prep.cli import run_command
from data_prep.errors import UserError
from data_prep.files import atomic_write, check_writable, remove_leftovers
from evaluation.eq9_summary import COSINE, TITLES
from evaluation.recorded_code import environment_of, unpack_recorded_code
from reproduce.experiment import (
    RESULTS,
    ROOT,
    ExperimentData,
    SeedRun,
    clean_command,
    config_fingerprints,
    experiment_key,
    load_experiment_data,
    per_question,
    save_figure,
    slug,
)
from reproduce.hyperqa_experiment import HyperQAConfig, train_hyperqa
from reproduce.hyperqa_trecqa import Config as TrecQAConfig
from reproduce.hyperqa_wikiqa import Config as WikiQAConfig
from reproduce.trials import append_trial, read_trials
from training.option_ranges import check_range
from training.pairwise_settings import Eq9

if TYPE_CHECKING:
    import keras

Condition = Literal[Eq9, "cosineqa"]
"""A reading of Eq. 9, see `training.riemannian`, or CosineQA."""

FIRST_TUNING_SEED = 1000
COMPARED_EPOCHS = 5
"""How long two states of the code train to be compared."""
RUN_SOURCES = (
    "reproduce/eq9_study.py::train",
    "reproduce/eq9_study.py::train_seed",
    "training/norm_tracker.py",
)
"""The code on which the numbers of one training depend, beside HyperQA's."""
SOURCES = (
    "reproduce/eq9_study.py",
    "training/norm_tracker.py",
    "evaluation/eq9_summary.py",
    "evaluation/significance.py",
)
"""The code on which the study's numbers depend, beside HyperQA's."""
# Whose defaults a data set's runs have; the sample has no script of its own.
_SCRIPTS = {"wikiqa": WikiQAConfig, "trecqa": TrecQAConfig, "sample": HyperQAConfig}


@dataclass(frozen=True, kw_only=True)
class Config:
    """The options of the study; whatever is no option here is as in the data set's own script."""

    dataset: Literal["wikiqa", "trecqa", "sample"] = "wikiqa"
    """Name of the data set; trecqa is TRAIN-ALL, clean."""
    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated."""
    conditions: tuple[Condition, ...] = tuple(TITLES)
    """What to compare: HyperQA under readings of Eq. 9, and CosineQA."""
    learning_rates: tuple[float, ...] = (0.03, 0.1, 0.3)
    """The rates to choose from on dev; more of them add trials to those that are recorded."""
    tuning_seeds: int = 3
    """How many seeds a trial of a rate has; they begin at 1000, the study's own at 0."""
    seeds: int = 10
    """How many seeds of every condition to train at its rate."""
    dimension: int = 400
    """d, the size of text vectors in the main comparison."""
    dimensions: tuple[int, ...] = ()
    """Further sizes at which to do the same, the tuning too (Fig. 3)."""
    size_seeds: int = 5
    """How many seeds to train at each further size."""
    epochs: int = 25
    """Passes over the training data."""
    max_norm: float = 0.7
    """Largest norm of a text vector in the ball."""
    clip_norm: float | None = 1.0
    """Largest norm of the whole gradient after its conversion, for all conditions; None for no limit."""
    level: float = 0.95
    """Convergence is the first epoch at this share of the best condition's mean best dev MAP."""
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""
    results: Path = RESULTS / "eq9"
    """Folder of the trials and of the summary."""
    figures: Path | None = None
    """Folder of the figure; docs/ unless given, but with other --results than the usual ones that folder."""
    output: Path = Path("outputs") / "eq9"
    """Folder of the finished seeds, from which a study goes on."""
    confirm: bool = False
    """Train only the first seed of every condition and size of the recorded study once more; where these give
    the recorded numbers, the record counts as up to date with the code, and says so in its notes. Where they
    do not, the code that made the record is tried as well, for a few epochs: the machine may be another."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for name in ("seeds", "tuning_seeds", "size_seeds"):
            check_range(self, name, at_least=1, at_most=FIRST_TUNING_SEED)
        check_range(self, "epochs", at_least=1)
        check_range(self, "level", above=0, at_most=1)
        for name in ("conditions", "learning_rates", "dimensions"):
            values = getattr(self, name)
            if len(set(values)) < len(values) or (not values and name != "dimensions"):
                raise UserError(f"{name} must be different values, at least one. Received: {values}")
        for condition in self.conditions:
            for rate in self.learning_rates:
                for dimension in self.sizes:
                    # Their own class refuses a rate, a size or a norm that is out of range.
                    self.of_condition(condition, rate, dimension)

    @property
    def sizes(self) -> dict[int, int]:
        """The number of seeds by size, the main one first."""
        others = dict.fromkeys(self.dimensions, self.size_seeds)
        return {self.dimension: self.seeds, **(others | {self.dimension: self.seeds})}

    @property
    def figure_folder(self) -> Path:
        """The folder of the figure."""
        recorded = self.results.resolve() == (RESULTS / "eq9").resolve()
        return self.figures or (ROOT / "docs" if recorded else self.results)

    def of_condition(self, condition: str, learning_rate: float, dimension: int) -> HyperQAConfig:
        """Make the configuration of a condition's training."""
        cosine = condition == COSINE
        return _SCRIPTS[self.dataset](
            dataset=self.dataset,
            embeddings=self.embeddings,
            model="cosineqa" if cosine else "hyperqa",
            eq9="none" if cosine else condition,
            learning_rate=learning_rate,
            dimension=dimension,
            epochs=self.epochs,
            max_norm=self.max_norm,
            clip_norm=self.clip_norm,
            data_home=self.data_home,
            embeddings_home=self.embeddings_home,
        )


def run_key(config: HyperQAConfig, data: ExperimentData) -> str:
    """Name a condition's configuration by a hash of its options, its data and the code of its training."""
    from evaluation.source_fingerprints import source_fingerprints

    parts = [experiment_key(config, data), source_fingerprints(RUN_SOURCES, ROOT)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def train(
    config: HyperQAConfig,
    data: ExperimentData,
    seed: int,
    *,
    splits: Sequence[str],
    callbacks: Sequence["keras.callbacks.Callback"] = (),
) -> SeedRun:
    """Train as `train_hyperqa` does; neither the state nor the ranker is kept."""
    run = train_hyperqa(config, data, seed, splits=splits, callbacks=callbacks)
    # Models refer to themselves in circles: hundreds of them would fill the memory before Python looks.
    run = replace(run, ranker=None)
    gc.collect()
    return run


def tune(
    config: Config,
    data: ExperimentData,
    condition: str,
    dimension: int,
    path: Path,
    done: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Choose the learning rate of a condition on dev, trying what is not recorded yet; test is not scored.

    Args:
        config: the study.
        data: the data.
        condition: the condition.
        dimension: d.
        path: the file of the trials, a JSON object a line.
        done: called after every trial.

    Returns:
        What `evaluation.eq9_summary.choose_rate` returns.

    Raises:
        UserError: the file of the trials is damaged or cannot be written.
    """
    from evaluation.eq9_summary import choose_rate
    from training.callbacks import TrainingDivergedError

    tried = []
    # What recognises a trial, and what the choice reads.
    needed = ("key", "seed", "learning_rate")
    for rate in config.learning_rates:
        of_rate = config.of_condition(condition, rate, dimension)
        key = run_key(of_rate, data)
        for seed in range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + config.tuning_seeds):
            recorded = {(trial["key"], trial["seed"]): trial for trial in read_trials(path, *needed)}
            trial = recorded.get((key, seed))
            if trial is None:
                began = time.perf_counter()
                try:
                    run = train(of_rate, data, seed, splits=())
                except TrainingDivergedError as error:
                    outcome = {"diverged": str(error)}
                else:
                    best = run.history[run.best_epoch]["dev_map"]
                    outcome = {"dev_map": round(best, 6), "best_epoch": run.best_epoch + 1}
                trial = {
                    "key": key,
                    "condition": condition,
                    "dimension": dimension,
                    "learning_rate": rate,
                    "max_norm": config.max_norm,
                    "clip_norm": config.clip_norm,
                    "epochs": config.epochs,
                    "seed": seed,
                    **outcome,
                    "seconds": round(time.perf_counter() - began, 1),
                }
                append_trial(path, trial)
            tried.append(trial)
            done()
    return choose_rate(tried)


def train_seed(config: HyperQAConfig, data: ExperimentData, seed: int, rule: str, path: Path) -> dict:
    """Train one seed at the chosen rate, or read what it gave.

    Args:
        config: the condition's configuration.
        data: the data.
        seed: the seed.
        rule: which test questions count.
        path: the file of this seed.

    Returns:
        The options that tell conditions apart, `seed`, and either `diverged` or `best_epoch` (from 0),
        `history`, `norms` on dev, and `test`, the metrics of every question.

    Raises:
        UserError: the file is damaged or cannot be written.
    """
    from evaluation import METRICS, questions_that_count
    from training.callbacks import TrainingDivergedError
    from training.norm_tracker import NormTracker

    if path.exists():
        try:
            return json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise UserError(f"{path} is damaged ({error}). Remove it to train this seed again.") from error
    named = {name: getattr(config, name) for name in ("model", "eq9", "learning_rate", "dimension")}
    tracker = NormTracker(data.encoded.dev, config.max_norm)
    try:
        run = train(config, data, seed, splits=("test",), callbacks=[tracker])
    except TrainingDivergedError as error:
        found = {**named, "seed": seed, "diverged": str(error)}
    else:
        table = per_question(data.encoded.test, run.scores["test"])
        table = table[questions_that_count(table, rule)]
        test = {"question_ids": table.index.tolist(), **{name: table[name].tolist() for name in METRICS}}
        found = {
            **named,
            "seed": seed,
            "best_epoch": run.best_epoch,
            "history": run.history,
            "norms": tracker.rows,
            "test": test,
        }
    with atomic_write(path) as file:
        json.dump(found, file)
    return found


def refuse_to_lose(config: Config, path: Path) -> None:
    """Refuse to put a study in the place of a recorded one that has more.

    Args:
        config: the study.
        path: the file of its summary, which may be missing.

    Raises:
        UserError: the recorded study has conditions, sizes or learning rates that this one lacks, or more
            seeds.
    """
    from evaluation.eq9_summary import load_study

    if not path.exists():
        return
    record = load_study(path)
    sizes = dict.fromkeys(each["dimension"] for each in record["conditions"])
    seeds = {size: record["size_seeds" if place else "seeds"] for place, size in enumerate(sizes)}
    more = {
        "conditions": {each["condition"] for each in record["conditions"]} - set(config.conditions),
        "sizes": seeds.keys() - config.sizes.keys(),
        "learning rates": set(record["tuning"]["learning_rates"]) - set(config.learning_rates),
        "seeds": {f"{n} at d = {d}" for d, n in seeds.items() if n > config.sizes.get(d, n)},
    }
    if record["tuning"]["seeds"] > config.tuning_seeds:
        more["tuning seeds"] = {record["tuning"]["seeds"]}
    lost = [f"{name} {', '.join(map(str, sorted(each)))}" for name, each in more.items() if each]
    if lost:
        raise UserError(
            f"{path} is a study with more than this one would have: {'; '.join(lost)}. Ask for these too, "
            "or name another folder with --results, where the figure goes, too."
        )


def begin(config: Config) -> tuple[ExperimentData, dict[str, str], dict, tuple, Path]:
    """Load a study's data, and say what it is about.

    Args:
        config: the study.

    Returns:
        The data; the fingerprints of the code; the options that all conditions have in common; the names of
        data set, training set and word vectors; and the summary's file.

    Raises:
        UserError: data are missing.
    """
    from evaluation.records import without_paths
    from evaluation.source_fingerprints import source_fingerprints

    base = config.of_condition(config.conditions[0], config.learning_rates[0], config.dimension)
    data = load_experiment_data(base)
    # Taken before the training, during which somebody may change a file.
    code = config_fingerprints(base) | source_fingerprints(SOURCES, ROOT)
    drawn = {"model", "eq9", "learning_rate", "dimension", "dimensions"}
    common = {name: value for name, value in without_paths(base.matters()).items() if name not in drawn}
    names = (config.dataset, data.dataset.variant, data.word_vectors.name)
    text = json.dumps([common, config.dimension], sort_keys=True)
    name = slug(*names, hashlib.sha256(text.encode()).hexdigest()[:6])
    return data, code, common, names, config.results / f"{name}.json"


def confirm(config: Config) -> Path:
    """Train the first seed of every condition and size once more; renew the fingerprints if nothing differs.

    The rates are not chosen again, and what diverged at all of them is not tried.

    Where a number differs, another machine may have made the record. Then the code of today and the code that
    made the record both train a seed of every condition and size on this machine, for `COMPARED_EPOCHS`; the
    same numbers with both confirm the record, too.

    Args:
        config: the study.

    Returns:
        The summary's file.

    Raises:
        UserError: there is no record of the study, or a number is another now.
    """
    from evaluation.eq9_summary import load_study, save_study

    data, code, _, _, path = begin(config)
    if not path.exists():
        raise UserError(f"there is no {path} to confirm. Run the study without --confirm.")
    record = load_study(path)
    notes = "The first seed of every condition gave the same numbers again after changes of the code."
    if differing := _differs_from_record(config, data, record):
        if not _same_with_recorded_code(config, record, path):
            raise UserError(f"not confirmed: {differing}. Run the study again without --confirm.")
        notes = (
            "On another machine first seeds gave other numbers than here, but in their first "
            f"{COMPARED_EPOCHS} epochs the same ones with the code that made this record and after changes "
            "of the code."
        )
    save_study(record | {"code": code, "data": data.fingerprint(), "notes": notes}, path)
    print(f"confirmed: {path}")
    return path


def _differs_from_record(config: Config, data: ExperimentData, record: dict[str, Any]) -> str | None:
    """Train first seeds until one gives other numbers than in the record; say which."""
    from evaluation.eq9_summary import summarise_conditions

    rule = data.dataset.description.protocols[record["protocol"]]
    for recorded in tqdm(record["conditions"], desc=data.title, unit="condition", dynamic_ncols=True):
        if not recorded["seeds"]:
            continue
        name, seed, dimension = recorded["condition"], recorded["seeds"][0], recorded["dimension"]
        chosen = config.of_condition(name, recorded["learning_rate"], dimension)
        with tempfile.TemporaryDirectory() as folder:
            run = train_seed(chosen, data, seed, rule, Path(folder) / "seed.json")
        again = summarise_conditions(dimension, {name: {}}, {name: [run]}, record["level"])[0]
        if differing := _first_difference(recorded, again):
            return f"at d = {dimension}, {name}, seed {seed}, {differing}"
    return None


def _same_with_recorded_code(config: Config, record: dict[str, Any], path: Path) -> bool:
    """Say whether the code that made a record does here as the code of today does."""
    print("the numbers are others; once more with the code that made the record", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if not unpack_recorded_code(path, record["code"], ROOT, Path(folder)):
            print("the code that made the record is not in the repository's history")
            return False
        for dimension, rate in dict.fromkeys(
            (each["dimension"], each["learning_rate"]) for each in record["conditions"] if each["seeds"]
        ):
            names = [
                each["condition"]
                for each in record["conditions"]
                if each["seeds"] and (each["dimension"], each["learning_rate"]) == (dimension, rate)
            ]
            now, then = (_short_study(config, root, names, dimension, rate) for root in (ROOT, folder))
            for name in names:
                known = now is not None and then is not None
                differing = _first_difference(then[name], now[name]) if known else "a training failed"
                if differing:
                    print(f"with the code that made the record, at d = {dimension}, {name}, {differing}")
                    return False
    return True


def _short_study(
    config: Config, root: str | Path, names: Sequence[str], dimension: int, rate: float
) -> dict[str, dict[str, Any]] | None:
    """Train a seed of some conditions for a few epochs with the code under `root`; None where that fails."""
    from evaluation.eq9_summary import load_study

    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {
            "dataset": config.dataset,
            "embeddings": config.embeddings,
            "conditions": names,
            "learning-rates": rate,
            "tuning-seeds": 1,
            "seeds": 1,
            "dimension": dimension,
            "epochs": COMPARED_EPOCHS,
            "max-norm": config.max_norm,
            "clip-norm": config.clip_norm,
            "data-home": config.data_home,
            "embeddings-home": config.embeddings_home,
            "results": folder,
            "output": folder,
        }
        words = [sys.executable, "reproduce/eq9_study.py"]
        for option, value in options.items():
            if value is not None or option == "clip-norm":
                words += [f"--{option}", *map(str, value if isinstance(value, list | tuple) else [value])]
        if subprocess.run(words, cwd=root, env=environment_of(root), check=False).returncode:
            return None
        (path,) = Path(folder).glob("*.json")
        return {each["condition"]: each for each in load_study(path)["conditions"]}


def _first_difference(recorded: dict[str, Any], again: dict[str, Any]) -> str | None:
    """Say in what the first seed's numbers differ from those of the same training done again."""
    if not again["seeds"]:
        return "the training diverges now"
    if recorded["question_ids"] != again["question_ids"]:
        return "other questions count"
    was, now = (
        {f"dev MAP of epoch {number}": value for number, value in enumerate(each["dev_map"][0], start=1)}
        | {f"{metric} on test": of_seeds["per_seed"][0] for metric, of_seeds in each["metrics"].items()}
        for each in (recorded, again)
    )
    if was.keys() != now.keys():
        return f"there are {len(again['dev_map'][0])} epochs, not {len(recorded['dev_map'][0])}"
    # The record is rounded.
    differing = (
        f"{name} was {was[name]} and is {now[name]:.6f}" for name in was if abs(was[name] - now[name]) > 1e-6
    )
    return next(differing, None)


def study(config: Config) -> Path:
    """Do what of the study is not done yet, sum it up, and draw the figure.

    Args:
        config: the options.

    Returns:
        The summary's file.

    Raises:
        UserError: data are missing, a file is damaged, a folder cannot be written to, or there is a recorded
            study of more than this one.
    """
    from evaluation.eq9_figure import study_figure
    from evaluation.eq9_summary import save_study, study_table, summarise_conditions
    from evaluation.records import package_versions, without_paths

    for folder in (config.results, config.figure_folder, config.output):
        check_writable(folder)
        remove_leftovers(folder)
    data, code, common, names, path = begin(config)
    protocols = data.dataset.description.protocols
    protocol = "clean" if "clean" in protocols else next(iter(protocols))
    trials = config.results / f"{slug(*names)}.trials.jsonl"
    record = {
        "study": "eq9",
        "title": data.title,
        "dataset": config.dataset,
        "variant": data.dataset.variant,
        "protocol": protocol,
        "embeddings": data.word_vectors.name,
        "vocabulary_coverage": {
            "types": round(data.word_vectors.coverage_types, 4),
            "tokens": round(data.word_vectors.coverage_tokens, 4),
        },
        "seeds": config.seeds,
        "size_seeds": config.size_seeds,
        "level": config.level,
        "tuning": {
            "learning_rates": sorted(config.learning_rates),
            "seeds": config.tuning_seeds,
            "first_seed": FIRST_TUNING_SEED,
            "chosen_by": "highest mean of best dev MAP; a rate at which a seed diverges is out",
            "trials": trials.name,
        },
        "configuration": common,
        "command": shlex.join(without_paths(shlex.split(clean_command()))),
        "versions": package_versions(),
        "code": code,
        "data": data.fingerprint(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    figure_path = config.figure_folder / f"eq9-{path.stem}.png"
    refuse_to_lose(config, path)
    conditions: list[dict[str, Any]] = []
    per_condition = len(config.learning_rates) * config.tuning_seeds
    total = sum(len(config.conditions) * (per_condition + seeds) for seeds in config.sizes.values())
    with tqdm(total=total, desc=data.title, unit="seed", dynamic_ncols=True) as bar:
        for dimension, seeds in config.sizes.items():
            tuned, runs = {}, {}
            for condition in config.conditions:
                bar.set_postfix_str(f"d = {dimension}, {condition}")
                tuned[condition] = tune(config, data, condition, dimension, trials, bar.update)
                rate = tuned[condition]["learning_rate"]
                runs[condition] = []
                if rate is None:
                    bar.update(seeds)
                    continue
                chosen = config.of_condition(condition, rate, dimension)
                folder = config.output / slug(*names) / run_key(chosen, data)
                remove_leftovers(folder)
                for seed in range(seeds):
                    one = train_seed(chosen, data, seed, protocols[protocol], folder / f"seed-{seed}.json")
                    runs[condition].append(one)
                    bar.update()
            conditions += summarise_conditions(dimension, tuned, runs, config.level)
            save_study(record | {"conditions": conditions}, path)
            figure = study_figure(conditions, max_norm=config.max_norm, title=f"{data.title}, {protocol}")
            save_figure(figure, figure_path)
    for dimension in config.sizes:
        print(f"\nd = {dimension}\n")
        print(study_table([each for each in conditions if each["dimension"] == dimension]))
    print(f"\nSummary: {path}\nFigure: {figure_path}")
    return path


def main(config: Config) -> Path:
    """Do the study, or confirm its record."""
    return confirm(config) if config.confirm else study(config)


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
