"""Result records: one JSON file per experiment, with what is needed to repeat it and to test it."""

import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, decode_text, read_content

STUDIES = ("claims.json", "eq9", "fair", "norms", "retrieval", "transfer")
"""What in the results belongs to studies; `load_records` leaves it out."""

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
_ROOT = Path(__file__).resolve().parents[1]
# Files that a run writes, or that are written from its records, do not change the code.
_NOT_CODE = (":!reproduce/results", ":!reproduce/searches", ":!ranking/presets", ":!*.md")


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that can change a result."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


@cache
def environment() -> dict[str, Any]:
    """Describe the code and the machine of this process.

    `commit` and `clean_tree` (no uncommitted changes of the code) are "" and None outside of this package's
    repository; `threads` are the CPUs that this process may use, or TF_NUM_INTRAOP_THREADS.
    """
    # An installed copy may lie inside the repository of another project.
    inside = Path(_git("rev-parse", "--show-toplevel") or os.devnull).resolve() == _ROOT
    commit = (_git("rev-parse", "HEAD") or "") if inside else ""
    changes = _git("status", "--porcelain", "--", ".", *_NOT_CODE) if commit else None
    available = getattr(os, "sched_getaffinity", None)
    threads = len(available(0)) if available else os.cpu_count() or 1
    return {
        "commit": commit,
        "clean_tree": None if changes is None else not changes,
        "processor": _processor(),
        "threads": int(os.environ.get("TF_NUM_INTRAOP_THREADS") or threads),
    }


