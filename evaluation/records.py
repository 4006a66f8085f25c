"""Result records: one JSON file per experiment, with what is needed to repeat it and to test it."""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, decode_text, read_content
from answer_ranking.evaluation.environment import environment, package_versions

STUDIES = ("claims.json", "eq9", "eq9_grid", "fair", "norms", "planned", "retrieval", "transfer")
"""What in the results belongs to studies; `load_records` leaves it out."""

RENAMED_SCRIPTS = {
    "reproduce/studies/fair.py": "reproduce/studies/equal_budget.py",
    "reproduce/cross_encoder.py": "reproduce/cosinet_wikiqa.py --model cross-encoder --learning-rate 5e-5",
}
"""Scripts that recorded commands call by an older name: what is read has a command that runs."""

_DIGITS = 6
_SUBJECT = ("paper", "dataset", "protocol", "split", "model", "variant", "embeddings")
_NEEDED = (
    *(*_SUBJECT, "seeds", "metrics"),
    *("parameters", "seconds_per_epoch", "command", "versions"),
)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    # A question without a correct answer counts as 0.
    metrics_count_all: dict[str, dict[str, Any]] = field(default_factory=dict)
    metrics_dev: dict[str, dict[str, Any]] = field(default_factory=dict)
    # `question_ids`, and by metric a list per seed.
    per_question: dict[str, list] = field(default_factory=dict)
    # Every option on which the numbers depend.
    configuration: dict[str, Any] = field(default_factory=dict)
    # The share of the words that has a vector.
    vocabulary_coverage: dict[str, float] = field(default_factory=dict)
    data: str = ""  # hash of the encoded data and word vectors
    main: bool = False  # this is the record for the paper's row; there is one per row
    created: str = field(default_factory=_now)
    notes: str = ""
    # Of studies/equal_budget.py: how the options were chosen, the processor's seconds of a training,
    # and how many questions of this split are ranked per second of it (which rules have, too).
    search: dict[str, Any] = field(default_factory=dict)
    training_seconds: float | None = None
    questions_per_second: float | None = None
    # Of `environment`; "" and None where they are not known.
    commit: str = field(default_factory=lambda: environment()["commit"])
    clean_tree: bool | None = field(default_factory=lambda: environment()["clean_tree"])
    processor: str = field(default_factory=lambda: environment()["processor"])
    threads: int | None = field(default_factory=lambda: environment()["threads"])
    gflops: float | None = field(default_factory=lambda: environment()["gflops"])
    # MiB that the processes which trained held at most, where it is known.
    peak_memory: int | None = None
    # Of each seed's training, where they are known; "" for that of a tree with changes.
    processors: list[str] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)

    @property
    def experiment(self) -> str:
        """What identifies the experiment: its subject and configuration as one line of text."""
        subject = [getattr(self, name) for name in _SUBJECT]
        return json.dumps([*subject, self.configuration], sort_keys=True)


def record_path(results: str | Path, name: str, *suffixes: str) -> Path:
    """Name the file of a record.

    `suffixes` are model, protocol and split, where the experiment has a record for each of several, or "". A
    UserError says that a name is not lower-case words separated by "/".
    """
    if not re.fullmatch(r"[a-z0-9_][a-z0-9_.+-]*(/[a-z0-9_][a-z0-9_.+-]*)*", name):
        raise UserError(
            "a record's name is lower-case words separated by '/', such as "
            f"hyperqa/wikiqa/hyperqa. Received: {name!r}."
        )
    return Path(results) / f"{'-'.join([name, *filter(None, suffixes)])}.json"


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
    if path.is_absolute() or text.startswith(("~", "..")):
        return option + equals + path.name
    return str(value)


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
    for key in (*_SUMMARIES, "per_question", "seconds_per_epoch"):
        values[key] = _rounded(values[key])
    values["configuration"] = without_paths(values["configuration"])
    _check(values, path)
    _write(path, _lines(values))


def save_records(records: Mapping[Path, ResultRecord]) -> None:
    """Write records to their paths, and say where they are."""
    for path, record in records.items():
        save_record(record, path)
        print(f"wrote {path}")


def save_study(record: Mapping[str, Any], path: str | Path) -> None:
    """Write the record of a study with its versions, environment and time.

    There is a key per line, and a line for each of its `conditions`.
    """
    values = made_by() | dict(record)
    conditions = values.pop("conditions", None)
    lines = _lines(values)
    if conditions is not None:
        rows = [f"    {_json(_rounded(each))}" for each in conditions]
        lines.append('"conditions": [\n' + ",\n".join(rows) + "\n  ]")
    _write(path, lines)


def made_by() -> dict[str, Any]:
    """Tell what makes a record: the versions, the environment and the time."""
    return {"versions": package_versions(), **environment(), "created": _now()}


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{_json(key)}: {_json(value)}" for key, value in values.items()]


