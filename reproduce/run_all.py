"""Run every recorded experiment, or go on with it, and leave those alone whose records are up to date.

    python reproduce/run_all.py

The experiments are the lines of reproduce/experiments.txt. A line is skipped when it has a record whose code
has not changed since in a way that may change its numbers. `make results` calls this, and then makes the
documents (`python -m evaluation.report`).

After a change that should change no number, such as one that makes the code shorter:
python reproduce/run_all.py --confirm
Where only code has changed that makes the arrays, nothing is trained: they must be the recorded ones.
--confirm-data does these alone, in seconds each.
"""

import fnmatch
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tyro

from data_prep.cli import run_command
from data_prep.errors import UserError
from evaluation.recorded_code import environment_of, unpack_recorded_code
from evaluation.recorded_experiments import read_commands, recorded_studies, staleness
from evaluation.records import ResultRecord, load_records, read_record, save_record
from evaluation.source_fingerprints import changed_sources
from training.option_ranges import check_range

ROOT = Path(__file__).resolve().parent.parent
# Training sees nothing of these but the arrays and vectors that they make.
MAKERS_OF_DATA = (
    "data_prep/encoded_dataset.py::_encode",
    "data_prep/tables.py",
    "data_prep/tokens.py",
    "data_prep/trained_vectors.py",
    "data_prep/vocabulary.py",
    "data_prep/word_vector*.py",
    # Not the readers themselves: the descriptions beside them also choose protocols and the order of lists.
    "data_prep/sentences.py",
    "data_prep/shared_texts.py",
    "data_prep/splitting.py",
    "reproduce/experiment.py::load_experiment_data",
    "reproduce/task_vectors.py",
)
_MISSING = "no record yet"


@dataclass(frozen=True, kw_only=True)
class Config:
    """The options."""

    experiments: Path = ROOT / "reproduce" / "experiments.txt"
    """The list of commands, one a line."""
    results: Path = ROOT / "reproduce" / "results"
    """Folder of the records."""
    dry_run: bool = False
    """Say what would be run and why, and run nothing."""
    keep_stale: bool = False
    """Leave alone records that are stale; run only what has no record."""
    confirm: bool = False
    """Train only the first seed of what is stale, or nothing where only the data could have changed; where
    that gives the numbers, or the data, of the record again, the record counts as up to date, and says so in
    its notes. If it does not, the code that made the record is taken from the history and run, too: another
    machine may have made it, and both codes must give the same numbers on this one."""
    confirm_epochs: int | None = None
    """Confirm by so many epochs of the first seed, trained with the code that made the record and with that
    of today: much quicker where a whole training takes hours."""
    confirm_data: bool = False
    """Confirm what needs no training for it, since only the making of the data has changed, and leave the
    rest alone."""
    only: str = ""
    """Look only at the commands that hold this text, such as hyperqa_wikiqa."""


def reason_to_run(
    command: str,
    records: Sequence[ResultRecord],
    stale: Mapping[str, str],
    studies: Mapping[str, str],
) -> str | None:
    """Say why a command has to be run.

    Args:
        command: a line of the list.
        records: all records; a command may leave several, one for every protocol.
        stale: what `evaluation.recorded_experiments.staleness` returns for them.
        studies: what `evaluation.recorded_experiments.recorded_studies` returns.

    Returns:
        The reason; None where all its records are up to date.
    """
    words = shlex.split(command)
    own = [stale.get(each.experiment, "") for each in records if shlex.split(each.command) == words]
    own += [reason for study, reason in studies.items() if shlex.split(study) == words]
    if not own:
        return _MISSING
    return next((f"stale: {reason}" for reason in own if reason), None)


