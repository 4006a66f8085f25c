"""Which command fills a row, held against the scripts' own configurations."""

import importlib
import shlex
from pathlib import Path

import pytest
import tyro

from evaluation.paper_results import read_paper_results
from evaluation.results_document import _not_measured
from evaluation.row_commands import is_listed, training_command

REPRODUCE = Path(__file__).parents[2] / "reproduce"


def own_rows():
    rows = read_paper_results(REPRODUCE / "paper_results.csv")
    rows = rows[rows["dataset"] != "-"][["paper", "dataset", "model"]].drop_duplicates()
    return [row for row in rows.itertuples(index=False, name=None) if _not_measured(*row) != "quoted"]


def configured(command):
    """The configuration that a command gives its script, and the name of its model."""
    script, *words = shlex.split(command)[1:]
    paper = next(
        p for p in ("hyperqa", "ctrn", "attentive_pooling", "cosinet") if Path(script).stem.startswith(p)
    )
    config = tyro.cli(importlib.import_module(f"reproduce.{Path(script).stem}").Config, args=words)
    if paper == "cosinet":
        return config, config.model
    names = importlib.import_module(f"reproduce.{paper}_experiment").NAMES
    return config, names[config.model]


def test_the_command_of_every_row_trains_its_model_on_its_data():
    commands = {row: training_command(*row) for row in own_rows()}
    trained = {row: " ".join(c).strip() for row, c in commands.items() if c and "lexical" not in c[0]}
    assert {paper for paper, _, _ in trained} == {"hyperqa", "ctrn", "attentive_pooling", "cosinet"}
    for (_, dataset, model), command in trained.items():
        config, name = configured(command)
        assert name == model
        row_name, _, variant = dataset.partition("/")
        assert row_name.startswith(config.dataset) and variant in ("", config.variant)
        assert config.record and config.main
    # Rules are measured by the same script on every data set; nothing else is without a command.
    assert {model for (_, _, model) in commands.keys() - trained.keys()} <= {"Random", "RR", "WO", "WO+RR"}
    assert None not in commands.values()


def test_a_row_s_own_command_is_found_in_the_list_and_no_other_row_s_is():
    rows = own_rows()
    commands = {row: " ".join(training_command(*row)).strip() for row in rows}
    for row in rows:
        paper, dataset, model = row
        for other, command in commands.items():
            if "lexical" in command:
                continue
            same = other[0] == paper and other[2] == model and other[1].split("-")[0] == dataset.split("-")[0]
            if not same:
                assert not is_listed(paper, dataset, model, [command]), (row, command)
        assert is_listed(paper, dataset, model, [commands[row]])


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ("--main", ["Cosinet"]),
        ("--main --encoder=ca --objective listwise --embeddings a b --across birnn", ["CA list BiRNN"]),
        ("--main --encoder ca --objective listwise --global birnn --seeds 1", ["CA list BiRNN"]),
        # A variant of a row does not fill it, nor does a run on another data set.
        ("--encoder ca", []),
        ("--main --encoder ca --dataset qed", []),
    ],
)
def test_defaults_and_ways_to_write_options_are_understood(options, listed):
    commands = [f"python reproduce/cosinet_squad_sent.py --record {options}"]
    models = ["Cosinet", "Cosinet list", "Cosinet list BiRNN", "CA", "CA list", "CA list BiRNN", "RR"]
    assert [model for model in models if is_listed("cosinet", "squad-sent", model, commands)] == listed


def test_rules_have_one_command_and_a_training_set_of_its_own_is_named():
    assert is_listed(
        "cosinet", "wikiqa", "RR", ["python reproduce/lexical_baselines.py --dataset wikiqa --record"]
    )
    assert not is_listed(
        "cosinet", "wikiqa", "RR", ["python reproduce/lexical_baselines.py --dataset qed --record"]
    )
    assert training_command("ctrn", "trecqa-raw/TRAIN-ALL", "QRNN") == (
        "python reproduce/ctrn_trecqa.py --record --main --variant TRAIN-ALL",
        "--model qrnn",
    )
    default = ["python reproduce/ctrn_trecqa.py --record --main"]
    assert is_listed("ctrn", "trecqa-raw/TRAIN", "CTRN", default)
    assert not is_listed("ctrn", "trecqa-raw/TRAIN-ALL", "CTRN", default)
    assert training_command("ctrn", "insuranceqa", "CTRN") is None
