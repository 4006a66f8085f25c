"""Executors: tasks side by side on the processors of this machine, or on the nodes of a Ray cluster.

A task is a command of the repository in a process of its own, as if somebody had typed it: one seed of an
experiment, or a whole study. When the seeds of an experiment are trained, its own command measures them and
writes the record, as it does where it has trained them itself. The rows of a study come back at once.
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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from answer_ranking.base.cluster import cluster
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import ROOT, atomic_write, cache_folder, locked_folder
from answer_ranking.engine.data_transfer import SentFolder, local_homes, pack, packed_size, send_homes
from answer_ranking.evaluation.records import environment

SEEDS = "outputs/*/*/seed-*/*"
"""The files of trained seeds in a task's folder."""
_LOG_LINES = 20
_LOST_AT_MOST = 10
"""A task is started again so many times where its node or worker is lost."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


@dataclass(frozen=True)
class Task:
    """A command of the repository: a script below its root and the options.

    Attributes:
        label: what the progress line calls it.
        words: the script's path below the repository's root, then its options.
        folder: where it works: its outputs are in `outputs/` there.
        results: the folder of the records.
        figures: the folder of the figures that it leaves in the results.
        rows: the file below the results whose rows come back while it runs, if there is one.
        trains_only: its files of seeds come back; else all that it leaves but the states of its seeds.
    """

    label: str
    words: tuple[str, ...]
    folder: Path
    results: Path
    figures: Path
    rows: str = ""
    trains_only: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a task ended: its exit status, the end of its log, and, from another machine, its files as tar."""

    status: int
    log: str
    files: bytes = b""


class Executor(Protocol):
    """What runs tasks, at most `capacity` at a time."""

    capacity: int

    def submit(self, task: Task) -> "Future[Outcome]": ...
    def running(self) -> Mapping[str, str]: ...


class LocalExecutor:
    """Runs tasks in processes of this machine, so many at a time, which share its processors."""

    def __init__(self, jobs: int):
        self.capacity = jobs
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


class RayExecutor:
    """Runs tasks on the nodes of a Ray cluster, each on one processor.

    A task whose node or worker is lost runs again elsewhere; one that fails does not. Data sets and word
    vectors are read where they are on every node, or else sent to each node once.
    """

    # Ray itself keeps what has no place yet.
    capacity = sys.maxsize

    def __init__(self, ray: Any):
        self._ray = ray
        self._homes = send_homes(ray)
        self._commit = environment()["commit"]
        # The head node has this resource; without that node the whole cluster ends.
        actor = ray.remote(num_cpus=0, resources={"node:__internal_head__": 0.001})(ProgressActor)
        self._progress = actor.remote()
        retries = {"max_retries": _LOST_AT_MOST, "retry_exceptions": False}
        self._on_node = ray.remote(num_cpus=1, **retries)(run_on_node)
        self._submitted: dict[str, Task] = {}
        self._seen: dict[str, bytes] = {}

    def submit(self, task: Task) -> "Future[Outcome]":
        """Start a task on some node as soon as there is room; a study goes on from its rows here."""
        self._submitted[task.label] = task
        rows = _pack_rows(task, task.results)
        self._seen[task.label] = rows
        future = self._on_node.remote(task, rows, self._homes, self._commit, self._progress).future()
        future.add_done_callback(lambda _: self._submitted.pop(task.label, None))
        return future

    def running(self) -> Mapping[str, str]:
        """Give the labels of what runs, and where; write the rows that have come."""
        try:
            nodes, rows = self._ray.get(self._progress.read.remote(), timeout=5)
        except self._ray.exceptions.RayError:
            return {}
        submitted = dict(self._submitted)
        for label, content in rows.items():
            if label in submitted and packed_size(content) > packed_size(self._seen[label]):
                unpack(content, submitted[label])
                self._seen[label] = content
        return {label: node for label, node in nodes.items() if label in submitted}


