"""The addresses under which the service and its drawings can be had."""

import html
import re
import socket
from pathlib import Path

import pandas as pd
import pytest

from answer_ranking.base.errors import UserError

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")
pytest.importorskip("httpx", reason="FastAPI's test client needs httpx")

from fastapi.testclient import TestClient

from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.service.app import make_app
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.serve import serve


@pytest.mark.parametrize(("port", "message"), [(99_999, "at most 65535"), (None, "cannot serve at")])
def test_an_address_that_cannot_be_had_is_named(port, message):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = port or taken.getsockname()[1]
        with pytest.raises(UserError, match=message):
            serve(Path("hyperqa_squad"), None, "127.0.0.1", port, (), ServiceOptions())


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_a_host_that_is_no_name_is_refused(host):
    with pytest.raises(UserError, match="cannot serve at"):
        serve(Path("hyperqa_squad"), None, host, 0, (), ServiceOptions())


def test_a_pattern_that_no_host_can_fit_is_refused():
    with pytest.raises(UserError, match=r"Received: answers\.\*"):
        serve(Path("hyperqa_squad"), None, "127.0.0.1", 0, ("*.example.org", "answers.*"), ServiceOptions())


def test_the_disk_of_long_answers_has_as_many_as_its_address_can_hold(tmp_path):
    answers = [f"radium {number} " + "\u9556" * 700 for number in range(12)]
    AnswerIndex.build("hyperqa_squad", pd.DataFrame({"text": answers}), tmp_path / "index")
    with TestClient(make_app(Engine(tmp_path / "index")), base_url="http://127.0.0.1") as client:
        page = client.get("/", params={"q": "radium", "k": 12, "why": answers[0]}).text
        (drawing,) = [each for each in re.findall(r'src="([^"]+)"', page) if "method=disk" in each]
        assert client.get(f"/{html.unescape(drawing)}").status_code == 200
