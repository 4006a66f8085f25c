"""The console command `answer-ranking`: help, exit codes, one clear line for what a user can correct."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from told_help import help_teller

from answer_ranking.cli.main import _COMMANDS
from answer_ranking.data_prep import Vocabulary, load_table
from answer_ranking.evaluation import write_qrels, write_run
from answer_ranking.models import ap_cnn
from answer_ranking.ranking import Ranker

QUESTION = "Who painted the ceiling of the chapel?"
ANSWERS = ["It rained in the city.", "A famous painter painted it over four years.", "The chapel is in Rome."]
HOSTILE = "One\x0btwo\u202e\u2028three."


def test_help_comes_without_heavy_imports(environment):
    program = Path(sys.executable).with_name("answer-ranking")
    with help_teller(environment) as help_of:
        for command in ("", "data get", "data stats", "data card", *_COMMANDS):
            code, printed, heavy = help_of(program, *command.split())
            assert (code, heavy) == (0, []), command
            assert printed.startswith(f"usage: answer-ranking {command}".rstrip())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frob", "faq.csv"], "there is no command 'frob': choose one of data, train, rank,"),
        (["data", "frob"], "there is no command 'frob': choose one of get, stats, card."),
        (["train"], "Missing from answer-ranking train: TABLE"),
        (["train", "a.csv", "--epochs", "two"], "Error parsing --epochs"),
        (["train", "absent.csv"], "absent.csv does not exist"),
        (["rank", "m"], "give either a question and a file of candidates, or --table FILE"),
        (["rank", "m", "Who?", "a.txt", "--output", "a.csv"], "--output goes with --table"),
        (["rank", "m", "Who?", "a.txt", "--bom"], "go with --table"),
        (["rank", "m", "--table", "a.csv", "-k", "0"], "-k must be at least 1"),
        (["explain", "m", "Who?", "Ann.", "--output", "a.pdf"], "must end in .png, .svg or .html"),
        (["explain", "m", "Q", "A", "--disk", "a.txt", "--method", "occlusion"], "--disk shows none"),
        (["rank", "m", "--table", "a.csv", "--output", "a.xlsx"], "--output must end in .csv"),
        (["explain", "absent", "Who?", "Ann."], "MODEL must be the model/ folder"),
        (["evaluate", "absent.run", "absent.qrels"], "absent.qrels does not exist"),
        (["reproduce", "--check"], "--check needs the names of experiments"),
    ],
)
def test_what_the_user_can_correct_is_one_line_and_ends_with_2(
    command, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    ran = command(*arguments)
    assert ran.code == 2 and ran.out == ""
    assert ran.err.startswith("error: ") and ran.err.count("\n") == 1
    assert message in ran.err


def test_rank_in_its_own_process_prints_nothing_else_and_needs_no_tensorflow(own_process, model, tmp_path):
    path = tmp_path / "candidates.txt"
    question, answers = "Zyxwv qwertz the", [*ANSWERS, "A xylophonist of Liechtenstein.", HOSTILE]
    # A byte order mark, blank lines, Windows line ends, other separators, no line end at the end.
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n  ".join(answers).encode())
    done = own_process(["rank", model, question, path])
    assert done.heavy == "[]"
    assert done.err.startswith("2 of 3 words of the question are unknown: zyxwv, qwertz\n")
    assert done.err.count("\n") == 1
    ranked = Ranker.load(model).rank(question, answers)
    lines = done.out.split("\n")
    for line, row in zip(lines, ranked.itertuples(), strict=True):
        rank, score, text = line.split(maxsplit=2)
        # What could command the terminal, or turn its line around, is shown as an escape.
        shown = row.candidate.replace("\x0b", r"\x0b").replace("\u202e", r"\u202e")
        assert (int(rank), text) == (row.rank, shown)
        assert float(score) == pytest.approx(row.score, abs=1e-4)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "holds no candidates"), (b" \n\n", "holds no candidates"), (b"\xff\xfe", "not UTF-8 text")],
)
def test_candidates_that_cannot_be_read(command, tmp_path, content, message):
    path = tmp_path / "candidates.txt"
    path.write_bytes(content)
    ran = command("rank", "m", QUESTION, path)
    assert ran.code == 2 and message in ran.err and str(path) in ran.err


def test_rank_from_standard_input(command, model, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(ANSWERS).encode())))
    (best,) = Ranker.load(model).rank(QUESTION, ANSWERS, k=1).itertuples()
    out = command("rank", model, QUESTION, "-", "-k", 1).out
    assert out.split(maxsplit=2) == ["1", f"{best.score:.4f}", best.candidate + "\n"]


def test_rank_a_table(command, model, tmp_path):
    """A spreadsheet's export: two questions, their rows mixed, one cell with a line end."""
    rows = [
        (QUESTION, ANSWERS[0]),
        ("Where?", ANSWERS[2]),
        (QUESTION, ANSWERS[1]),
        ("Where?", "In Rome,\nit is."),
    ]
    path, output = tmp_path / "new.csv", tmp_path / "ranked.csv"
    frame = pd.DataFrame(rows, columns=["question", "candidate"])
    frame.to_csv(path, sep=";", index=False, encoding="utf-8-sig")
    assert "4 candidates of 2 questions" in command("rank", model, "--table", path, "--output", output).out
    ranked = pd.read_csv(output, sep=";")
    expected = Ranker.load(model).rank_table(load_table(path, labelled=False))
    pd.testing.assert_frame_equal(ranked, expected, check_dtype=False, rtol=1e-5)
    assert output.read_bytes().startswith(b"question_id")
    best = pd.read_csv(io.StringIO(command("rank", model, "--table", path, "-k", 1).out), sep=";")
    assert best["candidate"].tolist() == expected.loc[expected["rank"] == 1, "candidate"].tolist()
    ran = command("rank", model, "--table", path, "--sheet", "new")
    assert ran.code == 2 and "has no sheets" in ran.err
    content = path.read_bytes()
    ran = command("rank", model, "--table", path, "--output", path)
    assert ran.code == 2 and "is the table itself" in ran.err and path.read_bytes() == content


