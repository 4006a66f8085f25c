"""A user's own table, from a spreadsheet to a report: what is refused, and what is left behind."""

import itertools
import json
import os
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
import tyro

from answer_ranking.data_prep import UserError, encode_dataset, load_dataset, load_table
from answer_ranking.data_prep.word_vectors.encoder_folder import is_on_this_machine
from answer_ranking.evaluation import per_question
from answer_ranking.evaluation.rules import measure_rules, rule_scores
from answer_ranking.ranking import Ranker, train_ranker
from answer_ranking.ranking import train as train_module
from answer_ranking.ranking.report import compare_with_rules
from answer_ranking.ranking.train import _command, _key, load_own_dataset, remarks, table_name
from answer_ranking.ranking.train_options import MODELS, TrainOptions

# Read here: tests leave the variable out of their environment.
EMBEDDINGS_HOME = os.environ.get("QA_EMBEDDINGS_HOME")
ROWS = []
for number in range(6):
    for answer, label in (("one", "yes"), ("two", "no"), ("three", "no")):
        ROWS.append((f"Question {number}, please?", f"Answer {answer} to {number}", label))


def write(path, rows, **options):
    pd.DataFrame(rows, columns=["question", "candidate", "label"]).to_csv(path, index=False, **options)
    return path


def load(train, dev=None, test=None, **options):
    return load_own_dataset({"train": train, "dev": dev, "test": test}, TrainOptions(**options))


def labelled(label):
    return [(question, candidate, label) for question, candidate, _ in ROWS]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:3], "1 of its 1 questions have .* 3 such questions"),
        (labelled("0"), "no candidate is labelled correct. Give the right answers the label 1"),
        ([row for row in ROWS if row[2] == "yes"] + ROWS[:3], "1 of its 6 questions have"),
        ([*ROWS, ("Who?", "I", "maybe")], "line 20: the label 'maybe' is not 0 or 1"),
    ],
)
def test_a_table_that_cannot_be_learnt_from_is_named_with_its_cure(tmp_path, rows, message):
    path = write(tmp_path / "faq.csv", rows)
    with pytest.raises(UserError, match=message) as error:
        load(path)
    assert str(path) in str(error.value)


def test_a_file_s_name_need_not_be_utf_8(tmp_path):
    path = write(tmp_path / os.fsdecode(b"f\xe9.csv"), ROWS)
    dataset, how, _ = load(path)
    assert dataset.description.title == r"f\udce9.csv" and r"f\udce9.csv" in how
    command = _command({"train": path, "dev": None, "test": None}, TrainOptions())
    assert rb"f\udce9.csv" in command.encode()


def test_a_dev_table_that_chooses_nothing_is_named(tmp_path):
    train = write(tmp_path / "train.csv", ROWS)
    dev = write(tmp_path / "dev.csv", [("a", "b", 1), ("c", "d", 0)])
    with pytest.raises(UserError, match=r"dev\.csv: no question of dev has a correct and a wrong candidate"):
        load(train, dev)


def test_tables_that_are_given_are_not_split(tmp_path):
    paths = [write(tmp_path / f"{name}.csv", ROWS) for name in ("train", "dev", "test")]
    dataset, _, _ = load(*paths)
    assert [len(table) for table in dataset.splits.values()] == [len(ROWS)] * 3
    # A frame does as well as a path.
    dataset, how, _ = load(paths[0], load_table(paths[1]), split_seed=4)
    assert "train.csv" in how and "seed 4" in how and "15%" in how
    assert [table["question"].nunique() for table in dataset.splits.values()] == [5, 6, 1]
    with pytest.raises(UserError, match=r"dev\.csv is the table of dev: leave dev_share out"):
        load(*paths, dev_share=0.3)
    with pytest.raises(UserError, match=r"train\.csv has wrong answers of its own: leave wrong_answers out"):
        load(*paths, wrong_answers=3)
    with pytest.raises(UserError, match="the train table: no candidate is labelled correct"):
        load(load_table(paths[0]).assign(label=0))


def test_a_frame_is_read_by_the_rules_of_a_file(capsys):
    frame = pd.DataFrame({"Frage": [f"q{i // 2}" for i in range(40)], "ANSWER": [f"a{i}" for i in range(40)]})
    given = frame.copy()
    frame.loc[[0, 39], "ANSWER"] = ["a1", " "]
    options = {"question_column": "frage", "drop_bad_rows": True, "drop_duplicates": True, "wrong_answers": 1}
    dataset, _, is_faq = load(frame, **options)
    assert is_faq
    correct = pd.concat(dataset.splits.values()).query("label == 1")
    expected = given.iloc[1:39].sort_values(["Frage", "ANSWER"])
    found = correct.sort_values(["question", "candidate"])
    assert found[["question", "candidate"]].to_numpy().tolist() == expected.to_numpy().tolist()
    said = capsys.readouterr().err
    assert "the train table: no column 'label'" in said and "1 bad rows are left out (row 40)" in said
    assert list(frame.columns) == ["Frage", "ANSWER"]
    with pytest.raises(UserError, match="the train table: the column 'question' is missing"):
        load(frame)


