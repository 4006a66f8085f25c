"""An option that does nothing is refused by name, and one that does something never is."""

import doctest
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import reproduce.options_without_effect
from data_prep import UserError
from reproduce.attentive_pooling_semevalcqa import Config as AttentivePoolingSemEvalCQA
from reproduce.attentive_pooling_wikiqa import Config as AttentivePooling
from reproduce.cosinet_wikiqa import Config as Cosinet
from reproduce.ctrn_trecqa import Config as CTRNTrecQA
from reproduce.hyperqa_wikiqa import Config as HyperQA
from reproduce.options_without_effect import _RULES, refuse_options_without_effect

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (lambda: CTRNTrecQA(model="lstm", kernel_size=9), "--kernel-size does nothing with --model lstm"),
        (
            lambda: CTRNTrecQA(model="lstm", alignment="scaled"),
            "--alignment does nothing with --model lstm",
        ),
        (
            lambda: CTRNTrecQA(model="qrnn", alignment="scaled"),
            "--alignment does nothing with --model qrnn",
        ),
        (lambda: CTRNTrecQA(model="features", filters=9), "--filters does nothing with --model features"),
        (
            lambda: HyperQA(model="cosineqa", distance_form="released"),
            "--distance-form does nothing with --model cosineqa: leave one of the two out.",
        ),
        (
            lambda: HyperQA(model="cosineqa", dimensions=(20, 40)),
            "--model does nothing with --dimensions 20 40: leave one of the two out.",
        ),
        (lambda: HyperQA(dimension=20, dimensions=(20,)), "--dimension does nothing with --dimensions 20"),
        # Both models are trained then.
        (
            lambda: HyperQA(model="cosineqa", dimensions=(20,), distance_form="released"),
            "--model does nothing with --dimensions 20",
        ),
        (lambda: AttentivePooling(model="qa-bilstm", window=3), "--window does nothing with --model qa-bil"),
        (
            lambda: Cosinet(max_candidates=9),
            "--max-candidates does nothing with --objective pointwise: leave it out, or change --objective.",
        ),
        (lambda: Cosinet(hidden=9), "--hidden does nothing with --across none"),
        (lambda: Cosinet(encoder="ca", width=3), "--width does nothing with --encoder ca"),
        (lambda: Cosinet(dimension=9), "--dimension does nothing with --encoder cosinet"),
        (
            lambda: Cosinet(objective="listwise", answerable_only=False),
            "--no-answerable-only does nothing with --objective listwise",
        ),
        (
            lambda: Cosinet(rate_ratio=1, cut_fraction=0.3),
            "--cut-fraction does nothing with --rate-ratio 1",
        ),
    ],
)
def test_it_is_refused(config, message):
    with pytest.raises(UserError, match=message):
        refuse_options_without_effect(config())


@pytest.mark.parametrize(
    "config",
    [
        lambda: CTRNTrecQA(model="ctrn", kernel_size=9, alignment="scaled"),
        lambda: CTRNTrecQA(model="qrnn", kernel_size=9, pooling="ifo"),
        lambda: CTRNTrecQA(model="lstm", filters=9, hidden=(), projection=3),
        lambda: CTRNTrecQA(model="features", hidden=(5,), dropout=0.1),
        lambda: HyperQA(max_norm=0.9, eq9="none"),
        lambda: HyperQA(model="cosineqa", eq9="none"),
        lambda: HyperQA(model="cosineqa", max_norm=0.9, projection="smooth"),
        lambda: HyperQA(dimensions=(20, 40), max_norm=0.9),
        lambda: AttentivePooling(model="qa-cnn", window=3),
        lambda: AttentivePoolingSemEvalCQA(model="ap-bilstm"),
        lambda: Cosinet(objective="listwise", across="rnn", max_candidates=9, hidden=10),
        lambda: Cosinet(encoder="ca", dimension=9),
        lambda: Cosinet(answerable_only=False, cut_fraction=0.3),
    ],
)
def test_it_is_taken(config):
    refuse_options_without_effect(config())


@pytest.mark.parametrize(
    "options",
    [
        ["hyperqa_wikiqa.py", "--dimensions", "20", "--dimension", "30"],
        ["ctrn_search.py", "--dataset", "absent", "--model", "lstm", "--kernel-size", "9", "--folder", "x"],
    ],
    ids=lambda options: options[0],
)
def test_scripts_refuse_it(options, tmp_path):
    run = subprocess.run(
        [sys.executable, str(ROOT / "reproduce" / options[0]), *options[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "does nothing with" in run.stderr
    assert list(tmp_path.iterdir()) == []


CONFIGS = {
    "HyperQAConfig": HyperQA,
    "CTRNConfig": CTRNTrecQA,
    "AttentivePoolingConfig": AttentivePooling,
    "CosinetConfig": Cosinet,
}


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        pytest.param(rule, name, id=f"{rule.kind}-{rule.option}-{name}")
        for rule in _RULES
        for name in rule.inert
    ],
)
def test_rules_name_classes_and_fields_that_there_are(rule, name):
    kind = CONFIGS[rule.kind]
    assert rule.kind in [each.__name__ for each in kind.__mro__]
    assert {rule.option, name} <= {field.name for field in fields(kind)}


def test_docstring():
    assert doctest.testmod(reproduce.options_without_effect).failed == 0
