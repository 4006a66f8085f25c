"""A user's own table, from a spreadsheet to a report: what is refused, and what is left behind."""

import re

import ir_measures
import numpy as np
import pandas as pd
import pytest

from data_prep import UserError, load_dataset, load_table
from reproduce.own_data import OwnDataConfig, load_tables, main, remarks
from reproduce.rank import rank_table

ROWS = [
    (f"Question {i}, please?", f"Answer {j} to {i}", label)
    for i in range(6)
    for j, label in enumerate(("yes", "no", "no"))
]


def write(path, rows, **options):
    pd.DataFrame(rows, columns=["question", "candidate", "label"]).to_csv(path, index=False, **options)
    return path


def labelled(label):
    return [(question, candidate, label) for question, candidate, _ in ROWS]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ROWS[:3],
            "1 of its 1 questions have a correct and a wrong candidate. 3 such questions are the least",
        ),
        (ROWS[:6], "2 of its 2 questions have"),
        (labelled("0"), "no candidate is labelled correct. Give the right answers the label 1"),
        (labelled("TRUE"), "every candidate is labelled correct. Add wrong candidates"),
        ([row for row in ROWS if row[2] == "yes"] + ROWS[:3], "1 of its 6 questions have"),
        ([*ROWS, ("Who?", "", "1")], "line 20: the candidate is empty"),
        ([*ROWS, ("Who?", "I", "maybe")], "line 20: the label 'maybe' is not 0 or 1"),
    ],
)
def test_a_table_that_cannot_be_learnt_from_is_named_with_its_cure(tmp_path, rows, message):
    path = write(tmp_path / "faq.csv", rows)
    with pytest.raises(UserError, match=message) as error:
        load_tables(OwnDataConfig(train=path))
    assert str(path) in str(error.value)


def test_a_dev_table_that_chooses_nothing_is_named(tmp_path):
    train = write(tmp_path / "train.csv", ROWS)
    dev = write(tmp_path / "dev.csv", [("a", "b", 1), ("c", "d", 0)])
    with pytest.raises(UserError, match=r"dev\.csv: no question of dev has a correct and a wrong candidate"):
        load_tables(OwnDataConfig(train=train, dev=dev))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train", "absent.csv"], "absent.csv does not exist"),
        (["--train", "faq.xlsx"], "must end in .csv"),
        (["--train", "faq.csv", "--epochs", "0"], "epochs must be at least 1"),
        (["--train", "faq.csv", "--seeds", "0"], "seeds must be at least 1"),
        (["--model", "hyperqa"], "--train"),
    ],
)
def test_what_the_user_can_mend_ends_with_2(run_in_process, arguments, message):
    code, out, err = run_in_process(main, OwnDataConfig, *arguments)
    assert code == 2
    assert message in re.sub(r"\s+", " ", out + err)


def test_tables_that_are_given_are_not_split(tmp_path):
    paths = {name: write(tmp_path / f"{name}.csv", ROWS) for name in ("train", "dev", "test")}
    dataset, how = load_tables(OwnDataConfig(**paths))
    assert how == "The tables were given."
    assert [len(table) for table in dataset.splits.values()] == [len(ROWS)] * 3
    dataset, how = load_tables(OwnDataConfig(train=paths["train"], dev=paths["dev"], split_seed=4))
    assert how == "Split of train.csv by question, seed 4: 15% of the questions for test."
    assert [table["question"].nunique() for table in dataset.splits.values()] == [5, 6, 1]


def test_remarks_on_questions_that_leak_and_rows_that_repeat(tmp_path):
    train = write(tmp_path / "train.csv", [*ROWS, ROWS[0], (*ROWS[1][:2], "yes")])
    test = write(tmp_path / "test.csv", [(ROWS[0][0].upper(), "a", 1), (ROWS[0][0].upper(), "b", 0)])
    said = remarks(load_tables(OwnDataConfig(train=train, dev=train, test=test))[0])
    assert "1 questions of test are in the training table, too: its figures are too good." in said
    repeated = "2 rows repeat a candidate of their question, and stay"
    assert f"train: {repeated}; 1 of these candidates are labelled both correct and wrong." in said
    assert "Test has 1 questions with a correct candidate: its figures are rough." in said


@pytest.fixture(scope="module")
def spreadsheet(tmp_path_factory):
    """The sample as a spreadsheet of a country of semicolons exports it, and with markup in its texts."""
    table = pd.concat(load_dataset("sample").splits.values())[["question", "candidate", "label"]]
    table = table.assign(label=table["label"].map({0: "no", 1: "YES"}))
    table["candidate"] += "\n<script>alert('x')</script>"
    path = tmp_path_factory.mktemp("own") / "my faq.csv"
    table.to_csv(path, sep=";", index=False, encoding="utf-8-sig")
    return path