def test_options_that_are_no_options():
    with pytest.raises(UserError, match="model must be one of hyperqa, "):
        TrainOptions(model="bert")
    assert TrainOptions(embeddings="task-skipgram-100d").embeddings == ("task-skipgram-100d",)


def test_remarks_on_questions_that_leak_and_rows_that_repeat(tmp_path):
    train = write(tmp_path / "train.csv", [*ROWS, ROWS[0], (*ROWS[1][:2], "yes")])
    test = write(tmp_path / "test.csv", [(ROWS[0][0].upper(), "a", 1), (ROWS[0][0].upper(), "b", 0)])
    said = remarks(load(train, train, test)[0])
    for of_what in (
        "1 questions of test are also in the training table",
        "1 questions of test are also in dev, which chooses",
        "train: 2 rows repeat .*; 1 of these .* both correct and wrong",
        "Test has only 1 questions",
    ):
        assert any(re.match(of_what, each) for each in said), of_what


def test_options_become_the_command_that_repeats_them():
    options = TrainOptions(
        model="ctrn",
        embeddings=("a", "b"),
        embeddings_home=Path("here"),
        lowercase=False,
        epochs=2,
    )
    assert tyro.cli(TrainOptions, args=options.command_line()) == options
    assert replace(options, output=Path("elsewhere")).command_line() == options.command_line()
    assert [table_name(each) for each in ("a/My FAQ (2).tsv.gz", "фак.csv", None)] == [
        "my-faq-2",
        "фак",
        "table",
    ]


def test_a_ranker_is_compared_with_rules_question_by_question():
    data = load_dataset("sample")
    split = encode_dataset(data).test
    rng = np.random.default_rng(0)
    first, second = split.labels + rng.normal(size=(2, split.n_rows)).astype("float32")
    comparison = compare_with_rules(data, split, [first, second], 1, "Mine")
    mean = (per_question(split, first)["map"] + per_question(split, second)["map"]) / 2
    bm25 = measure_rules(data.test, data.description, 20)["BM25"]["map"].to_numpy()
    answerable = split.counts_under("answerable")
    np.testing.assert_allclose(comparison.differences("BM25"), (mean.to_numpy() - bm25)[answerable])
    assert set(comparison.p_values) == {"BM25", "WO"} and list(comparison.measured)[-1] == "Mine"
    examples = comparison.examples("BM25", 2)
    assert examples["win"]["difference"].tolist() == sorted(comparison.differences("BM25"))[:-3:-1]
    best = data.test.assign(score=second).sort_values("score").groupby("question_id").tail(1)
    shown = {q: text.partition(": ")[2] for q, text in comparison.first["Mine"].items()}
    assert shown == {q: c for q, c in zip(best["question_id"], best["candidate"], strict=True) if q in shown}


