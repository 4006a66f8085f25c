"""The connection to Ray: without Ray, and with nodes of other versions."""

import pytest

from answer_ranking.base import cluster as module
from answer_ranking.base.cluster import cluster
from answer_ranking.base.errors import UserError


def test_a_node_of_other_versions_is_refused(monkeypatch):
    pytest.importorskip("ray", reason="needs Ray: pip install -e '.[cluster]'")
    real = module.metadata.version
    # This process alone: the node's own has the real ones.
    monkeypatch.setattr(module.metadata, "version", lambda name: "0.1" if name == "keras" else real(name))
    with (
        pytest.raises(UserError, match=r"the node .* has other versions: keras .* \(here 0\.1\)"),
        cluster("local"),
    ):
        pass
