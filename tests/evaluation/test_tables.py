import pytest

from answer_ranking.evaluation.tables import format_difference, format_measured, markdown_table, text_table


def test_columns_of_plain_text_line_up():
    lines = text_table(["model", "MAP", ""], [["a", "0.5", "x"], ["a longer name", "0.25", ""]]).splitlines()
    assert lines[0].index("MAP") + 3 == lines[2].index("0.5") + 3 == lines[3].index("0.25") + 4
    assert set(lines[1]) == {"-"}


def test_markdown_has_one_cell_per_column_even_with_bars_in_the_text():
    lines = markdown_table(["a", "b"], [["x|y", "1"]]).splitlines()
    assert [line.replace("\\|", "").count("|") for line in lines] == [3, 3, 3]


@pytest.mark.parametrize(
    ("scale", "printed", "expected"),
    [(1, "0.712", "-0.004"), (100, "71.2", "-0.4"), (1, "0.7012", "+0.0068")],
)
def test_a_difference_has_its_sign_and_the_printed_digits(scale, printed, expected):
    assert format_difference({"mean": 0.708}, printed, scale=scale) == expected


def test_percent_and_interval():
    assert format_measured({"mean": 0.708, "ci95": 0.0061}, scale=100, decimals=1) == "70.8 ± 0.6"
