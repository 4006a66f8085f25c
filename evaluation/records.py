"""Result records: one JSON file per experiment, with everything needed to repeat and to test it."""

import json
import math
import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from data_prep.errors import UserError
from data_prep.files import atomic_write

_PACKAGES = (
    "keras",
    "tensorflow",
    "tensorflow-cpu",
    "numpy",
    "pandas",
    "pytrec_eval-terrier",
    "spacy",
    "bm25s",
)
_DIGITS = 6


def package_versions() -> dict[str, str]:
    """Collect the versions of Python and of the packages that bear on a result.

    Returns:
        Name and version; packages that are not installed are left out.

    Example:
        >>> "numpy" in package_versions()
        True
    """
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


@dataclass(frozen=True, kw_only=True)
class ResultRecord:
    """One experiment: a model on one split of one data set, over all its seeds.

    Attributes:
        paper: the paper whose table it answers: "hyperqa", "ctrn", "attentive_pooling", "cosinet".
        dataset: name of the data set, such as "trecqa".
        protocol: which questions count, in the data set's own words ("filtered", "raw", "clean").
        split: "test" or "dev".
        model: the model's name as the paper's table prints it.
        variant: the data set's variant ("TRAIN", "TRAIN-ALL"), "" where there is one only.
        embeddings: name of the word vectors, "" where none are used.
        seeds: the seed of each run.
        metrics: per metric `{"mean", "ci95", "per_seed"}`, as fractions, over the questions that the protocol
            counts; `ci95` is the half width of the 95 % t interval, None for one seed.
        parameters: number of trainable parameters.
        seconds_per_epoch: of the training, None where nothing is trained.
        command: the command that repeats the runs, without paths of the machine.
        versions: version of Python and of the packages that bear on the result.
        metrics_count_all: as `metrics`, with every question counted and those without a correct answer as 0.
        metrics_dev: as `metrics`, on the dev split.
        per_question: `question_ids` and, per metric, one list per seed, of the questions that count.
        configuration: every option on which the numbers depend.
        vocabulary_coverage: share of word types and of running words that have a vector.
        code: fingerprints of the sources that made the result (`evaluation.source_fingerprints`); {} where
            they were not kept.
        data: fingerprint of the encoded data and word vectors.
        main: this is the record for the paper's row; there is one such record per row.
        created: date and time (UTC, ISO 8601).
        notes: anything a reader should know.

    Example:
        >>> record = ResultRecord(paper="cosinet", dataset="wikiqa", protocol="filtered", split="test",
        ...     model="RR", seeds=[0], metrics={"map": {"mean": 0.6421, "ci95": None, "per_seed": [0.6421]}},
        ...     parameters=0, seconds_per_epoch=None, command="python reproduce/lexical_baselines.py")
        >>> record.main
        False
    """

    paper: str
    dataset: str
    protocol: str
    split: str
    model: str
    variant: str = ""
    embeddings: str = ""
    seeds: list[int]
    metrics: dict[str, dict[str, Any]]
    parameters: int
    seconds_per_epoch: float | None
    command: str
    versions: dict[str, str] = field(default_factory=package_versions)
    metrics_count_all: dict[str, dict[str, Any]] = field(default_factory=dict)
    metrics_dev: dict[str, dict[str, Any]] = field(default_factory=dict)
    per_question: dict[str, list] = field(default_factory=dict)
    configuration: dict[str, Any] = field(default_factory=dict)
    vocabulary_coverage: dict[str, float] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    data: str = ""
    main: bool = False
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    notes: str = ""

    @property
    def experiment(self) -> str:
        """What tells this experiment from every other, as one line of text."""
        return json.dumps([*self.subject, self.configuration], sort_keys=True)

    @property
    def subject(self) -> tuple[str | None, ...]:
        """What the experiment is about, whatever its options."""
        names = ("paper", "dataset", "protocol", "split", "model", "variant", "embeddings")
        return tuple(getattr(self, name) for name in names)


def _without_path(text: str) -> str:
    option, equals, value = text.rpartition("=")
    path = Path(value)
    return option + equals + path.name if path.is_absolute() or value.startswith(("~", "..")) else text


def without_paths(value: Any) -> Any:
    """Reduce every path of this machine in a JSON-like value to its last part.

    Args:
        value: text, numbers, None, and lists, tuples, paths and mappings of them.

    Returns:
        The same as JSON has it: tuples as lists, paths as text.

    Example:
        >>> without_paths({"embeddings": ("/home/me/glove.txt.gz", "glove-6b-50d"), "epochs": 25})
        {'embeddings': ['glove.txt.gz', 'glove-6b-50d'], 'epochs': 25}
    """
    if isinstance(value, Mapping):
        return {str(key): without_paths(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(entry) for entry in value]
    if isinstance(value, str | Path):
        return _without_path(str(value))
    return value


def _rounded(value: Any) -> Any:
    """Round every number to the digits that are kept, and put None for NaN, which JSON lacks."""
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return None if math.isnan(value) else round(float(value), _DIGITS)
    return value


def save_record(record: ResultRecord, path: str | Path) -> None:
    """Write a record; metrics and per-question values keep six digits, paths of the machine their last part.

    Args:
        record: the record.
        path: the file to write, such as `reproduce/results/NAME.json`.

    Raises:
        UserError: a value is not as a record's should be, or the file cannot be written.

    Example:
        >>> record = ResultRecord(paper="cosinet", dataset="wikiqa", protocol="filtered", split="test",
        ...     model="RR", seeds=[0], metrics={"map": {"mean": 0.6421, "ci95": None, "per_seed": [0.6421]}},
        ...     parameters=0, seconds_per_epoch=None, command="python reproduce/lexical_baselines.py")
        >>> save_record(record, "/tmp/record.json")
        >>> read_record("/tmp/record.json") == record
        True
    """
    values = asdict(record)
    for key in ("metrics", "metrics_count_all", "metrics_dev", "per_question", "seconds_per_epoch"):
        values[key] = _rounded(values[key])
    values["configuration"] = without_paths(values["configuration"])
    values["command"] = shlex.join(map(_without_path, shlex.split(record.command)))
    _check(values, path)
    # One key per line: a change of one value is a change of one line, and long lists do not fill the screen.
    lines = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}"
        for key, value in values.items()
    )
    with atomic_write(path) as file:
        file.write(f"{{\n{lines}\n}}\n")


