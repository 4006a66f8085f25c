"""How often a client may ask."""

from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")

from fastapi import HTTPException

from answer_ranking.ranking.service import workers
from answer_ranking.ranking.service.options import ServiceOptions


def test_a_client_that_asks_too_often_is_refused_for_a_while(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now[0]))
    admitting = workers.Workers(ServiceOptions(per_second=0.3))
    for _ in range(3):
        admitting.admit("a")
    with pytest.raises(HTTPException, match="429"):
        admitting.admit("a")
    admitting.admit("b")
    now[0] = 10.1
    admitting.admit("a")