def test_a_spreadsheet_is_trained_compared_and_reported(run_in_process, run_on_disk, spreadsheet, tmp_path):
    options = ("--epochs", "4", "--seeds", "2", "--output", tmp_path)
    code, out, err = run_in_process(main, OwnDataConfig, "--train", spreadsheet, *options)
    assert code == 0, err
    assert "Split of my faq.csv by question, seed 0: 15% of the questions for dev and 15%" in out
    left = run_on_disk(tmp_path)
    assert left.folder.parent.name == "hyperqa_own-my-faq_hyperqa"

    # The split is whole, and no question is in two parts.
    split = {name: load_table(left.folder / "split" / f"{name}.csv") for name in ("train", "dev", "test")}
    questions = [set(table["question"]) for table in split.values()]
    assert sum(map(len, questions)) == len(set.union(*questions))
    whole = load_table(spreadsheet)
    assert set.union(*questions) == set(whole["question"])
    assert sum(map(len, split.values())) == len(whole)

    # The printed figures are those of the run files, by another program.
    qrels = list(ir_measures.read_trec_qrels(str(left.folder / "runs" / "test.qrels")))
    runs = [list(ir_measures.read_trec_run(str(left.folder / "runs" / f"test-seed-{i}.run"))) for i in (0, 1)]
    answerable = {each.query_id for each in qrels if each.relevance}
    maps = [
        np.mean([m.value for m in ir_measures.AP.iter_calc(qrels, run) if m.query_id in answerable])
        for run in runs
    ]
    row = next(line for line in out.splitlines() if re.match(r"HyperQA +0", line))
    assert float(row.split()[1]) == pytest.approx(np.mean(maps), abs=6e-4)
    np.testing.assert_allclose(left.record["metrics"]["map"]["per_seed"], maps, atol=1e-5)
    assert left.record["notes"].startswith("Split of my faq.csv")
    for rule in ("Random", "WO", "BM25"):
        assert re.search(rf"^{rule} +0\.\d+ +0\.\d+ +0\.\d+", out, re.MULTILINE)
    for wins, n, losses in re.findall(r"better on (\d+) of (\d+) questions and worse on (\d+)", out):
        assert int(n) == len(answerable) >= int(wins) + int(losses)
    assert "HyperQA ranked first (" in out and "BM25 ranked first (" in out

    # The report needs no other file, and no text of the table is markup in it.
    report = (left.folder / "report.html").read_text()
    assert report.count("<img ") == report.count('src="data:image/png;base64,') == 2
    assert "<script" not in report and "&lt;script&gt;alert(&#x27;x&#x27;)" in report
    assert not re.search(r"(src|href)=\"(?!data:)", report)
    # What the report says is what was printed.
    for value in row.split()[1:4]:
        assert f"<td>{value}</td>" in report

    # The model ranks the test table as the better seed's run file does.
    ranked = rank_table(left.folder / "model", split["test"])
    mine = {tuple(key): score for *key, score in ranked[["question_id", "candidate_id", "score"]].to_numpy()}
    matching = [
        np.allclose([mine[each.query_id, each.doc_id] for each in run], [r.score for r in run], atol=1e-3)
        for run in runs
    ]
    assert any(matching)
    assert re.search(r"rank\.py \S+model --table", out)


@pytest.mark.parametrize("model", ["ctrn", "ap-cnn", "cosinet"])
def test_the_other_models_with_vectors_of_their_own(run_in_process, run_on_disk, tmp_path, model):
    # Words that no English vectors have.
    letters = "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437"
    rows = [
        (f"{a}{a} {b}?", f"{b if right else a} {letters[j]}{letters[j]}.", int(right))
        for i, a in enumerate(letters)
        for b in letters[i + 1 : i + 3]
        for j, right in enumerate((False, True, False))
    ]
    path = write(tmp_path / "\u0444\u0430\u043a.csv", rows)
    options = ("--embeddings", "task-skipgram-8d", "--epochs", "1", "--model", model, "--examples", "1")
    code, out, err = run_in_process(
        main, OwnDataConfig, "--train", path, *options, "--output", tmp_path / "out"
    )
    assert code == 0, err
    left = run_on_disk(tmp_path / "out")
    assert left.record["embeddings"].endswith("skipgram-8d-seed0.vectors")
    assert left.record["dataset"] == "own-\u0444\u0430\u043a"
    assert (left.folder / "report.html").exists()
    name = {"ctrn": "CTRN", "ap-cnn": "AP-CNN", "cosinet": "Cosinet"}[model]
    assert re.search(rf"^{name} +[01]\.\d+", out, re.MULTILINE)
    table = load_table(left.folder / "split" / "test.csv")
    assert len(rank_table(left.folder / "model", table)) == len(table)
