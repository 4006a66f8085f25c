"""The options of an experiment, and its command line.

An experiment is composed of options of the data, the model, the training and the run. A script states one for
each of its models; `--model` chooses among them, and the command line has the options of that one alone.
"""

import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import ROOT
from answer_ranking.base.ranges import check_range
from answer_ranking.engine import options_of
from answer_ranking.evaluation.records import record_path
from answer_ranking.models.catalogue import Entry, find_entry
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.training.options import FitOptions

RESULTS = ROOT / "reproduce" / "results"
TRIALS = ".trials.jsonl"
"""Ends the name of the file that keeps the trials of a search beside its record."""


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """Where the record of an experiment or a study goes."""

    record: str | None = None
    """Write the results to reproduce/results/ under this name, such as hyperqa/wikiqa/mine."""
    results: Path = RESULTS
    """With --record: the folder of the records; another one has a study's figures, too."""

    def __post_init__(self) -> None:
        _ = self.record_file  # refuses a bad name

    @property
    def record_file(self) -> Path | None:
        """The file of the record; None without --record."""
        return record_path(self.results, self.record) if self.record is not None else None


@dataclass(frozen=True, kw_only=True)
class RunOptions(RecordOptions):
    """How often an experiment runs, and what it leaves."""

    seeds: int | None = None
    """How many seeds to run; unless given 1, and 5 with --record."""
    first_seed: int = 0
    """The first seed; the others follow it. The same command may run in two processes: they share the
    seeds of a run."""
    main: bool = False
    """With --record: these results stand beside the paper's; others are listed as variants."""
    notes: str = ""
    """With --record: what a reader has to know about these results."""
    output: Path = Path("outputs")
    """Folder for models, run files, figures and the state of unfinished trainings."""
    train_only: bool = False
    """Train the seeds and measure nothing: the same command without this option measures them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "seeds", at_least=1, at_most=1_000)
        # Models multiply it, and Keras takes numbers below 2^32.
        check_range(self, "first_seed", at_least=0, at_most=1_000_000)
        if self.main and self.record is None:
            raise UserError("--main marks a record: add --record NAME.")

    @property
    def seed_list(self) -> list[int]:
        """The seeds of this run."""
        count = self.seeds or (5 if self.record else 1)
        return list(range(self.first_seed, self.first_seed + count))

    @property
    def search(self) -> dict[str, int] | None:
        """How far the options were searched before, as a record says it; None if they were not."""
        return None


_NEVER = Annotated[Literal[False], tyro.conf.Suppress, tyro.conf.Fixed]


@dataclass(frozen=True, kw_only=True)
class StudyOptions(RunOptions):
    """Base of what a study does with an experiment, whose runs are its own."""

    main: _NEVER = False
    train_only: _NEVER = False


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment: what a script's command line describes."""

    name: str
    """The model's name on the command line."""
    title: Annotated[str, tyro.conf.Suppress, tyro.conf.Fixed]
    """The model's name in print, as the paper's tables have it."""
    data: DataOptions
    """Options of the data."""
    model: Any
    """Options of the model."""
    training: FitOptions
    run: Any = RunOptions()
    """`RunOptions`, or the options of a study."""

    @classmethod
    def of(cls, name: str, data: DataOptions, **options: Any) -> "Experiment":
        """State an experiment with a model of the catalogue: its paper's values, but for `options`.

        `options` are those of the data, the model and the training, by their names.
        """
        entry = find_entry(name)
        own = {field.name: options.pop(field.name) for field in fields(data) if field.name in options}
        data = replace(data, **own) if own else data
        model, training = options_of(entry, {**entry.training, **options})
        return cls(name=name, title=entry.title, data=data, model=model, training=training)

    @property
    def entry(self) -> Entry:
        """What the catalogue says of the model."""
        return find_entry(self.name)

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """Return the options on which the numbers depend, as JSON has them."""
        options = {"model": self.name, **asdict(self.data), **asdict(self.model), **asdict(self.training)}
        options["embeddings"] = [Path(name).name for name in self.data.embeddings]
        del options["data_home"], options["embeddings_home"]
        return json.loads(json.dumps(options))

    def changed(self, **options: Any) -> "Experiment":
        """Return a copy with other values; an option is looked up in data, model, training and run."""
        parts = {}
        for part in ("data", "model", "training", "run"):
            old = getattr(self, part)
            if own := {f.name: options.pop(f.name) for f in fields(old) if f.name in options}:
                parts[part] = replace(old, **own)
        if options:
            raise UserError(f"{self.name} has no option {', '.join(sorted(options))}.")
        return replace(self, **parts) if parts else self


