"""The addresses under which the service can be had."""

import socket
from pathlib import Path

import pytest

from answer_ranking.base.errors import UserError

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")

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
