import gzip
import io
import zipfile

import numpy as np
import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.word_vectors import files as vector_files
from answer_ranking.data_prep.word_vectors.files import read_vectors

FORMATS = "word2vec.txt word2vec.txt.gz word2vec.bin word2vec.bin.gz glove.txt glove.txt.gz trailing.txt"
FORMATS += " blanks.txt numberbatch.txt numberbatch.txt.gz one.zip two.zip#glove.5d.txt"


@pytest.mark.parametrize("name", FORMATS.split())
def test_every_format_holds_the_same(files, known, name):
    of_file, values = known
    wanted = [*of_file[1:], "absent"]
    _, words, vectors = read_vectors(name, wanted, embeddings_home=files)
    assert sorted(words) == sorted(of_file[1:])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, values[[of_file.index(word) for word in words]])


def test_by_path_and_by_environment(files, monkeypatch):
    assert read_vectors(str(files / "glove.txt"), ["the"])[0] == "glove"
    monkeypatch.setenv("QA_EMBEDDINGS_HOME", str(files))
    assert read_vectors("word2vec.bin.gz", ["the"])[0] == "word2vec"


def encrypted(name):
    """An archive that says of its member that it is encrypted."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(name, "the 1 2\n")
    content = bytearray(archive.getvalue())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + place] |= 1
    return bytes(content)


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfthe 1 2\ncat 3 4\n")
    _, words, vectors = read_vectors(str(tmp_path / "a.txt"), ["the", "cat"])
    assert (words, vectors.tolist()) == (["the", "cat"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"the 1 2\nof 1 2", "line 2: cut short"),
        ("a.txt", b"the 1 2\nof 1\n", "line 2: 1 numbers, not 2"),
        ("a.txt", b"the 1 2\nof 1 x\n", "line 2: not a number"),
        ("a.txt", b"the 1 2\nof 1 nan\n", "line 2: the vector of 'of' is not finite"),
        ("a.txt", b"", "holds 0 vectors"),
        ("a.txt", b"3 2\nthe 1 2\nof 1 2\n", "holds 2 vectors, not the 3 it promises"),
        ("a.txt.gz", gzip.compress(b"the 1 2\n" * 99, mtime=0)[:-9], "damaged or cut short"),
        ("a.txt", "the 1 2\nof 1 2\n".encode("utf-16"), "line 1: binary or UTF-16"),
        ("a.txt", b"\n<!DOCTYPE html>\n<html lang=en>", "line 2: .*a web page"),
        ("a.txt.gz", gzip.compress(b"the 1" * 10**6, mtime=0), "line 1: longer than"),
        (
            "a.txt.gz",
            gzip.compress((b"the " + b"0" * 99 + b"1\n") * 4 * 10**5, mtime=0),
            "unpacks to more than",
        ),
        ("a.bin.gz", gzip.compress(b"9 1\n" + b"x" * 10**7, mtime=0), "row 1.*: not a word"),
        ("a.bin", b"1 1\nthe \0\0\0\x7f", "row 1, the word 'the': not a"),
        ("a.bin", b"3 2\nthe \0\0\0\0", "word2vec's binary form"),
        ("a.bin", b"99999999999 300\nthe ", "word2vec's binary form"),
        ("a.bin", b"1 1\nthe \0\0\0\0of \0\0\0\0", "row 1: not the last one"),
        ("a.bin", b"2 0\nthe of ", "line 1: not 1 vector or more of 1"),
        ("a.txt.gz", gzip.compress(b"\n \n" * 10**4, mtime=0), "blank lines"),
        ("a.bin", b"1 2\nthe " + np.float32([1, np.nan]).tobytes(), "the word 'the'"),
        ("a.zip", encrypted("a.txt"), "encrypted"),
    ],
)
def test_a_malformed_file_is_a_user_error(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        read_vectors(str(tmp_path / name), ["the", "of"])
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("two.zip", "holds 2 files: write"),
        ("two.zip#glove.9d.txt", r"does not hold glove\.9d\.txt"),
        ("absent.txt", "there are no word vectors 'absent.txt'"),
        ("glove-840b-300d", r"Download https://nlp\.stanford\.edu/data/glove\.840B\.300d\.zip and put"),
    ],
)
def test_a_source_that_is_not_there_is_a_user_error(files, source, message):
    with pytest.raises(UserError, match=message):
        read_vectors(source, ["the"], embeddings_home=files)


def test_rows_of_a_large_file_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("answer_ranking.data_prep.word_vectors.files._WORTH_CACHING", 1)
    path, cache = tmp_path / "a.txt", tmp_path / "kept"
    path.write_text("the 1 2\nof 3 4\n")
    first = read_vectors(str(path), ["of", "the"], cache_home=cache)
    (entry,) = cache.rglob("*.npz")
    again = read_vectors(str(path), ["the", "of"], cache_home=cache)
    assert first[:2] == again[:2]
    np.testing.assert_array_equal(first[2], again[2])
    entry.write_bytes(entry.read_bytes()[:50])
    with pytest.warns(UserWarning, match="damaged"):
        read_vectors(str(path), ["of", "the"], cache_home=cache)
    path.write_text("the 1 2\nof 5 6\n\n")
    np.testing.assert_array_equal(read_vectors(str(path), ["of"], cache_home=cache)[2], [[5, 6]])


@pytest.mark.parametrize("name", FORMATS.split())
def test_a_large_file_is_not_read_for_words_that_it_lacks(files, known, tmp_path, monkeypatch, name):
    monkeypatch.setattr(vector_files, "_WORTH_CACHING", 1)

    def read(*wanted):
        return read_vectors(name, wanted, files, tmp_path / "kept", keep=False)[1:]

    words, vectors = read("Paris", "xyzzy", "zoë")
    assert sorted(words) == ["Paris", "zoë"]
    np.testing.assert_array_equal(vectors, known[1][[known[0].index(word) for word in words]])
    monkeypatch.setattr(vector_files, "_read_file", lambda *_: pytest.fail("the file is read"))
    for _ in range(2):
        words, vectors = read("xyzzy", "Zoë")
        assert (words, vectors.shape, vectors.dtype) == ([], (0, 5), np.float32)
        vector_files._words_of.cache_clear()  # As in a new process.


@pytest.mark.parametrize("line_end", [b"", b"\n"])
def test_a_damaged_binary_file_is_refused_or_differs_in_few_rows(tmp_path, damaged, line_end):
    words = [f"word{i}" for i in range(40)]
    values = np.random.default_rng(0).normal(size=(40, 20)).astype(np.float32)
    rows = (f"{word} ".encode() + row.tobytes() + line_end for word, row in zip(words, values, strict=True))
    sound = b"40 20\n" + b"".join(rows)
    path = tmp_path / "a.bin"
    path.write_bytes(sound)
    np.testing.assert_array_equal(read_vectors(str(path), words)[2], values)
    for content in damaged(sound):
        path.write_bytes(content)
        try:
            _, found, vectors = read_vectors(str(path), words)
        except UserError as error:
            assert "a.bin" in str(error)
            continue
        # A number or a letter that became another cannot be seen; what follows it may not be moved.
        differing = (vectors != values[[words.index(word) for word in found]]).any(axis=1).sum()
        assert differing + len(words) - len(found) <= 5