def read_trials(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """Read the trials of a search, a JSON object with the `needed` keys a line; the file may be missing."""
    lines = decode_text(read_content(path), path).splitlines() if path.exists() else []
    trials = []
    try:
        for line in lines:
            trial = json.loads(line)
            if not trial.keys() >= set(needed):
                raise ValueError("a line is not a trial")
            trials.append(trial)
    except (ValueError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}). Remove it to search again.") from error
    return trials


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
    if isinstance(values.get("command"), str):
        for old, new in RENAMED_SCRIPTS.items():
            values["command"] = values["command"].replace(f"python {old} ", f"python {new} ")
    return values


def read_study(path: str | Path, needed: Collection[str] = ("command",)) -> dict[str, Any]:
    """Read the record of a study, which must have the needed keys; else a UserError names the file."""
    record = _read(path)
    if missing := set(needed) - record.keys():
        lacks = f"{sorted(missing)} missing"
        raise UserError(f"{path} is not a record of its study: {lacks}. Run it again.")
    return record


def read_studies(
    folder: str | Path,
    needed: Collection[str] = ("command",),
    pattern: str = "*.json",
) -> dict[Path, dict[str, Any]]:
    """Read the records of a study in a folder, which may be missing, by their paths in order."""
    return {path: read_study(path, needed) for path in sorted(Path(folder).glob(pattern))}


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
    unknown = {"commit": "", "clean_tree": None, "processor": "", "threads": None, "gflops": None}
    return ResultRecord(**unknown | {"created": ""} | values)


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


_SUMMARIES = ("metrics", "metrics_count_all", "metrics_dev")
_KINDS: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    bool | None: "true or false",
    dict: "an object",
}
"""What a field of a kind should be; fields of other kinds are checked one by one."""


def _check(values: dict[str, Any], path: str | Path) -> None:
    """Check a record's keys, kinds and inner agreement; a UserError names the first problem."""
    for key, problem in _problems(values):
        cure = "Run the experiment again or correct the file"
        raise UserError(f"{path}: key {key!r} {problem}. {cure}.")


def _problems(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a key and what is wrong with it. Only the first counts: later checks rely on the earlier ones."""
    kinds = get_type_hints(ResultRecord)
    for key in dict.fromkeys([*_NEEDED, *values]):
        if key not in kinds:
            yield key, "is not one of a record's"
        if key not in values:
            yield key, "is missing"
        kind = dict if get_origin(kinds[key]) is dict else kinds[key]
        if kind in _KINDS and not isinstance(values[key], kind):
            yield key, f"should be {_KINDS[kind]}, not {values[key]!r}"
    for key in ("paper", "dataset", "protocol", "split", "model", "command", "metrics"):
        if not values[key]:
            yield key, "is empty"
    yield from _number_problems(values)
    n_seeds = len(values["seeds"])
    for group in _SUMMARIES:
        for metric, summary in values.get(group, {}).items():
            yield from _summary_problems(f"{group}.{metric}", summary, n_seeds)
    yield from _question_problems(values.get("per_question", {}), n_seeds)


def _number_problems(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    seeds, parameters = values["seeds"], values["parameters"]
    seconds = values["seconds_per_epoch"]
    if not isinstance(seeds, list) or {type(seed) for seed in seeds} != {int}:
        yield "seeds", f"should be a list of whole numbers, not {seeds!r}"
    if type(parameters) is not int or parameters < 0:
        yield "parameters", f"should be a whole number from 0, not {parameters!r}"
    if seconds is not None and not (_is_number(seconds) and seconds >= 0):
        yield "seconds_per_epoch", f"should be a number from 0 or null, not {seconds!r}"


def _summary_problems(key: str, summary: Any, n_seeds: int) -> Iterator[tuple[str, str]]:
    if not isinstance(summary, dict) or set(summary) != {"mean", "ci95", "per_seed"}:
        yield key, "should have the keys mean, ci95 and per_seed"
    mean, interval, per_seed = summary["mean"], summary["ci95"], summary["per_seed"]
    if not isinstance(per_seed, list) or len(per_seed) != n_seeds:
        yield f"{key}.per_seed", f"should hold {n_seeds} values, one per seed"
    if not all(_is_number(value) and 0 <= value <= 1 for value in [mean, *per_seed]):
        yield key, "should hold fractions from 0 to 1"
    if abs(mean - sum(per_seed) / n_seeds) > 2 * 10**-_DIGITS:
        yield f"{key}.mean", f"is {mean}, not the mean of per_seed"
    sound = interval is None if n_seeds == 1 else _is_number(interval)
    if not sound:
        yield f"{key}.ci95", "should be a number, or null for a single seed"


def _question_problems(per_question: dict[str, Any], n_seeds: int) -> Iterator[tuple[str, str]]:
    ids = per_question.get("question_ids", [])
    if not isinstance(ids, list):
        yield "per_question.question_ids", "should be a list"
    for metric, rows in per_question.items():
        if metric != "question_ids" and not _is_table(rows, n_seeds, len(ids)):
            yield f"per_question.{metric}", f"should hold {n_seeds} lists of {len(ids)} values"


def _is_table(rows: Any, n_rows: int, n_columns: int) -> bool:
    if not isinstance(rows, list) or len(rows) != n_rows:
        return False
    return all(isinstance(row, list) and len(row) == n_columns for row in rows)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
