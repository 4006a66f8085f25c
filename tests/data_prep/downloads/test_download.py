import errno
import gzip
import hashlib
import io
import struct
import tarfile
import threading
import time
import zipfile
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.data_prep.description import DataFile, DatasetDescription
from answer_ranking.data_prep.downloads.data_files import read_verified
from answer_ranking.data_prep.downloads.download import get_dataset

CONTENT = "".join(f"line {i} of a file\n" for i in range(2000)).encode()


SHA256 = hashlib.sha256(CONTENT).hexdigest()


def tar(names, kind="w:bz2"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=kind) as archive:
        for name, content in names.items():
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def with_field(content, offset, value):
    """Change a two-byte field in the first local header and in the central directory."""
    central = content.index(b"PK\x01\x02")
    content = bytearray(content)
    struct.pack_into("<H", content, offset, value)
    struct.pack_into("<H", content, central + offset + 2, value)
    return bytes(content)


HOSTILE = {"../../outside.txt": CONTENT, "/tmp/outside.txt": b"x" * len(CONTENT), "link": None}
ANSWERS = {
    "plain": CONTENT,
    "gzipped": gzip.compress(CONTENT),
    "crlf": CONTENT.replace(b"\n", b"\r\n"),
    "wrong": CONTENT.replace(b"line 7 ", b"line 8 "),
    "half.gz": gzip.compress(CONTENT)[:-100],
    "all.tar.bz2": tar({"data/other.txt": b"x" * len(CONTENT), "data/a.txt": CONTENT}),
    "all.tar.gz": tar({"data/a.txt": CONTENT}, "w:gz"),
    "all.zip": zipped({"data/a.txt": CONTENT.replace(b"\n", b"\r\n"), "README": b"hello"}),
    "hostile.tar": tar(HOSTILE, "w"),
    "hostile.zip": zipped({name: content or b"" for name, content in HOSTILE.items()}),
    "half.tar.bz2": tar({"data/a.txt": CONTENT})[:-100],
    "password.zip": with_field(zipped({"data/a.txt": CONTENT}), 6, 1),
    "compression.zip": with_field(zipped({"data/a.txt": CONTENT}), 8, 99),
    "without.tar.bz2": tar({"data/b.txt": b"x" * len(CONTENT)}),
    "endless.gz": gzip.compress(bytes(10_000_000)),
    "endless.tar.gz": gzip.compress(tar({"a.txt": bytes(10_000_000)}, "w")),
    "long": CONTENT * 3,
}


REDIRECTS = {"moved": "/plain", "around": "/around", "nonsense": "http://[", "disk": "file:///etc/passwd"}


class Handler(BaseHTTPRequestHandler):
    asked: ClassVar[Counter] = Counter()

    def do_GET(self):
        name = self.path[1:]
        Handler.asked[name] += 1
        if name == "busy-once" and Handler.asked[name] == 1:
            self.send_error(503)
        elif name in ("broken", "busy"):
            self.send_response(200 if name == "broken" else 503)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[:1000])
        elif name in REDIRECTS:
            self.send_response(302)
            self.send_header("Location", REDIRECTS[name])
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(ANSWERS["endless.gz"])
        elif name == "slow":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            time.sleep(3)
        elif name == "odd-length":
            self.send_response(200)
            self.send_header("Content-Length", "many")
            self.end_headers()
            self.wfile.write(CONTENT)
        elif name in ANSWERS or name == "busy-once":
            body = ANSWERS.get(name, CONTENT)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            self.send_error(404)

    def log_message(self, *args):
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    Handler.asked.clear()
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def wanted(server, *names, archives=()):
    return DataFile(
        "set/a.txt",
        SHA256,
        len(CONTENT),
        urls=tuple(f"{server}/{name}" for name in names),
        archives=tuple(f"{server}/{name}" for name in archives),
    )


def description(file):
    return DatasetDescription("set", "Set", source="here", licence="free", files=(file,))


def fetch(file, folder):
    return get_dataset(description(file), folder, wait=0.0)[file.path]


def files_under(folder):
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "names",
    [
        ["plain"],
        ["gzipped"],
        ["crlf"],
        ["absent", "wrong", "half.gz", "broken", "plain"],
        ["around", "nonsense", "disk", "long", "endless.gz", "odd-length"],
    ],
)
def test_the_right_content_arrives(tmp_path, server, names):
    file = wanted(server, *names)
    path = fetch(file, tmp_path)
    assert path == tmp_path / "set" / "a.txt.gz"
    assert gzip.decompress(path.read_bytes()) == CONTENT
    assert files_under(tmp_path) == ["set/a.txt.gz"]
    assert not list(tmp_path.rglob(".*"))
    assert set(Handler.asked) == set(names)


def test_a_redirection_is_followed_and_what_comes_with_it_left_unread(tmp_path, server):
    fetch(wanted(server, "moved"), tmp_path)
    assert set(Handler.asked) == {"moved", "plain"}


def test_too_slow_an_address_is_given_up_and_leftovers_are_removed(tmp_path, server, monkeypatch):
    monkeypatch.setattr("answer_ranking.data_prep.downloads.download._DEADLINE", 0.1)
    left = tmp_path / "set" / ".a.txt.gz.0123abcd.999999999.part"
    left.parent.mkdir()
    left.write_bytes(b"half")
    assert fetch(wanted(server, "slow", "plain"), tmp_path).exists()
    assert files_under(tmp_path) == ["set/a.txt.gz"]


