import numpy as np
import pandas as pd
import pytest

from data_prep import Tokenizer, load_dataset
from data_prep.rule_baselines import rule_baselines
from evaluation import evaluate_ranking
from models.lexical import word_overlap


def test_figures_of_a_hand_computed_table():
    """A question of two candidates whose words are equal, and one that the overlap ranks wrongly."""
    table = pd.DataFrame(
        {
            "question_id": ["a", "a", "b", "b", "b", "c"],
            "question": ["x y", "x y", "u v", "u v", "u v", "z"],
            "candidate_id": list("123456"),
            "candidate": ["x", "x", "w", "u u", "u v", "z"],
            "label": [1, 0, 1, 0, 0, 0],
        }
    )
    figures = rule_baselines(table, Tokenizer(pretokenised=True))
    # a: either order by chance, (1 + 1/2) / 2; b: last of three; c has no correct candidate.
    assert figures["word overlap"] == pytest.approx((0.75 + 1 / 3) / 2, abs=0.12)
    # By chance b's correct candidate has rank 1, 2 or 3.
    assert figures["random"] == pytest.approx((0.75 + (1 + 1 / 2 + 1 / 3) / 3) / 2, abs=0.12)
    none = table.assign(label=0)
    assert rule_baselines(none, Tokenizer(pretokenised=True), "all") == {"random": 0.0, "word overlap": 0.0}


def test_word_overlap_is_that_of_trec_eval_on_the_sample():
    dataset = load_dataset("sample")
    table, tokenizer = dataset.test, Tokenizer(dataset.description.pretokenised)
    ids = table["question_id"].to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    scores = word_overlap(
        tokenizer(table["question"].iloc[starts].tolist()),
        tokenizer(table["candidate"].tolist()),
        [*starts, len(table)],
    )
    labels = table["label"].to_numpy()
    maps = [evaluate_ranking(ids, labels, scores, tie_seed=seed)["map"].mean() for seed in range(20)]
    # Two sets of 20 random orders of the ties.
    assert rule_baselines(table, tokenizer)["word overlap"] == pytest.approx(np.mean(maps), abs=0.015)