class ProgressActor:
    """An actor to which tasks report where they run, and the rows that they have."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}
        self._rows: dict[str, bytes] = {}

    def start(self, label: str, node: str, rows: bytes) -> bytes:
        self._nodes[label] = node
        self.keep(label, rows)
        return self._rows[label]

    def keep(self, label: str, rows: bytes) -> None:
        # The worker of a lost node may still speak while the task runs elsewhere.
        self._rows[label] = max(self._rows.get(label, rows), rows, key=packed_size)

    def read(self) -> tuple[dict[str, str], dict[str, bytes]]:
        return self._nodes, self._rows


def run_on_node(task: Task, rows: bytes, homes: dict[str, SentFolder], commit: str, progress: Any) -> Outcome:
    """Run a task on a node, and bring back its files: a seed's state, or what a study has left.

    `rows` are those that the machine of the command has.
    """
    node, own = socket.gethostname(), environment()["commit"]
    if own != commit:
        return Outcome(1, f"{node} runs the commit {own or 'of no repository'}, not {commit}. Update it.")
    # The same task goes on here after its worker was lost, and elsewhere from the rows of a study.
    name = hashlib.sha256(repr((commit, task.words)).encode()).hexdigest()[:24]
    folder = cache_folder() / "tasks" / name
    with locked_folder(folder):
        log, results = folder / "log", folder / "results"
        rows = progress.start.remote(task.label, node, rows).future().result()
        unpack(rows, Task("", (), folder, results, results))
        with log.open("wb") as file:
            command = [*task.words, "--results", str(results)]
            process = start(command, folder, file, 1, local_homes(homes))
            while (status := _status(process, 2)) is None:
                found = _pack_rows(task, results)
                if found != rows:
                    progress.keep.remote(task.label, found)
                    rows = found
        said = f"on {node}:\n{_tail(log)}".replace(str(results), str(task.results))
        if status:
            return Outcome(status, said)  # what is trained stays for the next start
        outcome = Outcome(status, said, pack(folder, _files_left(task, folder)))
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _pack_rows(task: Task, results: Path) -> bytes:
    return pack(results, results.glob(task.rows) if task.rows else (), "results")


def _files_left(task: Task, folder: Path) -> Iterator[Path]:
    left_out = {"lock", "log"}
    if not task.trains_only:
        # A study has measured: the states of its seeds, hundreds of megabytes, are not needed any more.
        left_out.add("state.npz")
    for path in folder.glob(SEEDS if task.trains_only else "**/*"):
        if path.is_file() and path.name not in left_out:
            yield path


def start(
    words: Sequence[str], folder: Path, log: Any, threads: int, places: Mapping[str, str]
) -> subprocess.Popen:
    """Start a script of the repository in a folder; it ends with the thread that has started it."""
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, str(ROOT / words[0]), *words[1:]],
        cwd=folder,
        env=os.environ | dict.fromkeys(_THREADS, str(threads)) | dict(places),
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


def unpack(content: bytes, task: Task) -> None:
    """Write the files of a task where it would have left them on this machine."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            part, _, name = tarfile.data_filter(member, str(task.folder)).name.partition("/")
            results = task.figures if name.endswith(".png") else task.results
            home = {"outputs": task.folder / "outputs", "results": results}[part]
            with atomic_write(home / name, "wb") as file:
                file.write(archive.extractfile(member).read())  # type: ignore[union-attr]


@dataclass
class Job:
    """An experiment: its tasks, and the task that measures what they have trained, if there is one."""

    command: str
    tasks: list[Task]
    last: Task | None = None
    failed: bool = False

    def __post_init__(self) -> None:
        self.left = len(self.tasks)


@contextmanager
def executors(jobs: int, address: str) -> Iterator[tuple[Executor, LocalExecutor]]:
    """Give what runs tasks, and what runs the last task of an experiment, which needs the files here."""
    local = LocalExecutor(jobs or 1)
    try:
        if address:
            with cluster(address) as ray:
                yield RayExecutor(ray), local
        else:
            yield local, local
    finally:
        local.stop()


def map_tasks(jobs: list[Job], executor: Executor, local: LocalExecutor) -> list[str]:
    """Run all tasks; those that fail are named, with the end of their log, and the others go on.

    Returns the commands that failed.
    """
    queue: deque[tuple[Executor, Job, Task]] = deque()
    for job in jobs:
        queue.extend((executor, job, task) for task in job.tasks)
        if job.last and not job.tasks:
            queue.appendleft((local, job, job.last))
    waiting: dict[Future[Outcome], tuple[Job, Task]] = {}
    total = sum(len(job.tasks) + (job.last is not None) for job in jobs)
    with tqdm(total=total, desc="tasks", unit="task", dynamic_ncols=True, disable=None) as bar:
        while queue or waiting:
            for _ in range(len(queue)):
                place, job, task = queue.popleft()
                if len(place.running()) < place.capacity:
                    waiting[place.submit(task)] = job, task
                else:
                    queue.append((place, job, task))
            for future in wait(waiting, timeout=2, return_when=FIRST_COMPLETED).done:
                job, task = waiting.pop(future)
                _finish(job, task, _outcome(future), bar)
                if task is not job.last and not job.left and job.last and not job.failed:
                    # What is trained is measured first, so that its record is there soon.
                    queue.appendleft((local, job, job.last))
            running = {**local.running(), **executor.running()}
            bar.set_postfix_str(", ".join(f"{label} {node}".strip() for label, node in running.items()))
    return [job.command for job in jobs if job.failed]


def _finish(job: Job, task: Task, outcome: Outcome, bar: tqdm) -> None:
    job.left -= 1
    if outcome.files:
        unpack(outcome.files, task)
    if outcome.status:
        job.failed = True
        bar.write(f"failed: {task.label}\n  {outcome.log}", file=sys.stderr)
    else:
        bar.write(f"done: {task.label}")
    bar.update()


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