def test_a_spreadsheet_is_trained_compared_and_reported(trained, spreadsheet):
    out, folder = trained.out, trained.folder
    assert "my faq.csv" in out
    assert folder.parent.name == "own-my-faq_hyperqa"

    # The split is whole, and no question is in two parts.
    split = {name: load_table(folder / "split" / f"{name}.csv") for name in ("train", "dev", "test")}
    questions = [set(table["question"]) for table in split.values()]
    assert sum(map(len, questions)) == len(set.union(*questions))
    whole = load_table(spreadsheet)
    assert set.union(*questions) == set(whole["question"])
    assert sum(map(len, split.values())) == len(whole)

    # The printed metrics are those of the run files, by another program.
    qrels = list(ir_measures.read_trec_qrels(str(folder / "runs" / "test.qrels")))
    runs = [list(ir_measures.read_trec_run(str(folder / "runs" / f"test-seed-{i}.run"))) for i in (0, 1)]
    answerable = {each.query_id for each in qrels if each.relevance}
    maps = []
    for run in runs:
        measured = pd.DataFrame(ir_measures.AP.iter_calc(qrels, run))
        maps.append(measured[measured["query_id"].isin(answerable)]["value"].mean())
    row = next(line for line in out.splitlines() if re.match(r"HyperQA +0", line))
    assert float(row.split()[1]) == pytest.approx(np.mean(maps), abs=6e-4)
    result = json.loads((folder / "result.json").read_text())
    np.testing.assert_allclose([each["map"] for each in result["metrics"]["test"]], maps, atol=1e-5)
    assert result["seeds"] == 2 and result["versions"]["keras"]
    assert (
        result["command"].startswith("answer-ranking train '") and "--epochs 4 --seeds 2" in result["command"]
    )
    for rule in ("Random", "WO", "BM25"):
        assert re.search(rf"^{rule} +0\.\d+ +0\.\d+ +0\.\d+", out, re.MULTILINE)

    # The report needs no other file, and no text of the table is markup in it.
    report = (folder / "report.html").read_text()
    assert "<script" not in report and "<script>alert('x')" in unescape(report)
    assert not re.search(r"(src|href)=\"(?!data:)", report)
    for value in row.split()[1:4]:
        assert f"<td>{value}</td>" in report

    # The saved seed is the one that is best on dev, whatever it is on test.
    best = int(np.argmax([each["map"] for each in result["metrics"]["dev"]]))
    ranked = Ranker.load(folder / "model").rank_table(split["test"])
    mine = {tuple(key): score for *key, score in ranked[["question_id", "candidate_id", "score"]].to_numpy()}
    for seed, run in enumerate(runs):
        same = np.allclose(
            [mine[each.query_id, each.doc_id] for each in run], [r.score for r in run], atol=1e-3
        )
        assert same == (seed == best)


def test_the_same_call_goes_on_and_gives_the_same(trained, spreadsheet, tmp_path, capsys):
    output = shutil.copytree(trained.output, tmp_path / "output")
    folder = output / trained.folder.relative_to(trained.output)
    before = {path: path.read_bytes() for path in (folder / "runs").iterdir()}
    states = {path: path.stat().st_mtime for path in folder.glob("seed-*/state.npz")}
    # What a killed process left half-written.
    for name in ("seed-0/.state.npz.0123abcd.4194305.part.npz", "runs/.dev.qrels.0123abcd.4194305.part"):
        (folder / name).write_text("half")
    again = train_ranker(spreadsheet, epochs=4, seeds=2, output=str(output))
    assert again.folder == folder and len(states) == 2 and not list(folder.rglob(".*.part*"))
    assert {path: path.read_bytes() for path in (again.folder / "runs").iterdir()} == before
    assert {path: path.stat().st_mtime for path in states} == states
    assert [len(history) for history in again.histories] == [4, 4]
    answers = ["It rained.", "Alexander Fleming discovered penicillin."]
    loaded = Ranker.load(again.folder / "model").rank("Who discovered penicillin?", answers)
    pd.testing.assert_frame_equal(again.ranker.rank("Who discovered penicillin?", answers), loaded, rtol=1e-4)
    # With fewer seeds, the run files of the others are gone.
    train_ranker(spreadsheet, epochs=4, seeds=1, output=str(output))
    left = {path.name for path in (folder / "runs").glob("*.run")}
    assert left == {"dev-seed-0.run", "test-seed-0.run"}


def test_pairs_alone_are_trained_with_drawn_wrong_answers(tmp_path):
    rows = [(f"What is thing {i}?", f"Thing {i} is number {i * i}.") for i in range(60)]
    path = tmp_path / "pairs.csv"
    pd.DataFrame(rows, columns=["Frage", "Antwort"]).to_csv(path, index=False)
    columns = {"question_column": "Frage", "candidate_column": "Antwort"}
    trained = train_ranker(path, **columns, wrong_answers=4, epochs=2, output=tmp_path / "out")
    for name, size in (("train", 42 * 5), ("dev", 9 * 60), ("test", 9 * 60)):
        assert len(load_table(trained.folder / "split" / f"{name}.csv")) == size
    assert "--question-column Frage --candidate-column Antwort" in trained.result["command"]
    assert "--wrong-answers 4" in trained.result["command"]


@pytest.mark.parametrize(
    ("shift", "begin"), [(1.5, "Use Mine: it ranks"), (-3, "Use (BM25|WO): it ranks"), (0, "Use .* until")]
)
def test_the_report_says_what_to_use(shift, begin):
    data = load_dataset("sample")
    split = encode_dataset(data).test
    scores = np.random.default_rng(0).normal(size=split.n_rows) + shift * split.labels
    if not shift:
        scores = rule_scores(data.test, data.description, ["BM25"])["BM25"]
    verdict = compare_with_rules(data, split, [scores], 0, "Mine").verdict()
    assert re.match(begin, verdict) and "on 20 questions" in verdict