def _git(*words: str) -> str | None:
    """Ask git about the folder of this package; None where it is not installed or has no answer."""
    try:
        done = subprocess.run(["git", "-C", _ROOT, *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


_NEEDED = (
    *("paper", "dataset", "protocol", "split", "model", "variant", "embeddings", "seeds", "metrics"),
    *("parameters", "seconds_per_epoch", "command", "versions"),
)


@dataclass(frozen=True, kw_only=True)
class ResultRecord:
    """One experiment: a model on one split of one data set, over all its seeds.

    Summaries of metrics are mappings `{"mean", "ci95", "per_seed"}` of fractions by metric; `ci95` is the
    half width of the 95 % t interval, None for one seed.

    Example:
        >>> load_records("reproduce/results")[0].metrics["map"]["mean"]  # doctest: +SKIP
    """

    paper: str  # whose table it answers, such as "hyperqa"
    dataset: str
    protocol: str  # which questions count, in the data set's own words ("filtered", "raw", "clean")
    split: str  # "test" or "test2"
    model: str  # as the paper's table prints it
    variant: str = ""  # training set ("TRAIN", "TRAIN-ALL"), "" where there is one only
    embeddings: str = ""  # name of the word vectors
    seeds: list[int]
    metrics: dict[str, dict[str, Any]]  # over the questions that count
    parameters: int  # trainable ones
    seconds_per_epoch: float | None  # of the training, None where nothing is trained
    command: str  # repeats the runs; without paths of the machine
    versions: dict[str, str] = field(default_factory=package_versions)
    metrics_count_all: dict[str, dict[str, Any]] = field(default_factory=dict)  # unanswerable counts as 0
    metrics_dev: dict[str, dict[str, Any]] = field(default_factory=dict)
    per_question: dict[str, list] = field(default_factory=dict)  # question_ids; per metric a list per seed
    configuration: dict[str, Any] = field(default_factory=dict)  # every option on which the numbers depend
    vocabulary_coverage: dict[str, float] = field(default_factory=dict)  # share that has a vector
    data: str = ""  # hash of the encoded data and word vectors
    main: bool = False  # this is the record for the paper's row; there is one per row
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    notes: str = ""
    # Of reproduce/studies/fair.py: how the options were chosen, the processor's seconds of a training, and
    # how many questions of this split are ranked per second of it (which rules have, too).
    search: dict[str, Any] = field(default_factory=dict)
    training_seconds: float | None = None
    questions_per_second: float | None = None
    # Of `environment`; "" and None where they are not known.
    commit: str = field(default_factory=lambda: environment()["commit"])
    clean_tree: bool | None = field(default_factory=lambda: environment()["clean_tree"])
    processor: str = field(default_factory=lambda: environment()["processor"])
    threads: int | None = field(default_factory=lambda: environment()["threads"])
    processors: list[str] = field(default_factory=list)  # of each seed's training, where they are known

    @property
    def experiment(self) -> str:
        """What identifies the experiment: its subject and configuration as one line of text."""
        names = ("paper", "dataset", "protocol", "split", "model", "variant", "embeddings")
        return json.dumps([*(getattr(self, name) for name in names), self.configuration], sort_keys=True)


def record_path(results: str | Path, name: str, suffix: str = "") -> Path:
    """Name the file of a record.

    `suffix` is the protocol or split, where the experiment has a record for each of several. A UserError says
    that a name is not lower-case words separated by "/".
    """
    if not re.fullmatch(r"[a-z0-9_][a-z0-9_.+-]*(/[a-z0-9_][a-z0-9_.+-]*)*", name):
        raise UserError(
            f"a record's name is lower-case words separated by '/', such as hyperqa/wikiqa/hyperqa. "
            f"Received: {name!r}."
        )
    return Path(results) / f"{name}{f'-{suffix}' if suffix else ''}.json"


def without_paths(value: Any) -> Any:
    """Reduce every path of this machine in a JSON-like value to its last part; tuples become lists."""
    if isinstance(value, Mapping):
        return {str(key): without_paths(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(entry) for entry in value]
    if not isinstance(value, str | Path):
        return value
    option, equals, text = str(value).rpartition("=")
    path = Path(text)
    return option + equals + path.name if path.is_absolute() or text.startswith(("~", "..")) else str(value)


def _rounded(value: Any) -> Any:
    """Round every number to the digits that are kept; NaN, which JSON lacks, becomes None."""
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return None if math.isnan(value) else round(float(value), _DIGITS)
    return value


def save_record(record: ResultRecord, path: str | Path) -> None:
    """Write a record; metrics and per-question values keep six digits, paths of options their last part.

    The folder of `path`, see `record_path`, is made. A UserError says that a value is not as a record's
    should be, or that the file cannot be written.

    Example:
        >>> save_record(record, "reproduce/results/hyperqa/wikiqa/hyperqa.json")  # doctest: +SKIP
    """
    values = asdict(record)
    for key in ("metrics", "metrics_count_all", "metrics_dev", "per_question", "seconds_per_epoch"):
        values[key] = _rounded(values[key])
    values["configuration"] = without_paths(values["configuration"])
    _check(values, path)
    _write(path, [f"{_json(key)}: {_json(value)}" for key, value in values.items()])


def save_study(record: Mapping[str, Any], path: str | Path) -> None:
    """Write the record of a study with its versions, environment and time.

    There is a key per line, and a line for each of its `conditions`.
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"versions": package_versions(), **environment(), "created": created, **record}
    lines = [f"{_json(key)}: {_json(value)}" for key, value in record.items() if key != "conditions"]
    if "conditions" in record:
        conditions = ",\n".join(f"    {_json(_rounded(each))}" for each in record["conditions"])
        lines.append(f'"conditions": [\n{conditions}\n  ]')
    _write(path, lines)


def read_trials(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """Read the trials of a search, a JSON object with the `needed` keys a line; the file may be missing."""
    lines = decode_text(read_content(path), path).splitlines() if path.exists() else []
    try:
        trials = [json.loads(line) for line in lines]
        if not all(trial.keys() >= set(needed) for trial in trials):
            raise ValueError("a line is no trial")
    except (ValueError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}). Remove it to search again.") from error
    return trials


def refuse_fewer_seeds(path: Path, dataset: str, seeds: int) -> None:
    """Refuse with a UserError to replace a recorded study of another data set or of more seeds."""
    if not path.exists():
        return
    recorded = read_study(path, ("dataset", "seeds", "conditions"))
    if recorded["dataset"] != dataset:
        raise UserError(f"{path} is a study of {recorded['dataset']}. Give another --record.")
    if recorded["seeds"] > seeds:
        raise UserError(
            f"{path} is a study of {recorded['seeds']} seeds, which {seeds} would replace: "
            f"give --seeds {recorded['seeds']}, or another --record."
        )


_json = partial(json.dumps, ensure_ascii=False, allow_nan=False)


def _write(path: str | Path, lines: list[str]) -> None:
    # One key per line: a change of one value is a change of one line.
    with atomic_write(path) as file:
        file.write("{\n  " + ",\n  ".join(lines) + "\n}\n")


def _read(path: str | Path) -> dict[str, Any]:
    try:
        values = json.loads(decode_text(read_content(path), path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}). Run the experiment again.") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} does not hold a JSON object. Run the experiment again.")
    return values


def read_study(path: str | Path, needed: Collection[str] = ("command",)) -> dict[str, Any]:
    """Read the record of a study, which must have the needed keys; else a UserError names the file."""
    record = _read(path)
    if missing := set(needed) - record.keys():
        raise UserError(f"{path} is no record of its study: {sorted(missing)} missing. Run the study again.")
    return record


def read_record(path: str | Path) -> ResultRecord:
    """Read and check a record.

    A UserError says that the file is missing or no JSON, or that a key is missing, unknown or of the wrong
    kind.

    Example:
        >>> read_record("absent.json")
        Traceback (most recent call last):
        answer_ranking.base.errors.UserError: absent.json does not exist. Check the path.
    """
    values = _read(path)
    _check(values, path)
    unknown = {"commit": "", "clean_tree": None, "processor": "", "threads": None, "created": ""}
    return ResultRecord(**unknown | values)


def load_records(folder: str | Path) -> list[ResultRecord]:
    """Read all records below a folder, except those of studies (`STUDIES`).

    Returns them in the order of their paths. A UserError names a file that is no record, two files that hold
    the same experiment, or a missing folder.

    Example:
        >>> import tempfile
        >>> load_records(tempfile.mkdtemp())
        []
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}. Check the path.")
    read: dict[str, tuple[Path, ResultRecord]] = {}
    for path in sorted(folder.rglob("*.json")):
        if path.relative_to(folder).parts[0] in STUDIES:
            continue
        record = read_record(path)
        if record.experiment in read:
            other = read[record.experiment][0].relative_to(folder)
            raise UserError(f"{path} and {other} record the same experiment. Remove one.")
        read[record.experiment] = path, record
    return [record for _, record in read.values()]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# By the annotation of a field; the other fields are checked one by one.
_KINDS = {
    "<class 'str'>": (str, "text"),
    "<class 'bool'>": (bool, "true or false"),
    "bool | None": (bool | None, "true or false"),
    "dict": (dict, "an object"),
}


def _check(values: dict[str, Any], path: str | Path) -> None:
    """Check a record's keys, kinds and inner agreement."""

    def need(condition: Any, key: str, problem: str) -> None:
        if not condition:
            raise UserError(f"{path}: key {key!r} {problem}. Run the experiment again or correct the file.")

    known = {each.name: str(each.type) for each in fields(ResultRecord)}
    for key in {**dict.fromkeys(_NEEDED), **values}:
        need(key in known, key, "is not one of a record's")
        need(key in values, key, "is missing")
        kind, called = _KINDS.get(known[key].partition("[")[0], (object, ""))
        need(isinstance(values[key], kind), key, f"should be {called}, not {values[key]!r}")
    for key in ("paper", "dataset", "protocol", "split", "model", "command", "metrics"):
        need(values[key], key, "is empty")
    seeds, parameters, seconds = (values[key] for key in ("seeds", "parameters", "seconds_per_epoch"))
    sound = isinstance(seeds, list) and seeds and all(type(seed) is int for seed in seeds)
    need(sound, "seeds", f"should be a list of whole numbers, not {seeds!r}")
    sound = type(parameters) is int and parameters >= 0
    need(sound, "parameters", f"should be a whole number from 0, not {parameters!r}")
    sound = seconds is None or (_is_number(seconds) and seconds >= 0)
    need(sound, "seconds_per_epoch", f"should be a number from 0 or null, not {seconds!r}")
    for group in ("metrics", "metrics_count_all", "metrics_dev"):
        for metric, summary in values.get(group, {}).items():
            _check_summary(f"{group}.{metric}", summary, len(seeds), need)
    per_question = values.get("per_question", {})
    ids = per_question.get("question_ids", [])
    need(isinstance(ids, list), "per_question.question_ids", "should be a list")
    n_questions = len(ids)
    for metric, rows in per_question.items():
        sound = isinstance(rows, list) and (
            metric == "question_ids"
            or [isinstance(row, list) and len(row) for row in rows] == [n_questions] * len(seeds)
        )
        need(sound, f"per_question.{metric}", f"should hold {len(seeds)} lists of {n_questions} values")


def _check_summary(key: str, summary: Any, n_seeds: int, need: Callable[[Any, str, str], None]) -> None:
    sound = isinstance(summary, dict) and set(summary) == {"mean", "ci95", "per_seed"}
    need(sound, key, "should have the keys mean, ci95 and per_seed")
    mean, interval, per_seed = summary["mean"], summary["ci95"], summary["per_seed"]
    sound = isinstance(per_seed, list) and len(per_seed) == n_seeds
    need(sound, f"{key}.per_seed", f"should hold {n_seeds} values, one per seed")
    sound = all(_is_number(value) and 0 <= value <= 1 for value in [mean, *per_seed])
    need(sound, key, "should hold fractions from 0 to 1")
    sound = abs(mean - sum(per_seed) / n_seeds) <= 2 * 10**-_DIGITS
    need(sound, f"{key}.mean", f"is {mean}, not the mean of per_seed")
    sound = interval is None if n_seeds == 1 else _is_number(interval)
    need(sound, f"{key}.ci95", "should be a number, or null for a single seed")
