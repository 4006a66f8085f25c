"""The list of recorded experiments: run what has no record, or check some by running them again.

The list is reproduce/experiments.txt, a command a line; the value of its `--record` is its name.
"""

import fnmatch
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import ROOT, atomic_write, decode_text, read_content
from answer_ranking.engine import TRAINED, read_facts
from answer_ranking.engine.executors import Job, Task, executors, map_tasks
from answer_ranking.evaluation.records import package_versions, read_study
from answer_ranking.reproduce.experiments.checks import Checks
from answer_ranking.reproduce.experiments.options import (
    RESULTS,
    TRIALS,
    RunOptions,
    figures_folder,
    given_option,
    training_words,
)

LIST = ROOT / "reproduce" / "experiments.txt"


def reproduce(
    only: str = "",
    check: Sequence[str] = (),
    replace: bool = False,
    dry_run: bool = False,
    jobs: int = 0,
    ray: str = "",
    experiments: Path = LIST,
    results: Path = RESULTS,
) -> int:
    """Run the recorded experiments that have no record yet, or check some by running them again.

    One after the other, or their seeds side by side: see `engine.executors`. The status is 1 where a command
    failed or a check does not agree with its record.

    Args:
        only: look only at the commands that hold this text, such as hyperqa_wikiqa.
        check: run the experiments of these names again, such as hyperqa/wikiqa/hyperqa or 'ctrn/*', and say
            whether what they measure agrees with the records (`reproduce.experiments.checks`).
        replace: with check, put the new records in the place of the old ones.
        dry_run: print what would be run, and run nothing.
        jobs: train so many seeds at a time.
        ray: the address of a Ray cluster that trains the seeds, see `base.cluster`.
        experiments: the list of commands.
        results: the folder of the records.
    """
    if replace and not check:
        raise UserError("--replace is for the records of a --check: add --check NAME.")
    if jobs < 0 or (jobs and ray):
        raise UserError(f"give --jobs N, at least 1, or --ray ADDRESS. Received: {jobs} {ray}".rstrip())
    listed = select(experiments, only, check)
    failed, together = [], []
    agree = True
    for number, (name, command) in enumerate(listed.items(), start=1):
        # Read for every command, since another process may be recording at the same time.
        wanted = bool(check) or not records_of(name, results)
        print(f"[{number}/{len(listed)}] {command}\n    {'to run' if wanted else 'recorded'}", flush=True)
        if not wanted:
            continue
        folder = again(name) if check else ROOT
        new_results = folder / "results" if check else results
        if jobs or ray:
            together.append(job_of(name, command, folder, new_results))
            print(f"    to train: {', '.join(task.label for task in together[-1].tasks) or 'nothing'}")
        elif not dry_run:
            # The folder of a check stays after an interruption, and the next call goes on there.
            folder.mkdir(parents=True, exist_ok=True)
            if not run(command, new_results, folder):
                failed.append(command)
            elif check:
                agree &= checked(name, results, replace)
    if together and not dry_run:
        with executors(jobs, ray) as (executor, local):
            failed = map_tasks(together, executor, local)
        for name, command in listed.items() if check else ():
            if command not in failed:
                agree &= checked(name, results, replace)
    for command in failed:
        print(f"failed: {command}", file=sys.stderr)
    return 1 if failed or not agree else 0


def select(experiments: Path, only: str, patterns: Sequence[str]) -> dict[str, str]:
    """Read the commands that hold a text, by their names; each of the patterns has to fit some name."""
    found = {name: command for name, command in read_list(experiments).items() if only in command}
    if not found:
        raise UserError(f"no experiment of {experiments} fits {only!r}.")
    if not patterns:
        return found
    fitting: dict[str, str] = {}
    for pattern in patterns:
        names = fnmatch.filter(found, pattern)
        if not names:
            raise UserError(f"no experiment of {experiments} fits {pattern!r}.")
        fitting |= {name: found[name] for name in names}
    return fitting