def confirm(command: str, results: Path, epochs: int | None = None) -> bool:
    """Train the first seed of a command's records once more; renew their fingerprints if nothing differs.

    Where a number differs, the code that made the records is run on this machine, too: numbers that are the
    same with both codes confirm the records as well, which another machine has made.

    Options that there were not yet when a record was made are added to it.

    Nothing is trained where all that changed since is how the arrays are made, and they are the same.

    Args:
        command: a line of the list, with records.
        results: folder of the records.
        epochs: how many epochs to train, with both codes; None trains as the command says, and with the code
            that made the records only where numbers differ.

    Returns:
        Whether every record was confirmed; if not, none has changed.
    """
    own = {path: record for path, record in _records_of(command, results).items() if record.per_question}
    if _is_study(command):
        return _run([*shlex.split(command)[1:], "--confirm"]) == 0
    if not own:
        print("    records without a training are not confirmed: run without --confirm")
        return False
    seed = next(iter(own.values())).seeds[0]
    words = [word for word in shlex.split(command)[1:] if word not in ("--record", "--main")]
    if all(_only_data_could_differ(record) for record in own.values()):
        return _confirm_data(words, own)
    from reproduce.experiment import record_name

    again = _train_again(words, seed, own, ROOT, epochs)
    if again is None:
        return False
    remark = f"Seed {seed} gave the same numbers again after changes of the code."
    data = {path: new.data for path, new in again.items() if new}
    differing = _first_of_differences(again if epochs else own, again)
    if differing or epochs:
        why = differing or f"{epochs} epochs are trained"
        made = _train_with_recorded_code(words, seed, own, why, epochs) if len(data) == len(own) else None
        other = made and _first_of_differences(made, again)
        if made is None or other:
            print(f"    not confirmed: {differing or other or 'nothing to compare with'}", flush=True)
            return False
        remark = (
            f"{epochs} epochs of seed {seed} gave the same numbers with the code that made this record and "
            "after changes of the code."
            if epochs
            else f"On another machine seed {seed} gave other numbers than here, but the same ones with the "
            "code that made this record and after changes of the code."
        )
        # The vectors that are trained on a data set's texts also differ from machine to machine.
        data = {
            path: new if made[path].data == own[path].data else own[path].data for path, new in data.items()
        }
    for path, record in own.items():
        new = again[path]
        if new.configuration == record.configuration:
            _renew(record, path, new.code, data[path], remark)
        else:
            # The name of a record's file has a hash of the options.
            record = replace(record, configuration=new.configuration)
            _renew(record, path.with_name(f"{record_name(record)}.json"), new.code, data[path], remark)
            path.unlink()
    print("    confirmed", flush=True)
    return True


def _train_again(
    words: Sequence[str], seed: int, own: Mapping[Path, ResultRecord], root: Path, epochs: int | None
) -> dict[Path, ResultRecord | None] | None:
    """Train one seed with the code under `root`; return the new record of each experiment in `own`."""
    with tempfile.TemporaryDirectory() as folder:
        once = ["--seeds", "1", "--first-seed", str(seed), "--output", folder]
        if epochs:
            once += ["--epochs", str(epochs)]
        if _run([*words, *once], root):
            return None
        found = [read_record(path) for path in Path(folder).glob("*/*/*.json")]
    if epochs:
        whole = next(iter(own.values())).configuration["epochs"]
        found = [replace(each, configuration=each.configuration | {"epochs": whole}) for each in found]
    return {
        path: next((each for each in found if _is_again(each, record)), None) for path, record in own.items()
    }


def _train_with_recorded_code(
    words: Sequence[str], seed: int, own: Mapping[Path, ResultRecord], why: str, epochs: int | None
) -> dict[Path, ResultRecord | None] | None:
    """Train one seed with the code that made the records; None where it cannot be had.

    Machines round differently, and a training makes much of it: the same code need not come to the same
    numbers on two of them. On one machine two states of the code can be compared.
    """
    path, record = next(iter(own.items()))
    with tempfile.TemporaryDirectory() as folder:
        if not unpack_recorded_code(path, record.code, ROOT, Path(folder)):
            print("    the code that made the record is not in the repository's history")
            return None
        print(f"    {why}; once more with the code that made the record", flush=True)
        return _train_again(words, seed, own, Path(folder), epochs)


def _is_study(command: str) -> bool:
    """Say whether a command is one that makes records of another kind and can confirm them itself."""
    return shlex.split(command)[1] == "reproduce/eq9_study.py"


def _only_data_could_differ(record: ResultRecord) -> bool:
    if not record.code or not record.per_question:
        return False
    return all(_makes_data(source) for source in changed_sources(record.code, ROOT))


def _makes_data(source: str) -> bool:
    return any(fnmatch.fnmatch(source, maker) for maker in MAKERS_OF_DATA)


def _confirm_data(words: Sequence[str], own: dict[Path, ResultRecord]) -> bool:
    """Load a command's data anew; renew its records' fingerprints if the data are those of the records.

    Vectors that are trained on a data set's texts differ from machine to machine. Where the data differ,
    those that the code of the records makes on this machine are compared.
    """
    now = _data_now(words, ROOT)
    if now is None:
        return False
    data, remark = now["data"], "The data are the same after changes of their making."
    path, record = next(iter(own.items()))
    if any(each.data != data for each in own.values()):
        with tempfile.TemporaryDirectory() as folder:
            found = unpack_recorded_code(path, record.code, ROOT, Path(folder))
            made = _data_now(words, Path(folder)) if found else None
        data = record.data if made is not None and made["data"] == data else None
        remark = (
            "Another machine made other data than this one, but here they are the same with the code that "
            "made this record and after changes of their making."
        )
    for path, record in own.items():
        # A maker of the data that no record named before is confirmed with them; other code is not.
        if record.data != data or not record.code.keys() <= now["code"].keys():
            print(f"    not confirmed: the data, or the list of the code, is another ({path.name})")
            return False
    for path, record in own.items():
        code = {each: now["code"][each] for each in now["code"] if each in record.code or _makes_data(each)}
        _renew(record, path, code, data, remark)
    print("    confirmed: the same data", flush=True)
    return True


