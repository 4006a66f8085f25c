import pandas as pd

from answer_ranking.data_prep import Dataset
from answer_ranking.data_prep.dataset import OWN_TABLES
from answer_ranking.data_prep.tables import check_table
from answer_ranking.reports.data_card import data_card


def test_a_card_counts_by_hand():
    rows = {"question": ["who?"] * 3 + ["why?"] * 2, "candidate": list("abcde"), "label": [1, 0, 0, 1, 0]}
    table = check_table(pd.DataFrame(rows), "rows")
    table.attrs["skipped"] = {"answers without text": 7}
    page = data_card(Dataset(table, table, table, description=OWN_TABLES))
    (counts,) = [line for line in page.splitlines() if line.startswith("| train | all |")]
    assert [cell.strip() for cell in counts.split("|")[3:6]] == ["2", "5", "2"]
    assert "correct first" in counts and "| test | 1.000 | 0.000 |" in page
    assert "answers without text: 7" in page


def test_the_baselines_of_a_card_are_those_of_the_rules():
    # One question whose words favour the wrong candidate, one without a correct candidate.
    rows = {"question": ["x y"] * 2 + ["z"], "candidate": ["x", "x y", "z"], "label": [1, 0, 0]}
    table = check_table(pd.DataFrame(rows), "rows")
    page = data_card(Dataset(table, table, table, description=OWN_TABLES))
    # By chance the correct candidate is first or second, (1 + 1/2) / 2; by overlap it is second.
    assert page.count("| 0.750 | 0.500 |") == 2 * len(OWN_TABLES.protocols)
