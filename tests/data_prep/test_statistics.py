import pandas as pd
import pytest

from answer_ranking.data_prep import Tokenizer
from answer_ranking.data_prep.statistics import table_statistics
from answer_ranking.data_prep.tables import check_table


@pytest.mark.parametrize(
    ("labels", "order", "order_map"),
    [
        ([1, 1, 0], "correct first", 1.0),
        ([0, 1, 1], "correct last", (1 / 2 + 2 / 3) / 2),
        ([1, 0, 1], "", (1 + 2 / 3) / 2),
        ([1, 1, 1], "", 1.0),
        ([0, 0, 0], "", 0.0),
    ],
)
def test_order_that_gives_the_label_away(labels, order, order_map):
    rows = {"question": ["who"] * 3, "candidate": ["a", "b", "c"], "label": labels}
    table = check_table(pd.DataFrame(rows), "rows")
    counts = table_statistics({"rows": table}, {"all": "all"}, Tokenizer(pretokenised=True)).iloc[0]
    assert counts["order"] == order
    assert counts["order_map"] == pytest.approx(order_map)
