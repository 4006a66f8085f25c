"""An option that does nothing is refused by name, and one that does something never is."""

import itertools
from dataclasses import fields

import pytest

from data_prep import UserError
from reproduce.attentive_pooling_semevalcqa import Config as AttentivePoolingSemEvalCQA
from reproduce.attentive_pooling_wikiqa import Config as AttentivePooling
from reproduce.cosinet_wikiqa import Config as Cosinet
from reproduce.ctrn_trecqa import Config as CTRNTrecQA
from reproduce.hyperqa_wikiqa import Config as HyperQA
from reproduce.options_without_effect import _RULES, refuse_options_without_effect


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
        (lambda: HyperQA(model="cosineqa", max_norm=0.9), "--max-norm does nothing with --model cosineqa"),
        (lambda: HyperQA(model="cosineqa", eq9="none"), "--eq9 does nothing with --model cosineqa"),
        (lambda: AttentivePooling(model="qa-bilstm", window=3), "--window does nothing with --model qa-bil"),
        (lambda: Cosinet(max_candidates=9), "--max-candidates does nothing with --objective pointwise"),
        (lambda: Cosinet(hidden=9), "--hidden does nothing with --across none"),
        (lambda: Cosinet(encoder="ca", width=3), "--width does nothing with --encoder ca"),
        (lambda: Cosinet(dimension=9), "--dimension does nothing with --encoder cosinet"),
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
        lambda: AttentivePooling(model="qa-cnn", window=3),
        lambda: AttentivePoolingSemEvalCQA(model="ap-bilstm"),
        lambda: Cosinet(objective="listwise", across="rnn", max_candidates=9, hidden=10),
        lambda: Cosinet(encoder="ca", dimension=9),
    ],
)
def test_it_is_taken(config):
    refuse_options_without_effect(config())


CONFIGS = {
    "HyperQAConfig": HyperQA,
    "CTRNConfig": CTRNTrecQA,
    "AttentivePoolingConfig": AttentivePooling,
    "CosinetConfig": Cosinet,
}


@pytest.mark.parametrize(
    ("rule", "name"), list(itertools.chain.from_iterable([(r, n) for n in r.inert] for r in _RULES)), ids=str
)
def test_rules_name_classes_and_fields_that_there_are(rule, name):
    kind = CONFIGS[rule.kind]
    assert rule.kind in [each.__name__ for each in kind.__mro__]
    assert {rule.option, name} <= {field.name for field in fields(kind)}
