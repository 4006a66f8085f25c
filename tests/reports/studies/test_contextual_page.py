"""Heads on static vectors and on contextual words: which record is compared with which."""

from types import SimpleNamespace

import pytest

from answer_ranking.reports.studies.contextual_page import encoder_points, heads_of_plan


def record(value, model="HyperQA", protocol="clean", **configuration):
    metrics = {"map": {"mean": value}}
    return SimpleNamespace(model=model, protocol=protocol, configuration=configuration, metrics=metrics)


def test_a_head_is_compared_with_itself_on_static_vectors():
    equal_budget = {
        "trecqa": {
            "a": {"raw": [record(0.9, protocol="raw", eq9="none")], "clean": [record(0.6, eq9="none")]},
            "b": {"clean": [record(0.5, eq9="parameters"), record(0.54, eq9="parameters")]},
            "c": {"clean": [record(0.7, "CTRN", overlap_features=True)]},
            "d": {"clean": [record(0.55, "CTRN", overlap_features=False)]},
        }
    }
    planned = {
        ("trecqa", "ball", "hyperqa"): [record(0.7, eq9="parameters"), record(0.8, eq9="parameters")],
        ("trecqa", "ball", "none"): [record(0.71, eq9="none")],
        ("trecqa", "recurrent", "ctrn"): [record(0.77, "CTRN", overlap_features=False)],
        ("trecqa", "ball", "new"): [record(0.1, "New")],
        # A side of another group is searched in another space; the first group's stands.
        ("trecqa", "lists", "hyperqa"): [record(0.2, eq9="parameters")],
        ("wikiqa", "ball", "hyperqa"): [record(0.3, eq9="parameters")],
    }
    control = {("trecqa", "ball", "none"): [record(0.65, eq9="none")]}
    heads = heads_of_plan(planned, control, equal_budget, "map")
    found = [(head.name, round(head.contextual, 3), head.static) for head in heads["trecqa"]]
    assert found == [("ctrn", 0.77, 0.55), ("hyperqa", 0.75, 0.52), ("none", 0.71, 0.65), ("new", 0.1, None)]
    assert [head.name for head in heads["trecqa"] if head.is_control] == ["none"]
    assert [head.static for head in heads["wikiqa"]] == [None]


def test_the_time_of_a_head_on_an_encoder_is_that_of_both():
    def head(value, speed, title="HyperQA", **configuration):
        made = record(value, title)
        made.configuration = configuration
        return SimpleNamespace(**vars(made), questions_per_second=speed)

    of_wikiqa = {"dataset": "wikiqa", "protocol": "filtered", "embeddings": ["minilm"]}
    plan = SimpleNamespace(data={"wikiqa": of_wikiqa}, metric="map")
    rule = SimpleNamespace(**of_wikiqa | {"embeddings": "minilm"}, questions_per_second=20.0)
    planned = {
        ("wikiqa", "ball", "hyperqa"): [head(0.7, 100.0, model="hyperqa"), head(0.8, 50.0, model="hyperqa")],
        ("wikiqa", "ball", "hyperqa-eq9-none"): [head(0.9, 100.0, model="hyperqa", eq9="none")],
        ("trecqa", "ball", "cosineqa"): [head(0.9, 100.0, "CosineQA", model="cosineqa")],
    }
    (name, point), *others = encoder_points(plan, planned, [rule], "wikiqa").items()
    # 50 ms of the encoder, and 10 and 20 ms of the head.
    assert name == "HyperQA, minilm" and point == pytest.approx([1 / 0.065, 0.75, 0]) and not others
    assert encoder_points(plan, planned, [], "wikiqa") == {}
