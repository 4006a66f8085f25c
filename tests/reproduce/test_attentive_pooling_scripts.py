"""Attentive Pooling's scripts: the paper's values by model, and what a run leaves behind."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tyro

from data_prep import DATASETS, Tokenizer, UserError
from data_prep.cli import run_command
from models.attentive_pooling import PAPER_TRAINING
from reproduce.attention import attend, attention_figure, attention_page
from reproduce.attention import main as draw_attention
from reproduce.attentive_pooling_experiment import (
    NAMES,
    AttentivePoolingConfig,
    build_ranker,
    load_attentive_pooling_data,
    run_attentive_pooling,
)
from reproduce.attentive_pooling_insuranceqa import Config as InsuranceQAConfig
from reproduce.attentive_pooling_insuranceqa import run
from reproduce.attentive_pooling_search import SPACE, SearchConfig, complete
from reproduce.attentive_pooling_trecqa import Config as TrecQAConfig
from reproduce.attentive_pooling_wikiqa import Config as WikiQAConfig
from reproduce.rank import load_ranker, rank_texts, read_vocabulary
from reproduce.search import trial_options

ROOT = Path(__file__).parents[2]
SCRIPTS = ("wikiqa", "trecqa", "insuranceqa", "search")


@pytest.mark.parametrize("model", NAMES)
def test_the_defaults_are_the_paper_s_of_the_model(model):
    config = WikiQAConfig(model=model)
    printed = PAPER_TRAINING[NAMES[model]]
    ours = (config.batch_size, config.margin, config.learning_rate, config.learning_rate_decay)
    assert ours == tuple(printed.values())
    assert (config.optimizer, config.sampled_negatives, config.negatives_from) == ("sgd", 50, "answers")
    assert not config.share_negatives
    assert 15 <= config.epochs <= 25
    # Table 2: filters, and windows of words, on TrecQA and WikiQA / on InsuranceQA.
    bilstm = (141, 1, 1)
    sizes = {"ap-cnn": (400, 4, 3), "qa-cnn": (4000, 2, 2), "ap-bilstm": bilstm, "qa-bilstm": bilstm}
    windows = TrecQAConfig(model=model).window, InsuranceQAConfig(model=model).window
    assert (config.filters, *windows) == sizes[model]


@pytest.mark.parametrize("model", NAMES)
def test_adam_does_not_take_the_rate_of_sgd(model, tmp_path):
    config = AttentivePoolingConfig(dataset="sample", model=model, optimizer="Adam", output=tmp_path)
    with pytest.raises(UserError, match="give --learning-rate as well"):
        run_attentive_pooling(config)
    assert not list(tmp_path.iterdir())


def test_what_is_given_stands_and_a_value_of_zero_is_given():
    config = WikiQAConfig(model="qa-cnn", margin=0.3, learning_rate_decay=True)
    assert (config.margin, config.learning_rate_decay, config.batch_size) == (0.3, True, 1)
    assert replace(config, epochs=3).margin == 0.3
    assert tyro.cli(WikiQAConfig, args=["--learning-rate-decay", "False"]).learning_rate_decay is False
    wrong = {"filters": 0, "window": 0, "batch_size": 0, "embedding_dropout": 1.0, "word_vector_norm": 0.0}
    for options in ({name: value} for name, value in wrong.items()):
        with pytest.raises(UserError, match=next(iter(options))):
            AttentivePoolingConfig(dataset="sample", **options)


def test_configurations_are_told_apart_by_what_they_train():
    one, other = WikiQAConfig().matters(), WikiQAConfig(negatives_from="own").matters()
    assert one["margin"] == 0.5
    assert {key for key in one if one[key] != other[key]} == {"negatives_from"}
    assert "the whole training answer set" in WikiQAConfig().negatives()
    assert "the question's own" in WikiQAConfig(negatives_from="own").negatives()
    assert "per batch" in WikiQAConfig(share_negatives=True).negatives()


def test_the_word_vectors_of_running_training_words_have_the_length_that_is_asked_for(capsys):
    config = AttentivePoolingConfig(dataset="sample", filters=8)
    as_they_are = load_attentive_pooling_data(config)
    data = load_attentive_pooling_data(replace(config, word_vector_norm=2.0))
    train = data.encoded.train
    rows = [train.candidates.take([row]).words for row in range(train.n_rows)]
    # Every question once and every candidate as often as it stands in a row, each word as often as it runs.
    words = np.concatenate([train.questions.words, *rows])
    before, after = (
        np.linalg.norm(each.word_vectors.matrix[words], axis=1).mean() for each in (as_they_are, data)
    )
    assert after == pytest.approx(2.0, rel=1e-5)
    assert f"{before:.2f}, scaled to 2." in capsys.readouterr().out
    exact = as_they_are.word_vectors.matrix * (2.0 / before)
    assert data.word_vectors.matrix == pytest.approx(exact, rel=1e-5)
    ranker = build_ranker(replace(config, word_vector_norm=2.0), data, seed=0)
    embedding = ranker.get_layer("encoder").get_layer("word_vectors")
    assert embedding.embeddings.numpy() == pytest.approx(data.word_vectors.matrix)


def test_every_trial_of_the_search_is_a_configuration():
    config = SearchConfig(dataset="sample", share_negatives=True, embeddings=("task-skipgram-8d",))
    for trial in range(60):
        options = complete(trial_options(config, SPACE, trial))
        tried = AttentivePoolingConfig(**{"dataset": "sample", "share_negatives": True} | options)
        assert (tried.optimizer == "adam") == (tried.learning_rate < 0.05)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_imports_nothing_heavy(environment, script):
    told = (
        "import runpy, sys; sys.argv = sys.argv[1:]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "finally: print(sorted(sys.modules.keys() & {'tensorflow', 'keras', 'gensim'}), file=sys.stderr)"
    )
    path = ROOT / "reproduce" / f"attentive_pooling_{script}.py"
    done = subprocess.run(
        [sys.executable, "-c", told, path, "--help"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    for option in ("--model", "--share-negatives", "--negatives-from", "--sampled-negatives", "--window"):
        assert option in done.stdout


def test_a_run_prints_accuracies_and_records_what_a_reader_has_to_know(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    note = "This version is not the paper's."
    noted = replace(DATASETS["sample"], notes=(note,))
    monkeypatch.setitem(DATASETS, "sample", noted)
    config = InsuranceQAConfig(
        dataset="sample",
        embeddings=("task-cbow-8d",),
        filters=4,
        epochs=1,
        share_negatives=True,
        notes="A first look.",
        output=tmp_path / "out",
    )
    result = run(config)
    printed = capsys.readouterr().out
    assert "sample-cbow-8d-seed0" in printed
    assert f"Negatives: {config.negatives()}." in printed
    assert note in printed.splitlines()
    (path,) = result.folder.glob("*.json")
    record = json.loads(path.read_text())
    assert (record["paper"], record["model"]) == ("attentive_pooling", "AP-CNN")
    assert record["notes"] == f"A first look. {note}"
    # k n c + c + c c with 3 words in the window.
    assert record["parameters"] == 3 * 8 * 4 + 4 + 4 * 4
    assert record["configuration"]["embeddings"] == ["task-cbow-8d"]
    dev, test = (record[key]["p@1"]["mean"] for key in ("metrics_dev", "metrics"))
    # The values of Table 3, as the paper prints them.
    line = f"dev {100 * dev:.1f}, test {100 * test:.1f}. The paper's on V1: dev 68.8, test1 69.8, test2 66.3."
    assert line in printed
    assert re.search(r"AP-CNN, ours, 1 seed", printed)
    assert (result.folder / "learning_curves.png").is_file()
    assert (result.folder / "accuracy_by_answer_length_test.png").is_file()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folders of an AP-CNN and of a QA-CNN."""
    output = tmp_path_factory.mktemp("trained")
    options = {"dataset": "sample", "epochs": 1, "filters": 8, "share_negatives": True, "batch_size": 20}
    return {
        model: run_attentive_pooling(AttentivePoolingConfig(model=model, output=output, **options)).folder
        / "model"
        for model in ("ap-cnn", "qa-cnn")
    }


