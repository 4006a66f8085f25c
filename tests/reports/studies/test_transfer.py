"""The page of the transfer: what it refuses, and which tests are corrected together."""

import numpy as np
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.records import save_study
from answer_ranking.reports.studies.transfer_page import read_transfer, transfer_block


def study(p_values=(), **changed):
    texts = ("title", "dataset", "embeddings", "pretrained_on", "seeds", "rate_factors", "command")
    condition = {"protocol": "filtered", "way": "unseen", "questions": 0}
    made = dict.fromkeys(texts, "") | {"model": "HyperQA", "configuration": {}}
    made |= {"comparisons": [{"p": p} for p in p_values], "conditions": [condition] * len(p_values)}
    return made | changed


def test_a_study_without_conditions_is_named(tmp_path):
    save_study(study(), tmp_path / "trecqa" / "hyperqa.json")
    with pytest.raises(UserError, match=r"hyperqa\.json has no conditions"):
        transfer_block(tmp_path)


def test_tests_on_the_same_word_vectors_are_corrected_together(tmp_path):
    save_study(study([0.01, 0.2]), tmp_path / "a" / "one.json")
    save_study(study([0.02]), tmp_path / "b" / "two.json")
    contextual = {"embeddings": "minilm", "configuration": {"encoder": "0" * 64}}
    save_study(study([0.02], **contextual), tmp_path / "c" / "three.json")
    found = read_transfer(tmp_path)
    # Holm: the smallest of three times three, the next one times two, the last as it is.
    corrected = [[test["p"] for test in each.comparisons] for each in found]
    np.testing.assert_allclose(np.concatenate(corrected), [0.03, 0.2, 0.04, 0.02])
    assert [each.model for each in found] == ["HyperQA", "HyperQA", "HyperQA on minilm"]
