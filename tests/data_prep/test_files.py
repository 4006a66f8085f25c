import gzip
import resource

import pytest

from data_prep import UserError
from data_prep.files import atomic_path, atomic_write, decode_text, read_content


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
