"""A small index, clients of applications that serve it, and services in processes of their own."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

import pandas as pd
import pytest

from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.options import ServiceOptions


@pytest.fixture(scope="session")
def answers():
    return [
        "Marie Curie discovered radium in 1898.",
        "The train to Utrecht leaves at noon.",
        '<script>alert("radium")</script> & co.',
        "הראדיום התגלה",
        "😀 radium glows",
    ]


@pytest.fixture(scope="session")
def preset():
    return Ranker.from_preset("hyperqa_squad")


@pytest.fixture(scope="session")
def folder(tmp_path_factory, preset, answers):
    folder = tmp_path_factory.mktemp("service") / "index"
    AnswerIndex.build(preset, pd.DataFrame({"answer": answers}), folder)
    return folder


@pytest.fixture(scope="session")
def served():
    """Serve an engine within limits: `with served(engine, most_words=100) as client`."""
    pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")
    pytest.importorskip("httpx", reason="FastAPI's test client needs httpx")
    from fastapi.testclient import TestClient

    from answer_ranking.ranking.service.app import make_app

    def client(engine, **limits):
        patient = {"seconds": 60, **limits}  # a first drawing takes long on a busy machine
        return TestClient(make_app(engine, ServiceOptions(**patient)), base_url="http://127.0.0.1")

    return client


@pytest.fixture(scope="session")
def client(folder, preset, served):
    engine = Engine(folder, reranker=preset)
    with served(engine, most_bytes=5_000, most_candidates=50, most_words=100) as client:
        yield client


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """Run `answer-ranking serve` in a process of its own: `with service(*words) as (port, log)`."""
    program = Path(sys.executable).with_name("answer-ranking")
    elsewhere = tmp_path_factory.mktemp("serve")

    @contextmanager
    def run(*words):
        command = [program, "serve", *words, "--port", "0"]
        options = {"env": os.environ | {"PYTHONUNBUFFERED": "1"}, "cwd": elsewhere, "text": True}
        with (
            TemporaryFile("w+") as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, **options) as server,
        ):
            try:
                yield urlsplit(server.stdout.readline().split()[0]).port, log
            finally:
                server.terminate()
        assert server.returncode in (0, -15)

    return run
