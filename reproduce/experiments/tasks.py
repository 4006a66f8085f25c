"""Tasks of a study side by side: on the processors of this machine, or on a Ray cluster.

A task is one seed of an experiment, or a whole study of `reproduce/studies`. It is a command in a process of
its own, as if somebody had typed it. When the seeds of an experiment are trained, its own command measures
them and writes the record, as it does where it has trained them itself. Of a search of options each trial
comes back at once.
"""

import ctypes
import hashlib
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from answer_ranking.base.cluster import cluster
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, cache_folder, held_folder
from answer_ranking.evaluation.records import environment
from answer_ranking.reproduce.experiments.options import RESULTS, TRIALS, figures_folder, given_option
from answer_ranking.reproduce.experiments.shipping import Shipped, homes_here, pack, ship

ROOT = RESULTS.parents[1]
_LOG_LINES = 20
_LOST_AT_MOST = 10
"""A task is started again so many times where its node or worker is lost."""


@dataclass(frozen=True)
class Task:
    """A command of the repository: a script below its root and the options.

    Attributes:
        label: what the progress line calls it.
        words: the script's path below the repository's root, then its options.
        folder: where it works: its outputs are in `outputs/` there.
        results: the folder of the records.
    """

    label: str
    words: tuple[str, ...]
    folder: Path
    results: Path


@dataclass(frozen=True)
class Outcome:
    """How a task ended: its exit status, the end of its log, and, from another machine, its files as tar."""

    status: int
    log: str
    files: bytes = b""


class Workers(Protocol):
    """What runs tasks, so many at a time."""

    room: int

    def submit(self, task: Task) -> "Future[Outcome]": ...
    def running(self) -> Mapping[str, str]: ...


class Here:
    """Runs tasks in processes of this machine, so many at a time, which share its processors."""

    def __init__(self, jobs: int):
        self.room = jobs
        self._threads = max(1, environment()["threads"] // jobs)
        self._pool = ThreadPoolExecutor(jobs)
        self._running: dict[str, subprocess.Popen | None] = {}
        self._stopped = threading.Event()

    def submit(self, task: Task) -> "Future[Outcome]":
        """Start a task."""
        self._running[task.label] = None
        return self._pool.submit(self._run, task)

    def running(self) -> Mapping[str, str]:
        """Give the labels of what runs, and where."""
        return dict.fromkeys(list(self._running), "")

    def _run(self, task: Task) -> Outcome:
        name = "".join(c if c.isalnum() or c in "+.-" else "-" for c in task.label)
        log = task.folder / "outputs" / "logs" / f"{name}.log"
        words = [*task.words, "--results", str(task.results.resolve())]
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as file:
                process = start(words, task.folder, file, self._threads, {})
                self._running[task.label] = process
                if self._stopped.is_set():
                    process.terminate()
                status = process.wait()
        finally:
            del self._running[task.label]
        return Outcome(status, f"{log}:\n{_tail(log)}")

    def stop(self) -> None:
        """End what runs, in order: each training keeps its last epoch."""
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in list(self._running.values()):
            if process is not None:
                process.terminate()
        self._pool.shutdown()


class OnRay:
    """Runs tasks on the nodes of a Ray cluster, each on one processor.

    A task whose node or worker is lost runs again elsewhere; one that fails does not. Data sets and word
    vectors are read where they are on every node, or else sent to each node once.
    """

    def __init__(self, ray: Any):
        self._ray = ray
        self._homes = ship(ray)
        self._commit = environment()["commit"]
        # The head node has this resource; without that node the whole cluster ends.
        board = ray.remote(num_cpus=0, resources={"node:__internal_head__": 0.001})(Board)
        self._board = board.remote()
        self._there = ray.remote(num_cpus=1, max_retries=_LOST_AT_MOST, retry_exceptions=False)(there)
        self._submitted: dict[str, Task] = {}
        self._seen: dict[str, bytes] = {}
        # Ray itself keeps what has no place yet.
        self.room = sys.maxsize

    def submit(self, task: Task) -> "Future[Outcome]":
        """Start a task on some node as soon as there is room; a search goes on from its trials here."""
        self._submitted[task.label] = task
        name = given_option(task.words, "--record")
        trials = pack(task.results, task.results.glob(f"{name}{TRIALS}") if name else (), "results")
        self._seen[task.label] = trials
        place = str(task.results)
        future = self._there.remote(
            task.label, task.words, place, trials, self._homes, self._commit, self._board
        ).future()
        future.add_done_callback(lambda _: self._submitted.pop(task.label, None))
        return future

    def running(self) -> Mapping[str, str]:
        """Give the labels of what runs, and where; write the trials that have come."""
        try:
            started, trials = self._ray.get(self._board.look.remote(), timeout=5)
        except self._ray.exceptions.RayError:
            return {}
        submitted = dict(self._submitted)
        for label, content in trials.items():
            if label in submitted and _size(content) > _size(self._seen[label]):
                unpack(content, submitted[label])
                self._seen[label] = content
        return {label: node for label, node in started.items() if label in submitted}


class Board:
    """An actor on which tasks write where they run, and the trials that they have."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}
        self._trials: dict[str, bytes] = {}

    def start(self, label: str, node: str, trials: bytes) -> bytes:
        self._nodes[label] = node
        self.keep(label, trials)
        return self._trials[label]

    def keep(self, label: str, trials: bytes) -> None:
        # The worker of a lost node may still speak while the task runs elsewhere.
        self._trials[label] = max(self._trials.get(label, trials), trials, key=_size)

    def look(self) -> tuple[dict[str, str], dict[str, bytes]]:
        return self._nodes, self._trials


def there(
    label: str,
    words: tuple[str, ...],
    place: str,
    trials: bytes,
    homes: dict[str, Shipped],
    commit: str,
    board: Any,
) -> Outcome:
    """Run a task on a node, and bring back its files: a seed's state, or what a study has left.

    `place` is the folder of the records on the machine of the command, `trials` are those that it had.
    """
    node, own = socket.gethostname(), environment()["commit"]
    if own != commit:
        return Outcome(1, f"{node} runs the commit {own or 'of no repository'}, not {commit}. Update it.")
    # The same task goes on here after its worker was lost, and elsewhere from the trials of a search.
    folder = cache_folder() / "tasks" / hashlib.sha256(repr((commit, words)).encode()).hexdigest()[:24]
    with held_folder(folder):
        log, results = folder / "log", folder / "results"
        trials = board.start.remote(label, node, trials).future().result()
        unpack(trials, Task(label, words, folder, results))
        with log.open("wb") as file:
            command = [*words, "--results", str(results)]
            process = start(command, folder, file, 1, homes_here(homes))
            while (status := _status(process, 2)) is None:
                found = pack(folder, results.rglob(f"*{TRIALS}"))
                if found != trials:
                    board.keep.remote(label, found)
                    trials = found
        files = folder.glob("outputs/*/*/seed-*/*" if "--train-only" in words else "**/*")
        left = {"lock", "log"}
        if "--train-only" not in words:
            # A study has measured: the states of its seeds, hundreds of megabytes, are not needed any more.
            left.add("state.npz")
        files = [path for path in files if path.is_file() and path.name not in left]
        said = f"on {node}:\n{_tail(log)}".replace(str(results), place)
        if status:
            return Outcome(status, said)  # what is trained stays for the next start
        outcome = Outcome(status, said, pack(folder, files))
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def start(
    words: list[str] | tuple[str, ...], folder: Path, log: Any, threads: int, places: Mapping[str, str]
) -> subprocess.Popen:
    """Start a script of the repository in a folder; it ends with the thread that has started it."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, str(ROOT / words[0]), *words[1:]],
        cwd=folder,
        env=os.environ | dict.fromkeys(names, str(threads)) | dict(places),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    )


