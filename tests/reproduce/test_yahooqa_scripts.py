"""The scripts for YahooQA on a small file in the released format."""

import pickle

import pytest

import reproduce.ctrn_yahooqa
import reproduce.hyperqa_yahooqa
from reproduce.ctrn_experiment import run_ctrn
from reproduce.hyperqa_experiment import run_hyperqa

CTRN = ("--filters", "6", "--kernel-size", "2", "--hidden", "5")


@pytest.fixture
def data_home(tmp_path, made_up_questions):
    splits = {
        name: {question: [[text, int(good)] for text, good in answers] for question, answers in made}
        for name, made in (
            ("train", made_up_questions(0, 40)),
            ("dev", made_up_questions(40, 10)),
            ("test", made_up_questions(50, 12)),
        )
    }
    (tmp_path / "yahooqa").mkdir()
    (tmp_path / "yahooqa" / "env.pkl").write_bytes(pickle.dumps(splits, 2))
    return tmp_path


@pytest.mark.parametrize(
    ("run", "script", "options", "model", "parameters"),
    [
        # W_p and b_p; w_f and b_f.
        (run_hyperqa, reproduce.hyperqa_yahooqa, ("--dimension", "7"), "HyperQA", 50 * 7 + 7 + 2),
        # 3kdm + 2dh + h and the softmax's 2h + 2.
        (
            run_ctrn,
            reproduce.ctrn_yahooqa,
            ("--model", "qrnn", *CTRN),
            "QRNN",
            3 * 2 * 6 * 50 + 2 * 6 * 5 + 5 + 12,
        ),
    ],
)
def test_yahooqa_from_the_released_format(
    run_in_process, run_on_disk, data_home, tmp_path, run, script, options, model, parameters
):
    output = tmp_path / "out"
    options = (*options, "--data-home", data_home, "--epochs", "1", "--seeds", "1", "--output", output)
    code, out, err = run_in_process(run, script.Config, *options)
    assert code == 0, err
    record = run_on_disk(output).record
    assert (record["dataset"], record["model"]) == ("yahooqa", model)
    assert record["configuration"].get("overlap_features", False) is False
    assert record["parameters"] == parameters
    assert len(record["per_question"]["question_ids"]) == 12
    assert 0 < record["metrics"]["map"]["mean"] <= 1
    assert f"{model}, ours" in out
