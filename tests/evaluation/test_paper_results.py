from pathlib import Path

import pytest

from data_prep.errors import UserError
from evaluation.paper_results import prints_percent, read_paper_results

PAPER_RESULTS = Path(__file__).parents[2] / "reproduce" / "paper_results.csv"


def test_the_units_of_all_tables_make_fractions_of_all_metrics():
    table = read_paper_results(PAPER_RESULTS)
    metrics = table[table["metric"].isin(["map", "mrr", "p@1"]) | table["metric"].str.startswith("accuracy")]
    assert len(metrics) > 300
    for row in metrics.itertuples():
        fraction = float(row.value) / (100 if prints_percent(row.paper, row.table) else 1)
        assert 0.03 < fraction < 1, row


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("paper,table,dataset,model,metric\n", r"the columns are"),
        (
            "paper,table,dataset,model,metric,value\na,1,b,c,map,0.5\na,1,b,c,mrr,\n",
            r"line 3: a value is missing",
        ),
        ("", r"is not a table"),
    ],
)
def test_a_broken_table_is_named(tmp_path, text, message):
    path = tmp_path / "paper.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_paper_results(path)
    with pytest.raises(UserError, match="cannot read"):
        read_paper_results(tmp_path / "absent.csv")