@pytest.mark.parametrize("name", ["all.tar.bz2", "all.tar.gz", "all.zip", "hostile.tar", "hostile.zip"])
def test_the_right_content_arrives_out_of_an_archive(tmp_path, server, name):
    folder = tmp_path / "deep" / "er"
    path = fetch(wanted(server, "absent", archives=[name]), folder)
    assert gzip.decompress(path.read_bytes()) == CONTENT
    assert files_under(tmp_path) == ["deep/er/set/a.txt.gz"]


def test_a_busy_server_is_asked_again(tmp_path, server):
    fetch(wanted(server, "busy-once"), tmp_path)
    assert Handler.asked["busy-once"] == 2


@pytest.mark.parametrize(
    ("names", "archives", "reason", "times"),
    [
        (["absent"], [], "HTTP status 404", 1),
        (["busy"], [], "HTTP status 503", 3),
        (["wrong"], [], "the published SHA-256", 1),
        (["half.gz"], [], "damaged or cut short", 3),
        (["broken"], [], "broke off", 3),
        ([], ["half.tar.bz2"], "damaged or cut short", 3),
        (["endless.gz"], [], "unpacks to more than", 1),
        (["long"], [], "more came than", 1),
        (["around"], [], "redirects without an end", 5),
        ([], ["password.zip"], "damaged or cut short", 3),
        ([], ["compression.zip"], "damaged or cut short", 3),
        ([], ["endless.tar.gz"], "unpacks to more than", 1),
        ([], ["without.tar.bz2"], "holds no file with the published SHA-256", 1),
    ],
)
def test_a_failure_says_why_and_leaves_nothing(tmp_path, server, monkeypatch, names, archives, reason, times):
    monkeypatch.setattr("answer_ranking.data_prep.downloads.download._MOST_BYTES", 1_000_000)
    with pytest.raises(UserError, match=reason) as error:
        fetch(wanted(server, *names, archives=archives), tmp_path)
    assert "Check the network" in str(error.value)
    assert files_under(tmp_path) == []
    assert list(Handler.asked.values()) == [times]


def test_no_network_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="no connection"):
        fetch(wanted("http://127.0.0.1:9", "plain"), tmp_path)
    assert files_under(tmp_path) == []


@pytest.mark.parametrize("where", ["download", "result"])
def test_a_full_disk_is_a_user_error(tmp_path, server, monkeypatch, where):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*(("tempfile.TemporaryFile", full) if where == "download" else ("os.fsync", full)))
    with pytest.raises(UserError, match="No space left on device"):
        fetch(wanted(server, "plain"), tmp_path)
    assert files_under(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_a_user_error(tmp_path, server):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(UserError, match="cannot write to"):
        fetch(wanted(server, "plain"), tmp_path / "home")


def test_get_takes_what_is_there_and_fetches_the_rest(tmp_path, server):
    file = wanted(server, "plain")
    (path,) = get_dataset(description(file), tmp_path, wait=0.0).values()
    assert get_dataset(description(file), tmp_path, wait=0.0) == {"set/a.txt": path}
    assert Handler.asked["plain"] == 1
    path.unlink()
    plain = tmp_path / "set" / "a.txt"
    plain.write_bytes(ANSWERS["crlf"])
    assert get_dataset(description(file), tmp_path, wait=0.0) == {"set/a.txt": plain}
    assert read_verified(file, plain) == CONTENT
    assert Handler.asked["plain"] == 1


def test_get_downloads_to_the_named_folder_then_the_environment_then_the_cache(tmp_path, server, monkeypatch):
    file = wanted(server, "plain")
    monkeypatch.delenv("QA_DATA_HOME", raising=False)
    (path,) = get_dataset(description(file), wait=0.0).values()
    assert path == tmp_path / "cache" / "answer-ranking" / "data" / "set" / "a.txt.gz"
    monkeypatch.setenv("QA_DATA_HOME", str(tmp_path / "env"))
    assert list(get_dataset(description(file), wait=0.0).values()) == [path]
    path.unlink()
    (path,) = get_dataset(description(file), wait=0.0).values()
    assert path == tmp_path / "env" / "set" / "a.txt.gz"
    (path,) = get_dataset(description(file), tmp_path / "named", wait=0.0).values()
    assert path == tmp_path / "named" / "set" / "a.txt.gz"


def test_a_wrong_file_of_the_users_is_not_overwritten(tmp_path, server):
    (tmp_path / "set").mkdir()
    mine = tmp_path / "set" / "a.txt"
    mine.write_bytes(ANSWERS["wrong"])
    with pytest.raises(UserError, match="is not the published file"):
        get_dataset(description(wanted(server, "plain")), tmp_path)
    assert mine.read_bytes() == ANSWERS["wrong"]
    assert not Handler.asked


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["wikiqa", "trecqa"])
def test_the_real_files_have_the_published_checksums(real_data_home, name):
    description = find_description(name)
    paths = get_dataset(description, real_data_home)
    for file in description.files:
        assert len(read_verified(file, paths[file.path])) == file.bytes