def _data_now(words: Sequence[str], root: Path) -> dict[str, Any] | None:
    """Load a command's data with the code under `root`; give the fingerprints of data and code."""
    done = subprocess.run(
        [sys.executable, *words, "--check-data"],
        cwd=root,
        env=environment_of(root),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return None if done.returncode else json.loads(done.stdout.splitlines()[-1])


def _renew(record: ResultRecord, path: Path, code: dict[str, str], data: str, remark: str) -> None:
    notes = record.notes if remark in record.notes else f"{record.notes} {remark}".strip()
    save_record(replace(record, code=code, data=data, notes=notes), path)


def _is_again(new: ResultRecord, record: ResultRecord) -> bool:
    """Say whether a record is of the same experiment, but for options that there were not yet."""
    return new.subject == record.subject and all(
        name in new.configuration and new.configuration[name] == value
        for name, value in record.configuration.items()
    )


def _first_of_differences(
    records: Mapping[Path, ResultRecord | None], again: Mapping[Path, ResultRecord | None]
) -> str | None:
    differences = ((path, _first_difference(record, again[path])) for path, record in records.items())
    return next((f"{differing} ({path.name})" for path, differing in differences if differing), None)


def _first_difference(record: ResultRecord | None, again: ResultRecord | None) -> str | None:
    """Say in what the first seed's numbers differ from those of the same training done again."""
    if record is None or again is None:
        return "the command has other options than the record"
    if record.per_question["question_ids"] != again.per_question["question_ids"]:
        return "other questions count"
    for metric, of_seeds in record.per_question.items():
        if metric != "question_ids" and of_seeds[0] != again.per_question[metric][0]:
            means = (each.metrics[metric]["per_seed"][0] for each in (record, again))
            return "{} was {} and is {}".format(metric, *means)
    return None


def _records_of(command: str, results: Path) -> dict[Path, ResultRecord]:
    words = shlex.split(command)
    records = {path: read_record(path) for path in sorted(results.glob("*.json"))}
    return {path: record for path, record in records.items() if shlex.split(record.command) == words}


def _run(words: Sequence[str], root: Path | None = None) -> int:
    """Run a script of the repository, or of another state of it; its interruption is one of the whole."""
    root = root or ROOT
    status = subprocess.run(
        [sys.executable, *words], cwd=root, env=environment_of(root), check=False
    ).returncode
    if status < 0 or status == 130:
        raise SystemExit(130 if status == 130 else 128 - status)
    return status


def _remove_superseded(command: str, results: Path, begun: str) -> None:
    """Remove the records that a command left when its defaults were others: they claim the same rows."""
    own = _records_of(command, results)
    if any(record.created >= begun for record in own.values()):
        for path, record in own.items():
            if record.created < begun:
                path.unlink()
                print(f"    removed {path.name}, which the command no longer makes")


def run_all(config: Config) -> int:
    """Run what has to be run, in the order of the list; a command that fails does not keep back the others.

    Args:
        config: the options.

    Returns:
        The exit code: 0, or 1 where a command failed or a record was not confirmed.

    Raises:
        UserError: the list or a record cannot be read, or no command holds the text of `only`.
    """
    commands = [command for command in read_commands(config.experiments) if config.only in command]
    if not commands:
        raise UserError(f"no command of {config.experiments} holds {config.only!r}. Correct --only.")
    check_range(config, "confirm_epochs", at_least=1)
    confirms = config.confirm or config.confirm_epochs is not None
    failed = []
    for number, command in enumerate(commands, start=1):
        # Read anew for every command, since another process may be recording at the same time.
        records = load_records(config.results)
        stale, studies = staleness(records, ROOT), recorded_studies(config.results, ROOT)
        if config.keep_stale:
            stale, studies = {}, dict.fromkeys(studies, "")
        reason = reason_to_run(command, records, stale, studies)
        print(f"[{number}/{len(commands)}] {command}\n    {reason or 'recorded'}", flush=True)
        if reason is None or config.dry_run:
            continue
        if confirms or config.confirm_data:
            own = _records_of(command, config.results).values()
            studied = confirms and _is_study(command)
            if not (own or studied) or (config.confirm_data and not all(map(_only_data_could_differ, own))):
                continue
            failed += [] if confirm(command, config.results, config.confirm_epochs) else [command]
            continue
        begun = datetime.now(UTC).isoformat(timespec="seconds")
        if _run(shlex.split(command)[1:]):
            failed.append(command)
        else:
            _remove_superseded(command, config.results, begun)
    for command in failed:
        verb = "not confirmed" if confirms or config.confirm_data else "failed"
        print(f"{verb}: {command}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    run_command(lambda: run_all(tyro.cli(Config, description=__doc__)))