def test_rank_a_table_for_a_spreadsheet(command, model, tmp_path):
    path, output = tmp_path / "new.csv", tmp_path / "ranked.csv"
    path.write_text("sep=|\nFrage|Antwort\nWer?|=1+1\nWer?|-2\n|leer\n")
    columns = ("--question-column", "Frage", "--candidate-column", "antwort")
    ran = command("rank", model, "--table", path, *columns, "--output", output, "--bom", "--drop-bad-rows")
    assert ran.code == 0 and "1 bad rows are left out (line 5)" in ran.err
    content = output.read_bytes()
    assert content.startswith(b"\xef\xbb\xbfquestion_id")
    read = pd.read_csv(output, sep="|")
    assert set(read["candidate"]) == {"'=1+1", "'-2"}
    assert read["score"].dtype == float


def test_export(command, model, tmp_path):
    pytest.importorskip("tf2onnx", reason="ONNX needs pip install -e '.[onnx]'")
    (tmp_path / "texts.txt").write_text("Radium glows.\n")
    path = tmp_path / "model.onnx"
    ran = command("export", model, "--output", path, "--texts", tmp_path / "texts.txt")
    assert ran.code == 0 and path.is_file() and "differ from Keras' by at most" in ran.out
    words = json.loads(path.with_suffix(".words.json").read_text())["words"]
    assert {"radium", "glows"} <= set(words)


def test_explain(command, model, tmp_path):
    vocabulary = Vocabulary(["who", "wrote", "it"])
    vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 8)).astype("float32")
    Ranker(ap_cnn(vectors, 4, 2), vocabulary).save(tmp_path / "ap")
    for suffix, start in ((".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")):
        output = tmp_path / f"attention{suffix}"
        ran = command("explain", tmp_path / "ap", "Who wrote it?", "<b> wrote it.", "--output", output)
        assert ran.code == 0 and output.read_bytes().startswith(start)
        assert re.search(r"\nquestion +\w+ 0\.\d{3}, .*\nanswer +", ran.out)
    (tmp_path / "c.txt").write_text("It rained.\nBob.\n")
    ran = command(
        "explain", model, "Who?", "Ann.", "--disk", tmp_path / "c.txt", "--output", tmp_path / "a.svg"
    )
    assert ran.code == 0 and "3 answers in the Poincaré disk" in ran.out
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_evaluate(command, tmp_path):
    questions, candidates = ["a", "a", "b", "b", "c", "c"], list("xyxyxy")
    write_qrels(tmp_path / "q.qrels", questions, candidates, [1, 0, 0, 1, 0, 0])
    write_run(tmp_path / "one.run", questions, candidates, [2, 1, 2, 1, 1, 2])
    write_run(tmp_path / "two.run", questions, candidates, [1, 2, 2, 1, 1, 2])
    # By hand: average precision 1 and 0.5 against 0.5 and 0.5; question c has no correct candidate.
    out = command(
        "evaluate", tmp_path / "one.run", tmp_path / "q.qrels", "--against", tmp_path / "two.run"
    ).out
    assert re.search(r"MAP +0\.7500 +0\.5000 +0\.2500 +1", out)
    files = tmp_path / "one.run", tmp_path / "q.qrels", "--format"
    found = json.loads(command("evaluate", *files, "json").out)
    assert found["metrics"]["map"] == {"run": 0.75, "run_ci95": None}
    rows = pd.read_csv(io.StringIO(command("evaluate", *files, "csv", "--per-question").out))
    assert rows["map"].tolist() == [1, 0.5]


def test_reproduce_says_where_the_records_are_missing(command, monkeypatch, tmp_path):
    assert "recorded" in command("reproduce", "--dry-run", "--only", "hyperqa_wikiqa").out
    from answer_ranking.reproduce.experiments import experiment_list

    monkeypatch.setattr(experiment_list, "RESULTS", tmp_path / "absent")
    ran = command("reproduce", "--dry-run")
    assert ran.code == 2 and "this installation has no records" in ran.err
