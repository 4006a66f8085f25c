"""The page of the transfer refuses a study without conditions; `reports --check` compares the whole page."""

import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.records import save_study
from answer_ranking.reports.studies.transfer_page import transfer_block


def test_a_study_without_conditions_is_named(tmp_path):
    texts = ("title", "dataset", "model", "embeddings", "pretrained_on", "seeds", "rate_factors", "command")
    study = dict.fromkeys(texts, "") | {"comparisons": [], "conditions": [], "configuration": {}}
    save_study(study, tmp_path / "trecqa" / "hyperqa.json")
    with pytest.raises(UserError, match=r"hyperqa\.json has no conditions"):
        transfer_block(tmp_path)
