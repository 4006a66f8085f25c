"""The addresses under which the service can be had."""

import shutil
import socket
from pathlib import Path

import pytest

from answer_ranking.base.errors import UserError

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")
pytest.importorskip("httpx", reason="FastAPI's test client needs httpx")

import httpx
from fastapi.testclient import TestClient

from answer_ranking.ranking.service import serve as serve_module
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


def test_a_service_on_all_addresses_has_any_name_unless_it_is_given_some(monkeypatch):
    apps = []
    monkeypatch.setattr(serve_module._Server, "run", lambda self, **_: apps.append(self.config.app))
    # They would change the tests' own process.
    for name in ("set_up_logs", "_leave_processors", "raise_file_limit"):
        monkeypatch.setattr(serve_module, name, lambda *_: None)
    monkeypatch.setattr(serve_module.gc, "freeze", lambda: None)
    serve(Path("hyperqa_squad"), None, "0.0.0.0", 0, (), ServiceOptions())
    with TestClient(apps[0]) as client:
        for host in ("answers.example", "other.example"):
            assert client.get("/api/health", headers={"Host": host}).status_code == 200


def test_a_service_on_all_addresses_has_the_names_that_it_is_given(service):
    on_all = ("hyperqa_squad", "--host", "0.0.0.0", "--allowed-hosts", "answers.example")
    with service(*on_all) as (port, log), socket.create_connection(("127.0.0.1", port), timeout=30) as half:
        half.sendall(b"GET / HTTP/1.1\r\n")
        url = f"http://127.0.0.1:{port}/api/health"
        got = []
        for host in ("answers.example", "other.example"):
            got.append(httpx.get(url, headers={"Host": host}, timeout=60).status_code)
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"nonsense\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 400")
        log.seek(0)
        nonsense = [line for line in log if "Invalid HTTP request" in line]
        # Half a head is not waited for.
        assert half.recv(1) == b""
    assert got == [200, 400]
    # What repeats is logged once.
    assert len(nonsense) == 1


def test_an_index_that_is_not_finished_is_named(folder, tmp_path):
    shutil.copytree(folder, copy := tmp_path / "index")
    (copy / "manifest.json").rename(copy / "building")
    with pytest.raises(UserError, match="is not finished"):
        serve(copy, None, "127.0.0.1", 0, (), ServiceOptions())


def test_a_folder_that_is_not_there_is_an_index_or_a_model():
    with pytest.raises(UserError, match=r"nothere not found\. Give the folder of an index or of a model"):
        serve(Path("nothere"), None, "127.0.0.1", 0, (), ServiceOptions())
