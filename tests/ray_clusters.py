"""Ray clusters that lose nodes, and what is done while something else runs."""

import tempfile
import threading
from contextlib import contextmanager

import pytest


@contextmanager
def ray_cluster(num_cpus):
    """A Ray cluster whose head has so many processors; tests add the nodes that they lose."""
    utils = pytest.importorskip("ray.cluster_utils", reason="needs Ray: pip install -e '.[cluster]'")
    with pytest.MonkeyPatch.context() as patch:
        # The paths of Ray's sockets have to be short.
        patch.setenv("RAY_TMPDIR", tempfile.gettempdir())
        # A lost node is found dead after five checks.
        quick = {"health_check_period_ms": 300}
        head = {"num_cpus": num_cpus, "_system_config": quick}
        made = utils.Cluster(initialize_head=True, head_node_args=head)
        yield made
        made.shutdown()


@contextmanager
def as_soon_as(condition, act):
    """Do something in a thread as soon as a condition holds, or never where the block ends before."""
    ended = threading.Event()

    def wait():
        while not condition():
            if ended.wait(0.02):
                return
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
