"""Ray, where work is spread over several machines. Without Ray everything else works."""

import logging
import os
import platform
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from answer_ranking.base.errors import UserError

_COMPARED = (
    *("answer-ranking", "ray", "keras", "tensorflow"),
    *("numpy", "pandas", "faiss-cpu", "bm25s"),
)


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Connect to a Ray cluster while the block runs; gives the module `ray`.

    Args:
        address: "auto" for the cluster that runs on this machine or that RAY_ADDRESS names, "local" for a new
            one of this machine's processors, or the address of a head node, such as 10.0.0.1:6379.

    Raises:
        UserError: Ray is not installed, no cluster answers, or a node has other versions than this machine.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UserError("Ray is missing: pip install 'answer-ranking[cluster]'.") from error
    mine = not ray.is_initialized()
    if mine:
        ended_by = signal.getsignal(signal.SIGTERM)
        try:
            host, _, port = address.rpartition(":")
            if host and port.isdigit() and "//" not in host:
                # Ray itself would wait for many minutes.
                socket.create_connection((host, int(port)), timeout=10).close()
            ray.init(
                address,
                include_dashboard=False if address == "local" else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(
                f"no Ray cluster answers at {address!r} ({error!s:.200}). "
                "Start one with `ray start --head`, or use the address local."
            ) from error
        if threading.current_thread() is threading.main_thread():
            # Ray's own handler, which it puts over Python's, ends the process at once.
            signal.signal(signal.SIGTERM, ended_by)
    try:
        _refuse_other_versions(ray)
        yield ray
    finally:
        if mine:
            ray.shutdown()


def versions() -> dict[str, str]:
    """Give the versions of what has to be the same on all nodes."""
    found = {"python": platform.python_version()}
    for name in _COMPARED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _refuse_other_versions(ray: Any) -> None:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    own = versions()
    look = ray.remote(num_cpus=0, max_retries=0)(versions)
    nodes, asked = {}, {}
    for each in ray.nodes():
        if each["Alive"]:
            node = each["NodeID"]
            there = NodeAffinitySchedulingStrategy(node, soft=False)
            nodes[node] = each["NodeManagerAddress"]
            asked[node] = look.options(scheduling_strategy=there).remote()
    errors = ray.exceptions
    gone = errors.TaskUnschedulableError, errors.NodeDiedError, errors.WorkerCrashedError
    for node, answer in asked.items():
        try:
            theirs = ray.get(answer)
        except gone:
            continue
        except errors.RayError as error:
            raise UserError(
                f"the node {nodes[node]} cannot run this package ({error!s:.200}). "
                "Install the same version there."
            ) from error
        other = []
        for name, version in own.items():
            if theirs.get(name) != version:
                other.append(f"{name} {theirs.get(name)} (here {version})")
        if other:
            what = f"the node {nodes[node]} has other versions: {', '.join(other)}"
            raise UserError(f"{what}. Install the same ones.")
