import gzip
import os
import resource
import subprocess
import sys
import threading

import pytest

from answer_ranking.base.files import (
    atomic_path,
    atomic_write,
    decode_text,
    locked_folder,
    read_content,
    refuse_links,
    remove_leftovers,
)
from answer_ranking.data_prep import UserError


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with atomic_write(path) as file:
        file.write("old\r\nlines\n")
    assert path.read_bytes() == b"old\r\nlines\n"
    with pytest.raises(ZeroDivisionError), atomic_write(path, "wb") as file:
        file.write(b"new")
        _ = 1 / 0
    assert path.read_bytes() == b"old\r\nlines\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_a_user_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"), atomic_write(tmp_path / "file" / "a.txt"):
        pass


def test_a_name_that_is_too_long_is_a_user_error(tmp_path):
    with (
        pytest.raises(UserError, match=r"cannot write .* name too long"),
        atomic_write(tmp_path / ("a" * 300)),
    ):
        pass
    with pytest.raises(ZeroDivisionError), atomic_write(tmp_path / "a") as file:
        file.close()
        tmp_path.joinpath("b").mkdir()
        _ = 1 / 0
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "folder" / "a.txt")
    for text in ("first", "second"):
        with atomic_write(link) as file:
            file.write(text)
        assert link.is_symlink() and (tmp_path / "folder" / "a.txt").read_text() == text
    named = tmp_path / "model.npy"
    named.symlink_to(tmp_path / "folder" / "blob")
    with atomic_path(named) as temporary:  # libraries go by the suffix
        assert temporary.suffix == ".npy" and temporary.parent == tmp_path / "folder"
        temporary.write_text("array")
    assert named.read_text() == "array"
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with atomic_write(tmp_path / "circle") as file:
        file.write("no circle")
    assert (tmp_path / "circle").read_text() == "no circle"


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    with atomic_write(pipe) as file:
        file.write("text")
    reader.join(10)
    assert read == ["text"] and pipe.is_fifo()


def test_a_library_s_file_takes_its_name_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "a.npy"
    with atomic_path(path) as temporary:
        temporary.write_text("first")
        assert (temporary.suffix, path.exists()) == (".npy", False)
    assert [file.name for file in path.parent.iterdir()] == ["a.npy"]
    with pytest.raises(ZeroDivisionError), atomic_path(path) as temporary:
        temporary.write_text("second")
        _ = 1 / 0
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("library", [False, True])
def test_a_file_that_grows_too_large_is_a_user_error_and_leaves_nothing(tmp_path, library):
    path, content = tmp_path / "a.bin", bytes(100_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(UserError, match=r"cannot write .*a\.bin"):
            if library:
                with atomic_path(path) as temporary:
                    temporary.write_bytes(content)
            else:
                with atomic_write(path, "wb") as file:
                    file.write(content)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_content_is_uncompressed_whatever_the_name(tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"text"))
    assert read_content(tmp_path / "a.txt") == b"text"
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"text" * 1000)[:-5])
    with pytest.raises(UserError, match="damaged or cut short"):
        read_content(tmp_path / "a.txt")
    with pytest.raises(UserError, match="does not exist"):
        read_content(tmp_path / "b.txt")
    with pytest.raises(UserError, match="cannot read"):
        read_content(tmp_path)


def test_text():
    assert decode_text(b"\xef\xbb\xbfa\r\nb\n", "a.txt") == "a\nb\n"
    with pytest.raises(UserError, match=r"a\.txt, line 3: not UTF-8"):
        decode_text("a\nb\né".encode("latin-1"), "a.txt")


LOCK = """
import sys
from answer_ranking.base.files import locked_folder
with locked_folder(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_locked_folder_is_waited_for(tmp_path, capsys, end):
    folder = tmp_path / "seed-0"
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCK, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "locked\n"
    with locked_folder(folder, wait=False) as locked:
        assert not locked
    entered = threading.Event()

    def enter():
        with locked_folder(folder):
            entered.set()

    waiter = threading.Thread(target=enter, daemon=True)
    waiter.start()
    assert not entered.wait(1)
    assert str(folder) in capsys.readouterr().out
    holder.stdin.close() if end == "close" else holder.kill()
    assert entered.wait(30)
    holder.wait()
    waiter.join()


def test_a_folder_that_cannot_be_locked_is_a_user_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write to"), locked_folder(tmp_path / "file"):
        pass


def test_only_the_leftovers_of_ended_processes_are_removed(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = [f".a.json.0123abcd.{ended.pid}.part", f".norms.0123abcd.{ended.pid}.part.png"]
    for name in left:
        (tmp_path / name).write_bytes(b"half")
    # It looks alike, and is somebody else's.
    (tmp_path / f".letter.{ended.pid}.part").write_bytes(b"dear")
    with atomic_write(tmp_path / "a.json") as file, atomic_path(tmp_path / "norms.png") as temporary:
        temporary.write_bytes(b"whole")
        remove_leftovers(tmp_path)
        file.write("whole")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a.json": b"whole",
        "norms.png": b"whole",
        f".letter.{ended.pid}.part": b"dear",
    }


def test_files_that_another_process_removes_are_no_links(tmp_path):
    ended = threading.Event()

    def come_and_go():
        while not ended.is_set():
            for number in range(50):
                (tmp_path / f"{number}.part").touch()
            for number in range(50):
                (tmp_path / f"{number}.part").unlink()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        for _ in range(300):
            refuse_links(tmp_path)
    finally:
        ended.set()
        other.join()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UserError, match="is a link"):
        refuse_links(tmp_path)
