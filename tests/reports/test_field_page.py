"""Rows that a paper quotes and another paper's record answers, and the page of the field."""

import pytest
from made_records import cells_of
from test_results import PAPERS, make_record

from answer_ranking.reports.results import results_document

AP_CNN = make_record(paper="attentive_pooling", model="AP-CNN", parameters=1234)
RAW = {"dataset": "trecqa", "protocol": "raw"}
COUNT_ALL = {"metrics_count_all": {"map": make_record().metrics["map"], "mrr": make_record().metrics["mrr"]}}


def rows_of(records, table, model):
    """Give the cells of a model's rows in all tables of a title."""
    found = []
    for section in results_document(records, PAPERS).split("### ")[1:]:
        if section.startswith(f"{table}\n"):
            lines = [line for line in section.splitlines() if line.startswith(f"| {model} |")]
            found += map(cells_of, lines)
    return found


def test_a_quoted_row_shows_the_record_of_its_own_paper():
    (row,) = rows_of([AP_CNN], "Table 2: wikiqa", "AP-CNN")
    assert row[1:4] == ["0.688", "0.708 ± 0.004", "+0.020"]
    # Not main in its own paper, but the only one.
    (row,) = rows_of([make_record(**vars(AP_CNN) | {"main": False})], "Table 2: wikiqa", "AP-CNN")
    assert row[2].startswith("0.708")
    other = make_record(**vars(AP_CNN) | {"main": False, "embeddings": "glove"})
    several = [make_record(**vars(AP_CNN) | {"main": False}), other]
    (row,) = rows_of(several, "Table 2: wikiqa", "AP-CNN")
    assert row[2] == "quoted"


@pytest.mark.parametrize(("variant", "shown"), [("TRAIN-ALL", True), ("TRAIN", False)])
def test_a_quoted_row_has_the_training_set_of_the_table_s_own_rows(variant, shown):
    own = make_record(**RAW, **COUNT_ALL, variant="TRAIN-ALL")
    quoted = make_record(paper="field", model="CNN + Cnt", **RAW, **COUNT_ALL, variant=variant)
    # The table has another name for it.
    (row,) = rows_of([own, quoted], "Table 5: trecqa-raw", "CNN (Yu et al.)")
    assert (row[2] != "quoted") == shown
    (row,) = rows_of([own, quoted], f"Table 6: trecqa-raw/{variant}", "CNN + LR")
    assert row[2].startswith("0.708")


def test_every_system_has_one_name_and_stands_in_a_table_or_in_the_catalogue():
    names = []
    for each in PAPERS.systems:
        names += [each.name, *each.also]
    assert len(set(names)) == len(names)
    printed = set(PAPERS.printed["model"])
    for each in PAPERS.systems:
        assert each.name not in printed or not set(each.also) - printed, each
    years = [each.year for each in PAPERS.systems]
    assert years == sorted(years)