def parse(description: str, presets: Sequence[Experiment], args: Sequence[str] | None = None) -> Experiment:
    """Read the command line of a script: the preset of --model, --dataset and --variant, and other options.

    The first preset is the default. A UserError says that there is no such model, or a value is out of range.
    """
    args = list(sys.argv[1:] if args is None else args)
    names = list(dict.fromkeys(preset.name for preset in presets))
    name = given_option(args, "--model") or names[0]
    fitting = [preset for preset in presets if preset.name == name]
    if not fitting:
        raise UserError(f"--model must be one of {', '.join(names)}. Received: {name}")
    given = {part: given_option(args, f"--{part}") for part in ("dataset", "variant")}
    wanted = {part: value for part, value in given.items() if value is not None}
    preset = max(fitting, key=lambda each: sum(getattr(each.data, part) == wanted[part] for part in wanted))
    chosen = Annotated[Literal[tuple(names)], tyro.conf.arg(name="model", help=_MODEL_HELP)]  # type: ignore
    kind = dataclasses.make_dataclass(
        "Experiment", [("name", chosen)], bases=(Experiment,), frozen=True, kw_only=True
    )
    values = {each.name: getattr(preset, each.name) for each in fields(preset)}
    for part in ("data", "training"):
        values[part] = _without(values[part], preset.entry.hidden)
    default = kind(**values)
    parsed = tyro.cli(
        kind, default=default, args=args, description=description, config=(tyro.conf.OmitArgPrefixes,)
    )
    check_range(parsed.training, "epochs", at_least=1)
    return Experiment(**{each.name: getattr(parsed, each.name) for each in fields(Experiment)})


def _without(options: Any, hidden: Sequence[str]) -> Any:
    """Copy options so that a command line does not have the hidden ones."""
    fixed = []
    for each in fields(options):
        if each.name in hidden:
            value = getattr(options, each.name)
            only = Annotated[Literal[(value,)], tyro.conf.Suppress, tyro.conf.Fixed]  # type: ignore
            fixed.append((each.name, only, value))
    if not fixed:
        return options
    name, bases = type(options).__name__, (type(options),)
    kind = dataclasses.make_dataclass(name, fixed, bases=bases, frozen=True, kw_only=True)
    return kind(**vars(options))


_MODEL_HELP = "The model. The options and defaults below are those of this one: --model NAME --help."


def given_option(args: Sequence[str], option: str) -> str | None:
    """Return the value of an option on a command line, the last one given; None where it is not there."""
    value = None
    for word, following in zip_longest(args, args[1:]):
        if word.startswith(f"{option}="):
            value = word.partition("=")[2]
        elif word == option and following is not None:
            value = following
    return value


_NO_MATTER = {"--record", "--notes", "--seeds", "--first-seed", "--results", "--output"}
_NO_MATTER_ALONE = {"--main", "--train-only"}


def training_words(command: str) -> list[str]:
    """Give the script and the options of a command, without those that say nothing of a seed's training.

    Example:
        >>> training_words("python reproduce/hyperqa_wikiqa.py --model cosineqa --seeds 5 --main --record a")
        ['reproduce/hyperqa_wikiqa.py', '--model', 'cosineqa']
    """
    return without_options(shlex.split(command)[1:], _NO_MATTER, _NO_MATTER_ALONE)


def without_options(words: Sequence[str], with_values: Set[str], alone: Set[str] = frozenset()) -> list[str]:
    """Leave options and their values, and options that stand `alone`, out of a command line.

    Example:
        >>> without_options(["--seeds", "5", "--main", "wikiqa", "--epochs=3"], {"--seeds"}, {"--main"})
        ['wikiqa', '--epochs=3']
    """
    kept, in_value = [], False
    for word in words:
        leaves_out = in_value
        if word.startswith("--"):
            name, equals, _ = word.partition("=")
            leaves_out = name in with_values or name in alone
            in_value = name in with_values and not equals
        if not leaves_out:
            kept.append(word)
    return kept


def recorded_presets(paper: str, dataset: str) -> list[Experiment]:
    """Give the experiments of a paper's script for a data set; none where there is no such script."""
    script = f"answer_ranking.reproduce.{paper}_{dataset.replace('-', '_')}"
    return import_module(script).PRESETS if find_spec(script) else []


def figures_folder(results: Path) -> Path:
    """Return where the figures of a recorded study go: docs/ with the usual results, else to the results."""
    return ROOT / "docs" if results == RESULTS else results
