"""Ways of searching an FAQ: what is asked, what dev chooses, and what `index --pipeline` reads."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Dataset, Vocabulary
from answer_ranking.data_prep.dataset import OWN_TABLES
from answer_ranking.data_prep.word_vectors.encoder_folder import PUBLISHED
from answer_ranking.models import hyperqa
from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.ranking import pipelines as pipelines_module
from answer_ranking.ranking import refusals as refusals_module
from answer_ranking.ranking.pipeline import ENCODER, ON_ENCODER, POINTS, Pipeline, read_pipeline
from answer_ranking.ranking.pipeline_trials import PipelineTrials, _reciprocal_rank
from answer_ranking.ranking.pipelines import (
    _comparison,
    _first_stages,
    asked_questions,
    compare_pipelines,
    indexed_answers,
)
from answer_ranking.ranking.refusals import measure_refusals
from answer_ranking.ranking.search.confidence import Confidence, foreign_questions
from answer_ranking.ranking.search.first_stages import parts_of
from answer_ranking.ranking.train import _print_pipelines, _tables_to_index
from answer_ranking.ranking.train_options import TrainOptions

BOTH_FIELDS = (("question", "answer"), ("answer",))
NAMES = [
    f"{colour}{thing}" for colour in ("red", "blue", "grey") for thing in ("fox", "stone", "river", "kettle")
]


def table(wording, wrong=True):
    rows = []
    for number, name in enumerate(NAMES):
        rows.append((f"q{number}", wording.format(name), f"c{number}", f"The {name} is number {number}.", 1))
        if wrong:
            rows.append((f"q{number}", wording.format(name), "c99", "It rained all day.", 0))
    return pd.DataFrame(rows, columns=["question_id", "question", "candidate_id", "candidate", "label"])


@pytest.fixture
def faq():
    return Dataset(
        table("Where is the {}?"),
        table("{}s, please")[:12],
        table("which number has {}, where?")[12:],
        OWN_TABLES,
    )


def test_foreign_questions_that_teach_the_confidence_do_not_measure_it(faq, tmp_path, monkeypatch):
    index = AnswerIndex.build(None, faq.train[["candidate"]].drop_duplicates(), tmp_path / "index")
    taught, asked = [], []
    calibrate, find = index.calibrate, index.find

    def noted_calibrate(pairs, foreign):
        taught.extend(foreign)
        return calibrate(pairs, foreign)

    def noted_find(texts):
        asked.append(set(texts))
        return find(texts)

    monkeypatch.setattr(index, "calibrate", noted_calibrate)
    monkeypatch.setattr(index, "find", noted_find)
    right = {f"what number is {name}": {f"The {name} is number {i}."} for i, name in enumerate(NAMES)}
    measure_refusals(index, right, right)
    foreign = set(foreign_questions([]))
    assert taught and asked[-1] and not asked[-1] & set(taught)
    assert asked[-1] | set(taught) == foreign


def test_of_few_questions_no_confidence_is_learnt(faq, tmp_path):
    index = AnswerIndex.build(None, indexed_answers(faq), tmp_path / "index")
    asked = {"redfox?": {"The redfox is number 0."}}
    with pytest.raises(UserError, match="dev has fewer than 10"):
        measure_refusals(index, asked, asked)
    assert index.manifest.confidence is None


def test_where_nothing_is_answered_there_is_no_share_of_right_answers(faq, tmp_path):
    index = AnswerIndex.build(None, indexed_answers(faq), tmp_path / "index")
    asked = {f"what number is {name}": {f"The {name} is number {i}."} for i, name in enumerate(NAMES)}
    found = measure_refusals(index, asked, {"qqq zzz?": {"It rained all day."}})
    assert found.curve["answered"].eq(0).all() and found.curve["p1"].isna().all()
    assert {row[2] for row in found.table()[1]} == {"–"}
    json.dumps(found.as_json(), allow_nan=False)


def test_the_suggested_confidence_keeps_nine_of_ten_where_all_are_sure(faq, tmp_path, monkeypatch):
    index = AnswerIndex.build(None, indexed_answers(faq), tmp_path / "index")
    asked = {f"what number is {name}": {f"The {name} is number {i}."} for i, name in enumerate(NAMES)}
    monkeypatch.setattr(refusals_module, "_surest", lambda _, questions, __: np.full(len(questions), 0.9961))
    assert measure_refusals(index, asked, asked).suggested == 0.99


def test_letters_find_words_that_are_written_otherwise(faq, monkeypatch):
    monkeypatch.setattr(pipelines_module, "is_on_this_machine", lambda *_: False)
    monkeypatch.setattr(refusals_module, "FEWEST_QUESTIONS", 6)
    vectors = np.random.default_rng(0).normal(size=(12, 50)).astype("float32")
    trained = Ranker(hyperqa(vectors, 4), Vocabulary([f"w{i}" for i in range(10)]))
    compared = compare_pipelines(faq, trained)
    measured = compared.measured.set_index("pipeline")
    assert compared.n_questions == {"dev": 6, "test": 6} and compared.n_answers == 12
    # "redfoxs" is no word of any answer, but its letters are "redfox"'s.
    assert measured.loc["bm25 in answer", "dev"] == 0 and measured.loc["ngrams in answer", "dev"] == 1
    assert "ngrams" in compared.best.first_stage and compared.measured["dev"].iloc[0] == 1
    assert {each.rerank for each in compared.pipelines} == {"", "cosinet_squad"}
    refusals = compared.refusals
    parts = {name.split()[0] for name in refusals.confidence.features}
    assert parts == set(parts_of(compared.best.first_stage))
    # Every threshold answers fewer of the questions than the one before, foreign ones first.
    shares = refusals.curve[["answered", "foreign"]].to_numpy()
    assert (np.diff(shares, axis=0) <= 0).all() and shares[0].tolist() == [1, shares[0, 1]]
    kept = refusals.curve[refusals.curve["min_confidence"] == refusals.suggested].iloc[0]
    assert kept["answered"] >= 0.5 > kept["foreign"]


def test_an_index_finds_its_own_questions_where_no_answer_has_a_second_one(monkeypatch):
    """Held back, the one question of an answer leaves but those of wrong answers to be searched."""
    # No answer has a word of its question, and no word vectors know the names: dev would choose any.
    monkeypatch.setattr(pipelines_module, "_best", lambda measured: next(iter(measured)))
    monkeypatch.setattr(pipelines_module, "is_on_this_machine", lambda *_: False)
    rows = [(f"q{i}", f"Where is the {name}?", f"Box {i}, {name[::-1]}.", 1) for i, name in enumerate(NAMES)]
    whole = pd.DataFrame(rows, columns=["question_id", "question", "candidate", "label"])
    vectors = np.random.default_rng(0).normal(size=(12, 50)).astype("float32")
    trained = Ranker(hyperqa(vectors, 4), Vocabulary([f"w{i}" for i in range(10)]))
    compared = compare_pipelines(Dataset(whole[:8], whole[8:10], whole[10:], OWN_TABLES), trained)
    assert not compared.with_questions and {each.search for each in compared.pipelines} == {("answer",)}
    words = compared.in_use(Pipeline("bm25"))
    points = compared.in_use(Pipeline(POINTS, model="hyperqa_squad"))
    assert words == Pipeline("bm25", ("question", "answer"))
    assert points == Pipeline("questions+nearest", ("question", "answer"), "hyperqa_squad")
    assert compared.best == Pipeline("bm25")
    assert compared.as_json()["pipeline"]["search"] == ("question", "answer")
    assert compared.own_questions == (8, 8)


def test_own_questions_are_counted_in_the_index_that_is_built(faq, tmp_path):
    answers = indexed_answers(faq)
    right = asked_questions(faq.train)
    trials = PipelineTrials(answers, {}, {}, tmp_path)
    found = trials.own_questions(
        trials.build(Pipeline("bm25", ("question", "answer"))), Pipeline("bm25"), right
    )
    assert found == (12, 12)
    # Of answers to other questions none is right.
    wrong = dict(zip(right, [*list(right.values())[1:], {"none"}], strict=True))
    index = AnswerIndex.open(tmp_path / "built")
    assert trials.own_questions(index, Pipeline("bm25"), wrong) == (12, 0)


def test_what_was_trained_has_to_be_significantly_better_on_the_dev_that_chose_its_epoch():
    def found(values):
        frame = pd.DataFrame({"rr": values, "ms": 1.0, "mb": 1.0})
        return {"dev": frame, "test": frame}

    words, trained = Pipeline("bm25"), Pipeline("nearest", model="trained")
    few = {words: found([1.0, 0.5, 1.0]), trained: found([1.0, 1.0, 1.0])}
    assert _comparison(few, 3, {"test": 3}).best == words
    many = {words: found([0.5] * 20), trained: found([1.0] * 20)}
    assert _comparison(many, 3, {"test": 3}).best == trained
    assert _comparison({trained: found([1.0])}, 3, {"test": 1}).best == trained


def test_what_an_index_of_very_many_answers_lacks_is_left_out():
    found = {
        each.first_stage
        for each in _first_stages(["hyperqa_squad"], ["bm25"], (("question", "answer"), ("answer",)))
    }
    own = {"questions", "questions+nearest", "questions+both"}
    assert found == {"bm25", "nearest", "both"} | own
    answers_alone = _first_stages(["hyperqa_squad"], ["bm25"], [("answer",)])
    assert {each.first_stage for each in answers_alone} == found - own


def test_of_equal_pipelines_one_that_searches_the_questions_is_chosen():
    found = pd.DataFrame({"rr": [0.5, 0.5], "ms": 1.0, "mb": 1.0})
    tried = list(_first_stages(["hyperqa_squad"], ["bm25"], BOTH_FIELDS))
    compared = _comparison({each: {"dev": found, "test": found} for each in tried}, 3, {})
    assert compared.best.search == ("question", "answer")


def test_questions_of_dev_and_test_are_not_indexed(faq):
    answers = indexed_answers(faq)
    assert set(answers["question"].dropna()) == set(faq.train["question"])
    shorter = Dataset(faq.train[:4], faq.dev, faq.test, OWN_TABLES)
    answers = indexed_answers(shorter)
    assert len(answers) == 12 and answers["question"].notna().sum() == 2


def test_dev_chooses_and_test_does_not():
    def found(values):
        return pd.DataFrame({"rr": values, "ms": 1.0, "mb": 1.0})

    good_on_dev, good_on_test = Pipeline("bm25"), Pipeline("ngrams")
    measured = {
        good_on_test: {"dev": found([0.5, 0.5]), "test": found([1.0, 1.0])},
        good_on_dev: {"dev": found([1.0, 0.5]), "test": found([0.1, 0.2])},
    }
    compared = _comparison(measured, 5, {"dev": 2, "test": 2})
    assert compared.best == good_on_dev
    assert compared.measured["test"].round(6).tolist() == [0.15, 1.0]
    assert compared.as_json()["pipeline"]["first_stage"] == "bm25"


@pytest.mark.parametrize(
    ("ranked", "expected"), [(["x", "x", "right"], 1 / 2), (["right", "other"], 1), (["x"], 0), ([], 0)]
)
def test_a_text_that_stands_twice_takes_one_place(ranked, expected):
    assert _reciprocal_rank(ranked, {"right", "other"}) == expected


@pytest.fixture
def contextual(write_encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Ranker.of_encoder(str(write_encoder(tmp_path / "encoder")))


def test_what_is_measured_is_what_an_index_finds(faq, contextual, tmp_path):
    answers, asked = indexed_answers(faq), {"dev": asked_questions(faq.dev)}
    rankers = {ENCODER: contextual, "hyperqa_squad": Ranker.from_preset("hyperqa_squad")}
    trials = PipelineTrials(answers, asked, rankers, tmp_path)
    for number, pipeline in enumerate(
        [
            Pipeline("questions+ngrams+both", ("question", "answer"), ENCODER),
            Pipeline("questions", ("question",), "hyperqa_squad"),
            Pipeline("nearest", model=ENCODER),
            Pipeline("bm25", ("question", "answer")),
            Pipeline("both", ("answer",), "hyperqa_squad", ENCODER, 5),
        ]
    ):
        measured = trials.measure(pipeline)["dev"]
        place, options = tmp_path / f"own-{number}", pipeline.index_options()
        index = AnswerIndex.build(rankers.get(pipeline.model), answers, place, **options)
        rerank = rankers.get(pipeline.rerank)
        found = index.search(list(asked["dev"]), rerank=rerank, rerank_depth=pipeline.rerank_depth or 10)
        for question, right in asked["dev"].items():
            ranked = found.loc[found["question"] == question, "candidate"].tolist()
            assert measured.loc[question, "rr"] == _reciprocal_rank(ranked, right)
    assert trials.measure(Pipeline("nearest", model=ENCODER))["dev"]["ms"].gt(0).all()
    # What the trials keep is no text of a later use of the ranker.
    (vectors,) = (tmp_path / "cache").rglob("vectors.float16")
    before = vectors.stat().st_size
    expected = contextual.score([("What is new?", "The red fox.")])
    assert vectors.stat().st_size == before
    assert contextual.keeping_vectors().score([("What is new?", "The red fox.")]) == pytest.approx(expected)
    assert vectors.stat().st_size > before


def test_pipelines_of_an_encoder_are_compared_where_it_is(faq, contextual, monkeypatch, capsys):
    monkeypatch.setattr(pipelines_module.Ranker, "of_encoder", lambda *_: contextual)
    monkeypatch.setattr(pipelines_module, "is_on_this_machine", lambda *_: True)
    compared = pipelines_module._rankers(contextual, 20_000, None)
    assert list(compared) == ["hyperqa_squad", "cosinet_squad", "minilm", "hyperqa_minilm", "trained"]
    assert "minilm" not in pipelines_module._rankers(contextual, 20_001, None)
    assert "more than 20,000 answers" in capsys.readouterr().err


def test_an_encoder_that_nobody_named_and_that_is_damaged_ends_no_training(
    faq, contextual, write_encoder, tmp_path, capsys
):
    write_encoder(tmp_path / "home" / ENCODER)
    for damage in ("another hash", "no vocabulary"):
        compared = pipelines_module._rankers(contextual, 12, tmp_path / "home")
        assert list(compared) == ["hyperqa_squad", "cosinet_squad", "trained"], damage
        (tmp_path / "home" / ENCODER / "vocab.txt").unlink(missing_ok=True)
    said = capsys.readouterr().err
    assert "not compared" in said and "SHA-256" in said and "has no vocab.txt" in said


@pytest.mark.parametrize(
    ("columns", "header"),
    [
        ({"candidate_column": "body", "question_column": "asked"}, "asked,answer,body"),
        ({}, "question,answer,Candidate"),
    ],
)
def test_the_printed_commands_index_the_tables_of_the_training(command, tmp_path, capsys, columns, header):
    (tmp_path / "faq.csv").write_text(f"{header}\nwho,red,It rained.\nwhen,blue,\nwhere,grey,At home.\n")
    (tmp_path / "test.csv").write_text(f"{header}\nwhy,white,For fun.\n")
    found = pd.DataFrame({"rr": [1.0], "ms": [1.0], "mb": [1.0]})
    compared = _comparison({Pipeline("bm25"): {"dev": found, "test": found}}, 1, {"test": 1})
    (tmp_path / "result.json").write_text(json.dumps(compared.as_json()))
    given = {"train": tmp_path / "faq.csv", "dev": None, "test": tmp_path / "test.csv"}
    options = TrainOptions(drop_bad_rows=True, **columns)
    dataset = Dataset(*[table("{}?")] * 3, OWN_TABLES)  # None is written.
    _print_pipelines(compared, tmp_path, _tables_to_index(tmp_path, given, dataset, options))
    assert not (tmp_path / "answers.csv").exists()
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "index" in line.split())
    ran = command(*shlex.split(line)[1:-1], tmp_path / "index")
    assert ran.code == 0 and "3 answers" in ran.out and "1 bad rows are left out (line 3)" in ran.err
    index = AnswerIndex.open(tmp_path / "index")
    assert index.search("home")[["candidate_id", "candidate", "answer"]].to_numpy().tolist() == [
        ["c2", "At home.", "grey"]
    ]
    assert not len(index.search("grey")) and not len(index.search("where"))


@pytest.mark.parametrize(
    ("train", "test", "why"),
    [
        # One answer to two questions, as docs/data.md has it.
        ("question,candidate_id,answer\nwho,A0,Ann.\nwhose,A0,Ann.\nwhen,A1,Now.\n", None, "A0"),
        ("question,candidate_id,answer\nwho,A0,Ann.\n", "question,candidate_id,answer\nwhy,A0,Fun.\n", "A0"),
        ("question,answer\nwho,Ann.\n", "question,answer,note\nwhy,Fun.,x\n", "note"),
    ],
)
def test_what_an_index_refuses_is_written_for_it(command, tmp_path, capsys, train, test, why):
    given = {"train": tmp_path / "train.csv", "dev": None, "test": None}
    given["train"].write_text(train)
    if test:
        given["test"] = tmp_path / "test.csv"
        given["test"].write_text(test)
    frames = [pd.read_csv(path).rename(columns={"answer": "candidate"}) for path in given.values() if path]
    whole = pd.concat(frames)
    # The wrong answers that were drawn are no part of it.
    drawn = pd.concat([whole.assign(label=1), whole.assign(label=0, candidate="wrong")], ignore_index=True)
    dataset = Dataset(drawn, drawn[:1], drawn[:1], OWN_TABLES)
    names = _tables_to_index(tmp_path, given, dataset, TrainOptions())
    assert names == [str(tmp_path / "answers.csv")] and why in capsys.readouterr().out
    made = command("index", *names, "--output", tmp_path / "index")
    assert made.code == 0, made.text
    texts = AnswerIndex.open(tmp_path / "index")._state.texts().to_pandas()
    assert sorted(texts["indexed_question"]) == sorted(whole["question"])
    assert set(texts["candidate"]) == set(whole["candidate"])
    in_memory = {"train": whole, "dev": None, "test": None}
    plain = {"train": tmp_path / "plain.csv", "dev": None, "test": None}
    plain["train"].write_text("question,answer\nwho,Ann.\nwho,Ann.\n")
    without_repeats = TrainOptions(drop_duplicates=True)
    assert _tables_to_index(tmp_path, plain, dataset, TrainOptions()) == [str(plain["train"])]
    assert _tables_to_index(tmp_path, plain, dataset, without_repeats) == names
    assert _tables_to_index(tmp_path, in_memory, dataset, TrainOptions()) == names


def test_a_pipeline_is_read_again(tmp_path):
    pipeline = Pipeline("ngrams+both", ("question", "answer"), "trained", "cosinet_squad", 30)
    found = pd.DataFrame({"rr": [1.0], "ms": [1.0], "mb": [1.0]})
    compared = _comparison({pipeline: {"dev": found, "test": found}}, 1, {})
    (tmp_path / "result.json").write_text(json.dumps(compared.as_json()))
    assert read_pipeline(tmp_path) == (pipeline, None)
    assert pipeline.model_of(tmp_path) == tmp_path / "model"
    assert pipeline.index_options()["first_stages"] == ["ngrams", "nearest", "bm25"]
    assert pipeline.index_options()["default_stage"] == "ngrams+both"
    assert pipeline.search_options(tmp_path) == "--rerank cosinet_squad --rerank-depth 30"


def test_the_index_of_a_pipeline_finds_the_encoder_of_the_training(
    write_encoder, tmp_path, monkeypatch, command
):
    home = tmp_path / "home"
    write_encoder(home / ENCODER)
    monkeypatch.setitem(PUBLISHED, ENCODER, replace(PUBLISHED[ENCODER], hashes={}))
    pipeline = {"first_stage": "nearest", "search": ["answer"], "model": ENCODER}
    result = {"pipeline": pipeline, "options": {"embeddings_home": str(home)}}
    (tmp_path / "result.json").write_text(json.dumps(result))
    (tmp_path / "faq.csv").write_text("answer\nAnn wrote it.\nAt noon.\n")
    made = command("index", tmp_path / "faq.csv", "--pipeline", tmp_path, "--output", tmp_path / "index")
    assert made.code == 0, made.text
    found = command("search", tmp_path / "index", "Ann wrote it.")
    assert found.code == 0 and "Ann wrote it." in found.out.splitlines()[0]
    on_encoder = Pipeline(POINTS, model=ON_ENCODER, embeddings_home=str(home)).model_of(tmp_path)
    assert on_encoder.open_vocabulary.embeddings_home == str(home)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "names no pipeline"),
        ("[]", "is damaged"),
        ('{"pipeline": {"search": []}, "options": {"embeddings_home": 1}}', "is damaged"),
        ('{"pipeline": {"first_stage": "bm25", "search": ["answer"], "model": "/etc"}}', "not a model"),
        ('{"pipeline": {"first_stage": "bm25", "search": ["note"]}}', "it searches"),
        ('{"pipeline": {"first_stage": "bm25", "search": "answer"}}', "it searches"),
        ('{"pipeline": {"first_stage": "bm25"}, "confidence": {"bias": "x"}}', "is damaged"),
    ],
)
def test_a_damaged_result_is_refused(tmp_path, content, message):
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(UserError, match=message):
        read_pipeline(tmp_path)
    with pytest.raises(UserError, match="not found"):
        read_pipeline(tmp_path / "elsewhere")


def test_the_command_builds_a_pipeline_with_its_confidence(tmp_path, command):
    learnt = {"features": ["ngrams"], "weights": [0.04], "lowest": [9.0], "bias": -3.0}
    pipeline = {"first_stage": "ngrams", "search": ["question", "answer"]}
    (tmp_path / "result.json").write_text(json.dumps({"pipeline": pipeline, "confidence": learnt}))
    (tmp_path / "faq.csv").write_text("question,answer\nDo I pay?,By card.\nWhen?,At noon.\n")
    made = command("index", tmp_path / "faq.csv", "--pipeline", tmp_path, "--output", tmp_path / "index")
    index = AnswerIndex.open(tmp_path / "index")
    assert made.code == 0 and index.manifest.confidence == Confidence.read(learnt)
    assert index.first_stages == ["ngrams"]
    found = index.search("pay by card")
    assert found["first_stage"][0] == "ngrams"
    # Passages have other scores than the answers from which it was learnt.
    cut = command(
        *("index", tmp_path / "faq.csv", "--pipeline", tmp_path),
        *("--passage-length", 300, "--output", tmp_path / "passages"),
    )
    assert cut.code == 0 and "confidence" in cut.err
    assert AnswerIndex.open(tmp_path / "passages").manifest.confidence is None
    expected = 1 / (1 + np.exp(3 - 0.04 * found["score"]))
    np.testing.assert_allclose(found["confidence"], expected, rtol=1e-6)