@pytest.mark.parametrize("model", ["ap-cnn", "qa-cnn"])
def test_a_question_is_ranked_as_the_model_itself_scores_padded_pairs(trained, model):
    question, candidates = "Who painted the chapel?", ["The chapel is in Rome.", "Nobody.", "It was Ann."]
    vocabulary, options = read_vocabulary(trained[model])
    tokens = Tokenizer(pretokenised=False, **options)([question, *candidates])
    asked, *answers = (np.array([vocabulary.encode(text)], "int32") for text in tokens)
    ranker = load_ranker(trained[model])
    expected = [float(ranker([asked, answer])[0]) for answer in answers]
    found = {text: score for score, text in rank_texts(trained[model], question, candidates)}
    assert found == pytest.approx(dict(zip(candidates, expected, strict=True)), abs=1e-5)


def test_attention_to_any_pair_of_texts(trained):
    question, of_question, answer, of_answer = attend(
        trained["ap-cnn"], "Who wrote the Zauberflöte?", "Mozart did."
    )
    assert (question[-2:], answer) == (["zauberflöte", "?"], ["mozart", "did", "."])
    # Eq. 14 to 16: a softmax of values within (-1, 1).
    for words, weights in ((question, of_question), (answer, of_answer)):
        assert len(weights) == len(words)
        assert weights.sum() == pytest.approx(1, abs=1e-6)
        assert weights.max() / weights.min() <= math.exp(2) + 1e-4


