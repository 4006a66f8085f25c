"""What every experiment shares: its command as recorded, and that no record is lost."""

import doctest
import importlib
import sys

import pytest

import reproduce.experiment
from data_prep.errors import UserError
from evaluation.records import ResultRecord, save_record
from reproduce.experiment import clean_command, load_experiment_data, record_name, run_experiment
from reproduce.hyperqa_experiment import HyperQAConfig


@pytest.mark.parametrize(
    "given",
    [
        ["--data-home", "/data", "--model", "ctrn"],
        ["--data_home=/data", "--model=ctrn", "--output", "here"],
        ["--model", "ctrn", "--results", "a", "--figures", "b", "--folder", "c"],
    ],
)
def test_a_recorded_command_names_no_place_of_the_machine(monkeypatch, given):
    monkeypatch.setattr(sys, "argv", ["/some/where/reproduce/ctrn_trecqa.py", *given])
    assert clean_command().replace("=", " ") == "python reproduce/ctrn_trecqa.py --model ctrn"


def test_a_recorded_command_has_options_in_one_spelling(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["reproduce/x.py", "--learning_rate", "0.1", "--own_negatives=4"])
    assert clean_command() == "python reproduce/x.py --learning-rate 0.1 --own-negatives=4"


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """Give a function that writes a record of the sample, and one that runs the same experiment again."""
    monkeypatch.setattr(reproduce.experiment, "RESULTS", tmp_path)

    def config(**options):
        return HyperQAConfig(dataset="sample", record=True, output=tmp_path / "outputs", **options)

    def write(**changes):
        data = load_experiment_data(config())
        record = ResultRecord(
            **{
                "paper": "hyperqa",
                "dataset": "sample",
                "protocol": "answerable",
                "split": "test",
                "model": "HyperQA",
                "variant": data.dataset.variant,
                "embeddings": data.word_vectors.name,
                "seeds": [0, 1, 2],
                "metrics": {"map": {"mean": 0.5, "ci95": 0.1, "per_seed": [0.4, 0.5, 0.6]}},
                "parameters": 1,
                "seconds_per_epoch": None,
                "command": "python reproduce/x.py",
                "configuration": config().matters(),
            }
            | changes
        )
        save_record(record, tmp_path / f"{record_name(record)}.json")

    class TrainedError(Exception):
        """The experiment came so far as to train."""

    def train_seed(*_):
        raise TrainedError

    def again(**options):
        try:
            run_experiment(config(**options), paper="hyperqa", model="HyperQA", train_seed=train_seed)
        except TrainedError:
            return True

    return write, again


def test_fewer_seeds_do_not_replace_a_record(recorded):
    write, again = recorded
    write()
    with pytest.raises(UserError, match="is a record of 3 seeds, which 1 would replace"):
        again(seeds=1)
    assert again(seeds=3)
    assert again(seeds=1, dimension=50)


def test_a_main_record_is_replaced_by_a_main_one_only(recorded):
    write, again = recorded
    write(main=True)
    with pytest.raises(UserError, match="is the main record of these options: give --main as well"):
        again(seeds=3)
    assert again(seeds=3, main=True)


@pytest.mark.parametrize("paper", ["attentive_pooling", "cosinet", "ctrn", "hyperqa"])
def test_the_examples_of_a_papers_experiment(paper):
    found = doctest.testmod(importlib.import_module(f"reproduce.{paper}_experiment"))
    assert found.attempted
    assert not found.failed
