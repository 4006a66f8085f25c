"""The figures of the presets' cards, by hand."""

import numpy as np
import pandas as pd
import pytest

from answer_ranking.evaluation.card_metrics import compare, correct_for_number, fuse
from answer_ranking.reports.preset_cards import best_rankers


def test_the_fusion_by_hand():
    fused = fuse(["a", "a", "b", "a"], np.array([3.0, 1.0, 9.0, 2.0]), np.array([0.0, 0.0, 1.0, 5.0]))
    expected = [1 / 61 + 1 / 62.5, 1 / 63 + 1 / 62.5, 1 / 61 + 1 / 61, 1 / 62 + 1 / 61]
    np.testing.assert_allclose(fused, expected)


def table(values):
    columns = dict.fromkeys(("map", "mrr", "p@1"), values)
    return pd.DataFrame({**columns, "n_correct": 1, "n_wrong": 1})


@pytest.mark.parametrize(("bm25", "best"), [(0.1, "the preset"), (0.9, "BM25")])
def test_the_advice_names_what_no_other_beats(bm25, best):
    rng = np.random.default_rng(0)
    means = {"preset": 0.6, "bm25": bm25, "fusion": 0.45}
    tables = {name: table(mean + rng.uniform(-0.05, 0.05, 40)) for name, mean in means.items()}
    conditions = [{**compare(tables, "answerable"), "title": "Ours", "protocol": "filtered"}]
    once = dict(conditions[0]["p"])
    correct_for_number(conditions)
    # Holm: the least of three p-values is multiplied by three.
    assert min(conditions[0]["p"].values()) == pytest.approx(3 * min(once.values()))
    assert best_rankers({"conditions": conditions}) == {best: ["Ours"]}
    # Of raw and clean, clean speaks; rankers of the same figures stand together.
    alike = dict.fromkeys(tables, tables["fusion"])
    others = [{**compare(alike, "clean"), "title": "Other", "protocol": "clean"}]
    others.append({**compare(tables, "answerable"), "title": "Other", "protocol": "raw"})
    found = best_rankers({"conditions": [*conditions, *others]})
    assert found == {best: ["Ours"], "the preset or BM25 or the fusion with BM25": ["Other"]}
    assert conditions[0]["metrics"]["bm25"]["map"]["mean"] == pytest.approx(bm25, abs=0.02)
