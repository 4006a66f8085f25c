"""The transfer on the sample: what is drawn, what is kept, and what unseen means."""

import numpy as np
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.metrics import per_question, summarise
from answer_ranking.evaluation.records import read_study
from answer_ranking.reproduce.experiments import hyperqa
from answer_ranking.reproduce.experiments.options import DataOptions, parse
from answer_ranking.reproduce.experiments.run import Seed, load_data
from answer_ranking.reproduce.studies.transfer import TransferOptions, drawn, presets, transfer
from answer_ranking.training import score

OPTIONS = ["--dataset", "sample", "--source", "sample", "--source-epochs", "2", "--epochs", "2"]
OPTIONS += ["--dimension", "8", "--questions", "4", "--rate-factors", "0.5", "1", "--seeds", "2"]


@pytest.fixture(scope="module")
def data():
    return load_data(DataOptions(dataset="sample"))


def test_larger_draws_hold_the_smaller_ones_and_seeds_differ(data):
    draws = {
        (questions, seed): set(drawn(data, questions, seed).train.question_ids)
        for questions in (3, 9)
        for seed in (0, 1)
    }
    assert [len(each) for each in draws.values()] == [3, 3, 9, 9]
    assert draws[3, 0] < draws[9, 0] and draws[3, 1] < draws[9, 1] and draws[9, 0] != draws[9, 1]
    few = drawn(data, 3, 0)
    assert few.train.counts_under("answerable").all()
    assert few.dev is data.dev and drawn(data, None, 0) is data


def test_the_study(data, tmp_path, capsys):
    places = ["--record", "transfer/sample/hyperqa", "--results", f"{tmp_path}", "--output", f"{tmp_path}/o"]
    experiment = parse("A test.", presets(), [*OPTIONS, *places])
    transfer(experiment)
    study = read_study(tmp_path / "transfer" / "sample" / "hyperqa.json")
    assert study["pretrained_on"] == "sample"
    n_all = int(data.train.counts_under("answerable").sum())
    conditions = study["conditions"]
    assert [(each["way"], each["questions"]) for each in conditions] == [
        ("unseen", 0),
        *[(way, n) for n in (4, n_all) for way in ("from scratch", "trained on")],
    ]
    # Unseen is what the training on the source left, by its usual way.
    source = experiment.changed(epochs=2, patience=None)
    for number in (0, 1):
        model, _ = hyperqa.train(source, data, Seed(number))
        table = per_question(data.test, score(model, data.test))
        found = summarise(table, "answerable")["map"]
        assert conditions[0]["metrics"]["map"]["per_seed"][number] == pytest.approx(found, abs=1e-6)
    trained, scratch = conditions[-1], conditions[-2]
    difference = np.mean(trained["per_question"]) - np.mean(scratch["per_question"])
    compared = {(each["better"], each["worse"]): each for each in study["comparisons"]}
    assert compared["trained on", "from scratch"]["difference"] == pytest.approx(difference, abs=1e-5)
    # Two factors on dev: the better one was kept.
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("trained on, all")]
    maps = [float(line.rpartition(" ")[2]) for line in lines]
    assert len(maps) == 2 and trained["metrics_dev"]["map"]["mean"] == pytest.approx(max(maps), abs=1e-4)
    states = {path: path.stat().st_mtime_ns for path in (tmp_path / "o").rglob("state.npz")}
    # Two seeds of the source, and of two ways with two numbers of questions and two factors.
    assert len(states) == 2 + 2 * 2 * 2 * 2
    transfer(experiment)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "o").rglob("state.npz")} == states


def test_what_the_user_can_mend():
    for options in ({"questions": (30, 10)}, {"questions": (0, 10)}, {"rate_factors": (1.0, 1.0)}):
        with pytest.raises(UserError, match="must rise from above 0"):
            TransferOptions(**options)
    with pytest.raises(UserError, match="needs a number at least"):
        TransferOptions(rate_factors=())
