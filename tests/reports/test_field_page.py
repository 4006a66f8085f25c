"""Rows that a paper quotes and another paper's record answers, and the page of the field."""

import re
from fractions import Fraction

import pytest
from made_records import cells_of, summary
from test_results import PAPERS, make_record

from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.reports.field import field_grid, finding_block, printed_map
from answer_ranking.reports.results import results_document

AP_CNN = make_record(paper="attentive_pooling", model="AP-CNN", parameters=1234)
RAW = {"dataset": "trecqa", "protocol": "raw"}
COUNT_ALL = {"metrics_count_all": {"map": make_record().metrics["map"], "mrr": make_record().metrics["mrr"]}}


def rows_of(records, table, model):
    """Give the cells of a model's rows in all tables of a title."""
    return rows_in(results_document(records, PAPERS), table, model)


def rows_in(document, table, model):
    found = []
    for section in document.split("### ")[1:]:
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


def test_a_row_of_another_name_says_whose_record_answers_it():
    record = make_record(paper="cosinet", model="CA", configuration={"epochs": 1})
    (row,) = rows_of([record], "Table 3: wikiqa", "W&J 2016")
    # Cosinet's Table 3 prints 74.33 %.
    assert row[1:4] == ["74.33", "70.80 ± 0.40", "-3.53"]
    (said,) = re.findall("^Answered by .*W&J.*$", results_document([record], PAPERS), re.MULTILINE)
    assert said.endswith("W&J 2016 by CA, W&J 2016 (rerun) by CA.")


def test_rows_on_data_that_are_not_there_say_so_whoever_measured_them():
    document = results_document([], PAPERS)
    for table in ("Table 3: yahooqa", "Table 4: yahooqa"):
        for model in ("BM25", "AP-CNN", "NTN-LSTM"):
            (row,) = rows_in(document, table, model)
            assert row[2] == "no data"
        (row,) = rows_in(document, table, "Random")
        assert row[1:6] == ["0.200", "chance", "", "0.457", "chance"]
    # One of five candidates is correct; the first correct one is at each place as often.
    mrr = sum(Fraction(1, place) for place in range(1, 6)) / 5
    said = f"with one correct answer among 5, its P@1 is 0.200 and its MRR {float(mrr):.3f}."
    assert document.count(said) == 2 and f"{float(mrr):.3f}" == "0.457"


def test_a_table_of_sizes_takes_a_quoted_model_from_its_own_paper():
    own = make_record(paper="ctrn", model="CTRN", **RAW, variant="TRAIN")
    quoted = make_record(
        paper="attentive_pooling", model="AP-BiLSTM", **RAW, variant="TRAIN-ALL", parameters=747_300
    )
    (row,) = rows_of([own, quoted], "Table 2", "AP-BiLSTM")
    assert row == ["AP-BiLSTM", "5.86M", "747,300", "glove-6b-50d", "trecqa, raw, TRAIN-ALL"]
    (row,) = rows_of([own], "Table 2", "AP-BiLSTM")
    assert row[2] == "quoted"


def test_a_system_s_printed_value_is_the_one_under_its_own_name():
    # CTRN's Table 7 prints four digits; HyperQA's Table 5, which comes first here, three and another name.
    (system,) = [each for each in PAPERS.systems if each.name == "aNMM-1"]
    assert printed_map(system, ("trecqa-raw/TRAIN-ALL", "trecqa-raw"), PAPERS) == "0.7495"
    (system,) = [each for each in PAPERS.systems if each.name == "LCLR"]
    assert printed_map(system, ("trecqa-raw",), PAPERS) == "0.709"


# The papers print a MAP of 0.670, 0.688, 0.693, 0.701 and 0.712 on WikiQA.
RISING = {"QA-CNN": "attentive_pooling", "AP-CNN": "attentive_pooling", "MP-CNN": "field"}
RISING |= {"Rank MP-CNN": "field", "HyperQA": "hyperqa"}


def on_wikiqa(*means):
    """Make records of the first of these systems."""
    found = []
    for (model, paper), mean in zip(RISING.items(), means, strict=False):
        found.append(make_record(paper=paper, model=model, metrics={"map": summary(mean)}))
    return found


def test_the_finding_counts_discordant_pairs_by_hand():
    rising, discordant = on_wikiqa(0.5, 0.55, 0.6, 0.65, 0.75), on_wikiqa(0.5, 0.65, 0.6, 0.75)
    page = finding_block(rising, discordant, PAPERS)
    # Of 5! orders the same one and its reverse are as extreme; of 4! the same one, three with one pair of
    # neighbours discordant, and their reverses. Holm doubles the smaller p of two.
    assert f"| 5 | 1.00 | {2 * 2 / 120:.2g} | 0 of 10 | QA-CNN -0.170 |" in page
    assert f"| 4 | {4 / 6:.2f} | {2 * 4 / 24:.2g} | 1 of 6 | QA-CNN -0.170 |" in page
    said = " ".join(page.split())
    assert (
        "on WikiQA, with 0 of 10 pairs discordant (Kendall's tau 1.00, 5 systems). Elsewhere no relation"
        in said
    )
    assert finding_block(rising[:2], [], PAPERS).startswith("No order")


def test_an_order_that_falls_does_not_come_back():
    page = finding_block(on_wikiqa(0.75, 0.65, 0.6, 0.55, 0.5), [], PAPERS)
    assert f"| 5 | -1.00 | {2 / 120:.2g} | 10 of 10 |" in page
    said = " ".join(page.split())
    assert "It is significantly reversed on WikiQA." in said and "relation is significant" not in said


def test_the_finding_says_whether_a_quoted_system_was_searched():
    records = on_wikiqa(0.5, 0.55, 0.6, 0.65)
    for searched, said in ((records, False), (records[:2], True)):
        page = " ".join(finding_block(records, searched, PAPERS).split())
        assert ("None of the systems that the papers only quote has had a search" in page) == said


def test_every_quoted_row_is_built_or_a_rule_or_has_a_reason():
    built = {entry.title for entry in CATALOGUE.values()} | {"PV", "PV + Cnt"}
    rules = {"Random", "BM25"}
    reasons = {each.name for each in PAPERS.systems if each.why}
    assert not reasons & built
    names = {each.name for each in PAPERS.systems}
    for row in PAPERS.printed.itertuples():
        if not PAPERS.papers[row.paper].measured(row.model):
            name = PAPERS.system_name(row.model)
            assert name in built | reasons | rules, row
            assert name in names | rules, row


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


def test_the_grid_has_each_system_that_was_run_once_with_all_its_data():
    measured = {"map": summary(0.744)}
    raw = make_record(**RAW, variant="TRAIN-ALL", metrics=measured, metrics_count_all=measured)
    lines = field_grid([*on_wikiqa(0.654), raw], PAPERS).splitlines()
    rows = [cells_of(line) for line in lines if line.startswith(("| QA-CNN", "| HyperQA"))]
    assert [row[0] for row in rows] == ["QA-CNN", "HyperQA"]
    assert rows[0][2].startswith("0.670; 0.654") and rows[0][3:] == ["", "", "", ""]
    # Printed on four data sets, run on one.
    assert rows[1][2:4] == ["0.712; –", ""] and rows[1][5:] == ["0.784; –", "0.795; –"]
    assert rows[1][4].startswith("0.770; 0.744")
    assert len(lines) == 4
