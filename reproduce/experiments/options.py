"""The options of an experiment, and its command line.

An experiment is composed of options of the data, the model, the training and the run. A script states one for
each of its models; `--model` chooses among them, and the command line has the options of that one alone.
"""

import dataclasses
import json
import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import tyro

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.records import record_path
from answer_ranking.training.options import FitOptions, check_range

RESULTS = Path(__file__).resolve().parents[1] / "results"
TRIALS = ".trials.jsonl"
"""Ends the name of the file that keeps the trials of a search beside its record."""


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """What is trained on and measured."""

    dataset: str
    """Name of the data set."""
    variant: str | None = None
    """Training set of the data set, where there are several."""
    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated. task-skipgram-100d is trained on the data
    set's own texts, and so are other sizes and task-cbow-100d."""
    identity_dimensions: int = 0
    """Fixed random dimensions added to every word's vector, so that equal words can be told (in no paper)."""
    unknown_scale: float = 0.05
    """Scale of the random vectors of words that the word vectors lack."""
    lowercase: bool = True
    """Put words into lower case."""
    mask_numbers: bool = False
    """Replace numbers by <num>, as the distributed file of TrecQA's TRAIN-ALL does."""
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""

    def __post_init__(self) -> None:
        check_range(self, "identity_dimensions", at_least=0)
        check_range(self, "unknown_scale", at_least=0, below=math.inf)

    @property
    def sources(self) -> tuple[str, ...]:
        """The word vectors in which a ranker finds other words; those trained on the data have no others."""
        trained = any(name.startswith("task-") for name in self.embeddings)
        return () if trained or self.identity_dimensions else self.embeddings


class ModelOptions:
    """Base of the options of a model: whole numbers are sizes, dropouts shares below 1, a norm at most 1."""

    def __post_init__(self) -> None:
        sizes = [name for name, value in vars(self).items() if type(value) is int]
        dropouts = [name for name in vars(self) if name.endswith("dropout")]
        norms = [name for name in vars(self) if name == "max_norm"]
        check_range(self, *sizes, at_least=1)
        check_range(self, *dropouts, at_least=0, below=1)
        check_range(self, *norms, above=0, at_most=1)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How often an experiment runs, and what it leaves."""

    seeds: int | None = None
    """How many seeds to run; unless given 1, and 5 with --record."""
    first_seed: int = 0
    """The first seed; the others follow it. Two processes may share the seeds of a run: each takes up those
    that the other has trained."""
    record: str | None = None
    """Write the results to reproduce/results/ under this name, such as hyperqa/wikiqa/hyperqa."""
    results: Path = RESULTS
    """With --record: the folder of the records."""
    main: bool = False
    """With --record: these results stand beside the paper's; others are listed as variants."""
    notes: str = ""
    """With --record: what a reader has to know about these results."""
    output: Path = Path("outputs")
    """Folder for models, run files, figures and the state of unfinished trainings."""
    train_only: bool = False
    """Train the seeds and measure nothing: the same command without this option measures them."""

    def __post_init__(self) -> None:
        check_range(self, "seeds", at_least=1, at_most=1_000)
        # Models multiply it, and Keras takes numbers below 2^32.
        check_range(self, "first_seed", at_least=0, at_most=1_000_000)
        if self.record is not None:
            record_path(self.results, self.record)  # refuses a bad name
        if self.main and self.record is None:
            raise UserError("--main marks a record: add --record NAME.")

    @property
    def seed_list(self) -> list[int]:
        """The seeds of this run."""
        count = self.seeds or (5 if self.record else 1)
        return list(range(self.first_seed, self.first_seed + count))


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

    @property
    def recipe(self) -> ModuleType:
        """The module in this folder that states the model's options, loads its data and trains it."""
        return sys.modules[type(self.model).__module__]

    @classmethod
    def of(
        cls, name: str, title: str, data: DataOptions, model: type, training: type[FitOptions], **options: Any
    ) -> "Experiment":
        """State an experiment by the classes of its options, and their values but for the defaults."""
        of_model, of_data = (
            {field.name: options.pop(field.name) for field in fields(part) if field.name in options}
            for part in (model, data)
        )
        data = replace(data, **of_data) if of_data else data
        return cls(name=name, title=title, data=data, model=model(**of_model), training=training(**options))

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
    default = kind(**{each.name: getattr(preset, each.name) for each in fields(preset)})
    parsed = tyro.cli(
        kind, default=default, args=args, description=description, config=(tyro.conf.OmitArgPrefixes,)
    )
    check_range(parsed.training, "epochs", at_least=1)
    return Experiment(**{each.name: getattr(parsed, each.name) for each in fields(Experiment)})


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
    words, skip = [], False
    for word in shlex.split(command)[1:]:
        if word.startswith("--"):
            name = word.partition("=")[0]
            skip = name in _NO_MATTER | _NO_MATTER_ALONE
            if not skip:
                words.append(word)
            skip = name in _NO_MATTER
        elif not skip:
            words.append(word)
    return words


def figures_folder(results: Path) -> Path:
    """Return where the figures of a recorded study go: docs/ with the usual results, else to the results."""
    return RESULTS.parents[1] / "docs" if results == RESULTS else results