def _status(process: subprocess.Popen, seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _die_with_parent() -> None:
    # Else a killed driver or worker would leave a training behind, which nobody waits for.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").replace("\r", "\n").splitlines()
    return "\n".join(f"    {line}" for line in lines[-_LOG_LINES:])


def _size(content: bytes) -> int:
    """Sum up the sizes of packed files."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return sum(member.size for member in archive)


def unpack(content: bytes, task: Task) -> None:
    """Write the files of a task where it would have left them on this machine."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            part, _, name = tarfile.data_filter(member, str(task.folder)).name.partition("/")
            results = figures_folder(task.results) if name.endswith(".png") else task.results
            home = {"outputs": task.folder / "outputs", "results": results}[part]
            with atomic_write(home / name, "wb") as file:
                file.write(archive.extractfile(member).read())  # type: ignore[union-attr]


@dataclass
class Job:
    """An experiment of the list: its tasks, and the task that measures them, if there is one."""

    command: str
    tasks: list[Task]
    last: Task | None = None
    failed: bool = False


@contextmanager
def workers(jobs: int, address: str) -> Iterator[tuple[Workers, Here]]:
    """Give what runs tasks, and what runs the last task of an experiment, which needs the files here."""
    here = Here(jobs or 1)
    try:
        if address:
            with cluster(address) as ray:
                yield OnRay(ray), here
        else:
            yield here, here
    finally:
        here.stop()


def run_jobs(jobs: list[Job], everywhere: Workers, here: Here) -> list[str]:
    """Run all tasks; those that fail are named, with the end of their log, and the others go on.

    Returns the commands that failed.
    """
    left = {id(job): len(job.tasks) for job in jobs}
    total = sum(len(job.tasks) + (job.last is not None) for job in jobs)
    ready = deque((job, task) for job in jobs for task in job.tasks)
    last = deque((job, job.last) for job in jobs if job.last and not job.tasks)
    waiting: dict[Future[Outcome], tuple[Job, Task]] = {}
    with tqdm(total=total, desc="tasks", unit="task", dynamic_ncols=True, disable=None) as bar:
        while ready or last or waiting:
            # What is trained is measured first, so that its record is there soon.
            for queue, where in ((last, here), (ready, everywhere)):
                while queue and len(where.running()) < where.room:
                    job, task = queue.popleft()
                    waiting[where.submit(task)] = job, task
            for future in wait(waiting, timeout=2, return_when=FIRST_COMPLETED).done:
                job, task = waiting.pop(future)
                outcome = _outcome(future)
                if outcome.files:
                    unpack(outcome.files, task)
                if outcome.status:
                    job.failed = True
                    bar.write(f"failed: {task.label}\n  {outcome.log}", file=sys.stderr)
                else:
                    bar.write(f"done: {task.label}")
                bar.update()
                left[id(job)] -= task is not job.last
                if task is not job.last and not left[id(job)] and job.last and not job.failed:
                    last.append((job, job.last))
            running = {**here.running(), **everywhere.running()}
            bar.set_postfix_str(", ".join(f"{label} {node}".strip() for label, node in running.items()))
    return [job.command for job in jobs if job.failed]


def _outcome(future: "Future[Outcome]") -> Outcome:
    try:
        return future.result()
    except (UserError, OSError) as error:
        return Outcome(1, str(error))
    except Exception as error:
        # Ray's errors are of a dozen kinds: a node that was lost too often, a worker out of memory.
        if type(error).__module__.partition(".")[0] != "ray":
            raise
        return Outcome(1, f"{type(error).__name__}: {error!s:.500}")