def test_another_model_with_vectors_of_its_own(tmp_path, capsys, small_options, monkeypatch):
    model, entry = "ap-cnn", MODELS["ap-cnn"]
    small = {**entry.own_tables, **vars(small_options(entry))}
    monkeypatch.setitem(MODELS, model, replace(entry, own_tables=small))
    # Words that no English vectors have.
    rows = []
    for asked, known in itertools.combinations("абвгдежз", 2):
        question = f"{asked}{asked} {known}?"
        rows += [(question, f"{asked} аа.", 0), (question, f"{known} бб.", 1), (question, f"{asked} вв.", 0)]
    path, keyed = write(tmp_path / "фак.csv", rows), []

    def noted(data, options):
        keyed.append((data, options))
        return _key(data, options)

    monkeypatch.setattr(train_module, "_key", noted)
    options = {"model": model, "embeddings": ("task-skipgram-8d",), "epochs": 1, "output": tmp_path / "out"}
    trained = train_ranker(path, examples=1, **options)
    assert trained.result["embeddings"].endswith("skipgram-8d-seed0.vectors")
    assert trained.folder.parent.name == f"own-фак_{model}"
    assert (trained.folder / "report.html").exists()
    assert re.search(rf"^{entry.title} +[01]\.\d+", capsys.readouterr().out, re.MULTILINE)
    table = load_table(trained.folder / "split" / "test.csv")
    assert len(Ranker.load(trained.folder / "model").rank_table(table)) == len(table)
    # With other defaults it is another training, which does not go on with the first one's states.
    (given,) = keyed
    assert trained.folder.name == _key(*given)
    monkeypatch.setitem(MODELS, model, replace(entry, own_tables={**small, "filters": 5}))
    assert trained.folder.name != _key(*given)


def test_the_place_of_a_candidate_is_a_signal_only_where_the_user_says_so(tmp_path):
    path = write(tmp_path / "places.csv", ROWS)
    for in_order in (True, False):
        dataset, _, _ = load(path, model="ca-list-birnn", in_order=in_order)
        assert dataset.description.order_is_signal == in_order
    with pytest.raises(UserError, match="hyperqa reads each candidate by itself: leave in_order out"):
        load(path, model="hyperqa", in_order=True)
    correct = write(tmp_path / "correct.csv", [row for row in ROWS if row[2] == "yes"])
    with pytest.raises(UserError, match="has no wrong answers, and drawn ones stand in no"):
        load(correct, in_order=True, model="ca-list-birnn")


def unchanged_by_small_steps(folder, name, home=None):
    """With steps too small to change anything the trained ranker scores as the preset does."""
    tables = [table[["question", "candidate", "label"]] for table in load_dataset("sample").splits.values()]
    options = {"epochs": 1, "learning_rate": 1e-12, "output": folder, "embeddings_home": home}
    trained = train_ranker(*tables, model=name, **options)
    pairs = list(zip(tables[2]["question"], tables[2]["candidate"], strict=True))
    expected = Ranker.load(name, home).score(pairs)
    assert np.ptp(expected) > 0.1
    for ranker in (trained.ranker, Ranker.load(trained.folder / "model", home)):
        np.testing.assert_allclose(ranker.score(pairs), expected, atol=1e-4)


@pytest.mark.parametrize("name", ["hyperqa_squad", "cosinet_squad"])
def test_a_preset_goes_on_from_its_weights(tmp_path, capsys, name):
    unchanged_by_small_steps(tmp_path, name)


@pytest.mark.parametrize("name", ["hyperqa_minilm", "hyperqa_minilm_candidates"])
def test_a_preset_of_an_encoder_goes_on_where_that_is(tmp_path, capsys, monkeypatch, name):
    if not is_on_this_machine("minilm", EMBEDDINGS_HOME):
        pytest.skip("minilm is not on this machine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    unchanged_by_small_steps(tmp_path, name, EMBEDDINGS_HOME)


@pytest.mark.parametrize(
    ("name", "own", "other"),
    [("cosinet_squad", "glove-6b-50d", "minilm"), ("hyperqa_minilm", "minilm", "task-skipgram-100d")],
)
def test_a_preset_keeps_its_word_vectors(name, own, other):
    for change in ({"embeddings": other}, {"lowercase": False}):
        with pytest.raises(UserError, match=f"{name} has its own word vectors, {own} in lower case"):
            TrainOptions(model=name, **change)
    for same in ({}, {"embeddings": own}, {"embeddings": [own]}):
        options = TrainOptions(model=name, **same)
        assert options.embeddings == (own,)
        assert tyro.cli(TrainOptions, args=options.command_line()) == options