def read_record(path: str | Path) -> ResultRecord:
    """Read and check a record.

    Args:
        path: a file as `save_record` writes it.

    Returns:
        The record.

    Raises:
        UserError: the file is missing or no JSON, or a key is missing, unknown or of the wrong kind.

    Example:
        >>> read_record("/tmp/absent.json")
        Traceback (most recent call last):
        data_prep.errors.UserError: cannot read /tmp/absent.json: No such file or directory. Check the path.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}). Run the experiment again.") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} does not hold a JSON object. Run the experiment again.")
    if isinstance(values.get("code"), str):
        # One hash of all sources, as records had it once, says nothing about any one of them.
        values["code"] = {}
    _check(values, path)
    return ResultRecord(**values)


def load_records(folder: str | Path) -> list[ResultRecord]:
    """Read all records of a folder.

    Args:
        folder: the folder; its `.json` files are the records.

    Returns:
        The records in the order of their file names.

    Raises:
        UserError: a file is no record, two files hold the same experiment, or the folder is missing.

    Example:
        >>> import tempfile
        >>> load_records(tempfile.mkdtemp())
        []
    """
    if not Path(folder).is_dir():
        raise UserError(f"there is no folder {folder}. Check the path.")
    seen: dict[str, Path] = {}
    records = []
    for path in sorted(Path(folder).glob("*.json")):
        record = read_record(path)
        if record.experiment in seen:
            raise UserError(
                f"{path} and {seen[record.experiment].name} record the same experiment. Remove one."
            )
        seen[record.experiment] = path
        records.append(record)
    return records


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check(values: dict[str, Any], path: str | Path) -> None:
    """Check a record's keys, kinds and inner agreement."""

    def refuse(key: str, problem: str) -> None:
        raise UserError(f"{path}: key {key!r} {problem}. Run the experiment again or correct the file.")

    known = {each.name: each for each in fields(ResultRecord)}
    for key in values.keys() - known.keys():
        refuse(key, "is not one of a record's")
    required = ("paper", "dataset", "protocol", "split", "model", "variant", "embeddings", "seeds", "metrics")
    for key in (*required, "parameters", "seconds_per_epoch", "command", "versions"):
        if key not in values:
            refuse(key, "is missing")
    for key, value in values.items():
        kind = known[key].type
        if kind is str and not isinstance(value, str):
            refuse(key, f"should be text, not {value!r}")
        if kind is bool and not isinstance(value, bool):
            refuse(key, f"should be true or false, not {value!r}")
        if str(kind).startswith("dict") and not isinstance(value, dict):
            refuse(key, f"should be an object, not {value!r}")
    for key in ("paper", "dataset", "protocol", "split", "model", "command"):
        if not values[key]:
            refuse(key, "is empty")
    seeds, parameters, seconds = (values[key] for key in ("seeds", "parameters", "seconds_per_epoch"))
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
        refuse("seeds", f"should be a list of whole numbers, not {seeds!r}")
    if type(parameters) is not int or parameters < 0:
        refuse("parameters", f"should be a whole number from 0, not {parameters!r}")
    if seconds is not None and not (_is_number(seconds) and seconds >= 0):
        refuse("seconds_per_epoch", f"should be a number from 0 or null, not {seconds!r}")
    if not values["metrics"]:
        refuse("metrics", "is empty")
    for key in ("metrics", "metrics_count_all", "metrics_dev"):
        for metric, summary in values.get(key, {}).items():
            _check_summary(f"{key}.{metric}", summary, len(seeds), refuse)
    per_question = values.get("per_question", {})
    n_questions = len(per_question.get("question_ids", []))
    for metric, rows in per_question.items():
        if metric != "question_ids" and (
            len(rows) != len(seeds) or any(len(row) != n_questions for row in rows)
        ):
            refuse(f"per_question.{metric}", f"should hold {len(seeds)} lists of {n_questions} values")


def _check_summary(key: str, summary: Any, n_seeds: int, refuse: Any) -> None:
    if not isinstance(summary, dict) or set(summary) != {"mean", "ci95", "per_seed"}:
        refuse(key, "should have the keys mean, ci95 and per_seed")
    per_seed = summary["per_seed"]
    if not isinstance(per_seed, list) or len(per_seed) != n_seeds:
        refuse(f"{key}.per_seed", f"should hold {n_seeds} values, one per seed")
    if not all(_is_number(value) and 0 <= value <= 1 for value in [summary["mean"], *per_seed]):
        refuse(key, "should hold fractions from 0 to 1")
    if abs(summary["mean"] - sum(per_seed) / n_seeds) > 2 * 10**-_DIGITS:
        refuse(f"{key}.mean", f"is {summary['mean']}, not the mean of per_seed")
    if (summary["ci95"] is None) != (n_seeds == 1) or not (
        summary["ci95"] is None or _is_number(summary["ci95"])
    ):
        refuse(f"{key}.ci95", "should be a number, or null for a single seed")
