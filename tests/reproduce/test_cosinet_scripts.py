"""Cosinet's scripts: names and defaults of the paper, a whole run on the sample, and ranking text with it."""

import json
from dataclasses import fields, replace
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import pytest
import tyro

import layers  # noqa: F401  (registers the layers of saved models)
import reproduce.cosinet_nq_la
import reproduce.cosinet_squad_sent
import reproduce.cosinet_wikiqa
from data_prep import DATASETS, UserError
from data_prep.cli import run_command
from reproduce.cosinet_experiment import ACROSS, CosinetConfig, run_cosinet, train_cosinet
from reproduce.cosinet_search import SHARED_SPACE, SPACES, SearchConfig
from reproduce.experiment import load_experiment_data
from reproduce.rank import rank_texts
from training.list_scorer import ListScorer

PRINTED = pd.read_csv(Path(__file__).parents[2] / "reproduce" / "paper_results.csv", dtype=str)
SCRIPTS = (reproduce.cosinet_wikiqa, reproduce.cosinet_squad_sent, reproduce.cosinet_nq_la)
SMALL = {"dataset": "sample", "filters": 8, "epochs": 2, "learning_rate": 5e-3}
LISTS = {"objective": "listwise", "across": "birnn"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = CosinetConfig(**SMALL, **LISTS, seeds=2, output=tmp_path_factory.mktemp("run"))
    return run_cosinet(config)


@pytest.mark.parametrize(("module", "table"), list(zip(SCRIPTS, "456", strict=True)))
def test_every_row_that_the_paper_trained_has_a_command(module, table):
    rows = {
        tyro.cli(module.Config, args=["--encoder", encoder, "--objective", objective, "--across", across])
        for encoder in ("cosinet", "ca")
        for objective in ("pointwise", "listwise")
        for across in (ACROSS if objective == "listwise" else ["none"])
    }
    own = PRINTED[(PRINTED["paper"] == "cosinet") & (PRINTED["table"] == table)]
    printed = {model for model in own["model"] if model.split()[0] in ("Cosinet", "CA")}
    assert printed <= {config.model for config in rows}
    assert {config.dataset for config in rows} == set(own["dataset"]) <= set(DATASETS)
    for config in rows:
        # Section 4.2 of the paper.
        assert config.learning_rate == (2e-3 if config.objective == "pointwise" else 2e-4)
        assert (config.epochs, config.optimizer, config.patience) == (3, "adam", None)
        assert (config.filters, config.width) == (300, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--across", "rnn"], "--objective listwise"),
        (["--objective", "listwise", "--across", "birnn", "--hidden", "7"], "hidden must be even"),
        (["--objective", "listwise", "--across", "birnn", "--filters", "9"], "hidden must be even"),
        (["--learning-rate", "0"], "learning_rate must be above 0"),
        (["--batch-size", "0"], "batch_size must be at least 1"),
        (["--max-candidates", "1"], "max_candidates must be at least 2"),
        (["--cut-fraction", "1"], "cut_fraction must be"),
        (["--rate-ratio", "0.5"], "rate_ratio must be at least 1"),
        (["--epochs", "0"], "epochs must be at least 1"),
    ],
)
def test_what_the_user_can_mend_ends_with_2(capsys, arguments, message):
    with pytest.raises(SystemExit) as end:
        run_command(lambda: run_cosinet(tyro.cli(reproduce.cosinet_wikiqa.Config, args=arguments)))
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_the_search_draws_options_that_exist():
    names = {field.name for field in fields(SearchConfig)}
    for objective, space in SPACES.items():
        assert set(space | SHARED_SPACE) <= names
        assert SearchConfig(dataset="sample", objective=objective).learning_rate in space["learning_rate"]


def test_a_run_leaves_a_record_of_the_paper_s_row(run):
    (record,) = run.records
    assert (record.paper, record.model, record.seeds) == ("cosinet", "Cosinet list BiRNN", [0, 1])
    assert record.embeddings == "glove-6b-50d"
    # Two convolutions, two ways of a recurrent network over [q * a ; q - a], a linear score.
    assert record.parameters == 2 * (51 * 8 * 5 + 8) + 2 * (16 * 4 + 4 * 4 + 4) + 8 + 1
    written = json.loads(next(run.folder.glob("*.json")).read_text())
    assert written["configuration"]["across"] == "birnn"
    assert written["configuration"]["learning_rate"] == 5e-3
    assert (run.folder / "learning_curves.png").stat().st_size > 1000
    first, second = ([epoch["loss"] for epoch in history] for history in run.histories)
    assert first != second


def test_the_ranker_scores_given_candidates_as_one_list_in_their_order(run):
    folder = run.folder / "model"
    candidates = ["It is a city in the north.", "The first bridge was made of wood.", "He died there."]
    ranking = rank_texts(folder, "Who made the first bridge?", candidates)
    words = {
        word: i + 2 for i, word in enumerate(json.loads((folder / "vocabulary.json").read_text())["words"])
    }

    def encoded(text, length):
        tokens = text.lower().replace(".", " .").replace("?", " ?").split()
        return [words.get(token, 1) for token in tokens] + [0] * (length - len(tokens))

    ranker = keras.models.load_model(folder / "ranker.keras", compile=False)
    answers = np.array([[encoded(text, 9) for text in candidates]])
    scores = ranker([np.array([encoded("Who made the first bridge?", 6)]), answers])[0].numpy()
    assert {text: score for score, text in ranking} == pytest.approx(
        dict(zip(candidates, scores, strict=True)), abs=1e-5
    )
    assert [score for score, _ in ranking] == sorted((score for score, _ in ranking), reverse=True)
    reversed_list = rank_texts(folder, "Who made the first bridge?", candidates[::-1])
    assert {text: s for s, text in ranking} != pytest.approx({text: s for s, text in reversed_list}, abs=1e-4)


@pytest.mark.parametrize("signal", [True, False])
def test_candidates_are_shuffled_where_their_order_is_no_signal(run, signal):
    data = run.data
    description = replace(data.dataset.description, order_is_signal=signal)
    data = replace(data, dataset=replace(data.dataset, description=description))
    config = CosinetConfig(**SMALL | LISTS | {"across": "rnn"})
    trained = train_cosinet(config, data, 0, None, "")
    scores = {seed: ListScorer(trained.ranker, data.encoded.test, order_seed=seed)() for seed in (None, 0)}
    assert np.abs(scores[None] - scores[0]).max() > 1e-3
    np.testing.assert_array_equal(trained.scores["test"], scores[None if signal else 0])


@pytest.mark.parametrize("encoder", ["cosinet", "ca"])
def test_pointwise_training_lowers_the_loss(run, encoder):
    config = CosinetConfig(**SMALL | {"epochs": 3}, encoder=encoder, dimension=8)
    trained = train_cosinet(config, run.data, 0, None, "")
    losses = [epoch["loss"] for epoch in trained.history]
    assert losses[-1] < losses[0]
    assert np.isfinite(trained.scores["test"]).all()


def test_an_unknown_data_set_is_named():
    with pytest.raises(UserError, match="unknown data set 'nope'"):
        load_experiment_data(CosinetConfig(dataset="nope"))
