"""How the tests share a machine; `make test` runs them in two processes, a plain `pytest` in one."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # Processes that run side by side have a core each: more threads would only get into each other's way.
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def pytest_collection_modifyitems(items):
    """Put the long tests first, so that no process ends with one alone while the other has nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