def job_of(name: str, command: str, folder: Path, results: Path) -> Job:
    """Cut an experiment into the trainings of those seeds that are not trained yet, and its own command."""
    script, *options = shlex.split(command)[1:]
    places = folder, results, figures_folder(results)
    whole = Task(name, (script, *options), *places, rows=f"{name}{TRIALS}")
    if Path(script).parent.name != "reproduce":
        return Job(command, [whole])
    words = training_words(command)
    seeds, first = (given_option(options, f"--{each}") for each in ("seeds", "first-seed"))
    try:
        numbers = int(seeds) if seeds else None, int(first or 0)
    except ValueError as error:
        raise UserError(f"{name}: --seeds and --first-seed must be whole numbers ({error}).") from error
    trained = trained_seeds(folder, words)
    tasks = []
    for number in RunOptions(seeds=numbers[0], first_seed=numbers[1], record=name).seed_list:
        if number not in trained:
            of_seed = (*words, "--seeds", "1", "--first-seed", str(number), "--train-only")
            tasks.append(Task(f"{name} {number}", of_seed, *places, trains_only=True))
    return Job(command, tasks, whole)


def trained_seeds(folder: Path, words: list[str]) -> set[int]:
    """Find the seeds that these words have trained with the versions that are installed."""
    found, versions = set(), package_versions()
    for path in folder.glob(f"outputs/*/*/seed-*/{TRAINED}"):
        made_by = read_facts(path)
        if made_by.get("words") == words and made_by.get("versions") == versions:
            found.add(made_by["seed"])
    return found


def read_list(path: Path) -> dict[str, str]:
    """Read the commands of the list by the names of their records."""
    commands = {}
    for number, line in enumerate(decode_text(read_content(path), path).splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            try:
                name = given_option(shlex.split(line), "--record")
            except ValueError as error:
                raise UserError(f"{path}, line {number}: {error}. Correct the line.") from error
            if not name or name in commands:
                problem = "the name is another line's, too" if name else "--record NAME is missing"
                raise UserError(f"{path}, line {number}: {problem}.")
            commands[name] = line
    return commands


def records_of(name: str, results: Path) -> dict[Path, dict]:
    """Read the records that an experiment left, by their paths below the folder of the results."""
    found = {}
    for path in sorted(results.glob(f"{name}*.json")):
        record = read_study(path, ("command",))
        if given_option(shlex.split(record["command"]), "--record") == name:
            found[path.relative_to(results)] = record
    return found


def run(command: str, results: Path, folder: Path) -> bool:
    """Run a command of the list in a folder, in which it keeps its outputs; return whether it succeeded.

    An interruption of the command is one of the whole list.
    """
    _, script, *options = shlex.split(command)
    words = [sys.executable, str(ROOT / script), *options, "--results", str(results.resolve())]
    status = subprocess.run(words, cwd=folder, check=False).returncode
    if status < 0 or status in (130, 143):
        raise SystemExit(status if status > 0 else 128 - status)
    return status == 0


def again(name: str) -> Path:
    """Give the folder in which an experiment runs again; it stays after an interruption."""
    return Path("outputs", "check", name).resolve()


def checked(name: str, results: Path, replace: bool) -> bool:
    """Set what a run measured beside the records, put it in their place if wanted, and tidy up."""
    folder = again(name)
    new = folder / "results"
    checks = Checks(records_of(name, results), records_of(name, new))
    print(checks, flush=True)
    checks.log(results.parent / "log.csv", replace)
    if replace:
        _replace(new, results)
    shutil.rmtree(folder)
    return checks.agree


def _replace(new: Path, results: Path) -> None:
    for path in new.rglob("*"):
        if path.is_file():
            # A check has its figures beside its records; the usual place of a study's figures is another.
            place = results / path.relative_to(new)
            place = figures_folder(results) / path.name if path.suffix == ".png" else place
            with atomic_write(place, "wb") as file:
                file.write(path.read_bytes())
