"""Decimals in a column are numbers, but for versions."""

import pyarrow as pa
import pytest

from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.search.column_types import typed


@pytest.mark.parametrize(
    ("cells", "are_numbers"),
    [
        (["1.50", "2.25", "10"], True),
        (["1.5", "2.25", "-3.125"], True),
        (["1.50", "2.5e+10", ""], True),
        (["1.5e-10", "2.50"], True),
        (["1.0", "2.5", "3.75"], True),
        (["0.0", "0.125"], True),
        (["3.9", "3.10"], False),
        (["3.10", "3.1", "4"], False),
    ],
)
def test_decimals_of_several_lengths_that_end_in_0_are_versions(cells, are_numbers):
    expected = [(float(cell) if are_numbers else cell) if cell else None for cell in cells]
    assert typed(pa.array(cells)).to_pylist() == expected


def test_a_column_that_is_there_keeps_its_kind():
    assert typed(pa.array(["3.9", "3.10"]), pa.float64()).to_pylist() == [3.9, 3.1]


def test_truths_are_read_as_such_and_texts_without_blanks_at_their_ends():
    assert typed(pa.array(["True", "false", " "])).to_pylist() == [True, False, None]
    assert typed(pa.array(["law ", " law", "yes"])).to_pylist() == ["law", "law", "yes"]


def test_conditions_find_truths_whatever_way_they_are_asked_for(tmp_path):
    (tmp_path / "faq.csv").write_text("text,active\nw1 a,True\nw1 b,False\n")
    index = AnswerIndex.build(None, tmp_path / "faq.csv", tmp_path / "index")
    for where in ({"active": True}, ["active=true"], ["active=True"], ["active!=false"]):
        assert index.search("w1", where=where)["candidate_id"].tolist() == ["c1"], where