def test_any_pair_of_texts_has_its_figure_and_its_page(trained):
    pair = trained["ap-cnn"], "Who wrote the Zauberflöte?", "Mozart did."
    question, of_question, answer, of_answer = attend(*pair)
    figure, page = attention_figure(*pair), attention_page(*pair)
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [question, answer]
    weights = [float(each) for each in re.findall(r'<span title="([.0-9]+)"', page)]
    assert weights == pytest.approx([*of_question, *of_answer], abs=5e-5)


@pytest.mark.parametrize("ending", ["png", "html"])
def test_attention_is_drawn_from_a_shell_s_words(trained, tmp_path, capsys, monkeypatch, ending):
    path = tmp_path / f"attention.{ending}"
    words = ["attention.py", str(trained["ap-cnn"]), "Who?", "Mozart <did>.", "--output", str(path)]
    monkeypatch.setattr(sys, "argv", words)
    draw_attention()
    printed = capsys.readouterr().out.splitlines()
    # The stronger of both words first; the weights of a text add up to 1.
    strengths = [float(weight) for weight in re.findall(r"[.0-9]{5}", printed[0])]
    assert strengths == sorted(strengths, reverse=True)
    assert sum(strengths) == pytest.approx(1, abs=2e-3)
    assert printed[-1] == str(path)
    assert path.read_bytes().startswith(b"\x89PNG" if ending == "png" else b"<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qa-cnn", "Who?", "Mozart."], "without attention"),
        (["ap-cnn", "Who?", " "], "at least one word"),
        (["nowhere", "Who?", "Mozart."], "cannot read"),
        (["ap-cnn", "Who?", "Mozart.", "--output", "a.gif"], "must end in"),
    ],
)
def test_what_cannot_be_drawn_ends_with_2(trained, capsys, monkeypatch, tmp_path, arguments, message):
    model, *others = arguments
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["attention.py", str(trained.get(model, model)), *others])
    with pytest.raises(SystemExit) as end:
        run_command(draw_attention)
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
