"""The documents on made-up records and on the papers' real values."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from made_records import cells_of, made_record, summary

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import paired_randomisation_test, save_record
from answer_ranking.evaluation.comparisons import reference
from answer_ranking.evaluation.papers import PAPERS_FILE, read_papers
from answer_ranking.reports.documents import documents, main
from answer_ranking.reports.results import results_document

PAPERS = read_papers()

HEADLINE = "<!-- headline:begin -->\n<!-- headline:end -->"
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


make_record = partial(made_record, main=True)


def each_question(values):
    return {"question_ids": [f"q{i}" for i in range(12)], "map": [values] * 2}


def hyperqa(values, **changes):
    return make_record(per_question=each_question(values), **changes)


AP_CNN = {"paper": "attentive_pooling", "protocol": "pool-500", "model": "AP-CNN"}
# Nothing is trained.
A_RULE = {"parameters": 0, "seconds_per_epoch": None}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "reproduce" / "results").mkdir(parents=True)
    (tmp_path / "README.md").write_text(f"# Title\n{HEADLINE}\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    return tmp_path


def line_of(text, *beginning):
    start = "| " + " | ".join(beginning) + " |"
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return cells_of(line)


def test_every_printed_value_stands_in_its_paper_s_table_in_order():
    text = results_document([], PAPERS)
    tables = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    groups = list(PAPERS.printed.groupby(["paper", "table", "dataset"], sort=False))
    titles = [paper.title for paper in PAPERS.papers.values()]
    assert re.findall("^## (.*)$", text, flags=re.MULTILINE)[1:] == titles
    assert len(tables) == len(groups)
    for shown, ((_, table, dataset), rows) in zip(tables, groups, strict=True):
        assert shown.splitlines()[0] == f"Table {table}" + (f": {dataset}" if dataset != "-" else "")
        body = [line.split(" | ") for line in shown.splitlines() if line.startswith("| ")][2:]
        assert [cells[0].removeprefix("| ") for cells in body] == list(rows["model"].unique())
        cells = {cells[0].removeprefix("| "): " | ".join(cells[1:]) for cells in body}
        for row in rows.itertuples():
            assert re.search(rf"(^|[ (]){re.escape(row.value)}([ )|]|$)", cells[row.model]), row


def test_the_edition_that_the_paper_has_is_compared_on_both_test_splits():
    common = {**AP_CNN, "dataset": "insuranceqa-v1", "metrics_dev": {"p@1": summary(0.65)}}
    first, second = (
        make_record(**common, split=split, metrics={"p@1": summary(value)})
        for split, value in (("test", 0.6), ("test2", 0.64))
    )
    text = results_document([first, second], PAPERS)
    cells = ["68.8", "65.0 ± 0.4", "-3.8", "69.8", "60.0 ± 0.4", "-9.8", "66.3", "64.0 ± 0.4", "-2.3"]
    assert line_of(text, "AP-CNN", "68.8")[1:10] == cells


def test_two_main_records_of_a_row_are_refused():
    with pytest.raises(UserError, match=r"two records claim the row of HyperQA on wikiqa filtered"):
        results_document([make_record(), make_record(embeddings="other")], PAPERS)


def ctrn_record(model, per_question, **changes):
    """A record of CTRN's Table 6 with one value per question, the same for both seeds."""
    values = {
        "paper": "ctrn",
        "dataset": "trecqa",
        "protocol": "raw",
        "variant": "TRAIN",
        "model": model,
        "metrics": {"map": summary(per_question[0]), "mrr": summary(0.7)},
        "metrics_count_all": {"map": summary(per_question[0]), "mrr": summary(0.7)},
        "per_question": each_question(per_question),
    }
    return make_record(**values | changes)


def test_models_of_one_table_are_compared_with_its_baseline_alone():
    good, fair, poor = (np.linspace(base, base + 0.11, 12).tolist() for base in (0.7, 0.6, 0.3))
    # CTRN is better by 0.1 on eleven questions and worse by 0.1 on one.
    good[-1] = fair[-1] - 0.1
    records = [ctrn_record("CTRN", good), ctrn_record("QRNN", fair), ctrn_record("LSTM", poor)]
    text = results_document(records, PAPERS)
    # Of 2^12 sign patterns two are as extreme as twelve equal signs, and 2 (1 + 12) as eleven; Holm doubles
    # the smaller p.
    assert f"LSTM p = {2 * 2 / 2**12:.3g}, CTRN p = {2 * 13 / 2**12:.3g}" in text
    assert line_of(text, "CTRN", "0.7582")[2] == "0.7000 ± 0.0040 ▲"
    assert line_of(text, "LSTM", "0.7007")[2] == "0.3000 ± 0.0040 ▼"
    assert line_of(text, "QRNN", "0.7000")[2] == "0.6000 ± 0.0040"
    # Only the tested metric is marked.
    assert line_of(text, "CTRN", "0.7582")[5] == "0.7000 ± 0.0040"


def test_with_which_record_another_one_is_compared():
    main, vectors = ctrn_record("CTRN", [0.7] * 12), ctrn_record("CTRN", [0.6] * 12, embeddings="other")
    vectors = replace(vectors, main=False)
    baseline, lstm = ctrn_record("QRNN", [0.6] * 12), ctrn_record("LSTM", [0.5] * 12)
    elsewhere = replace(vectors, variant="TRAIN-ALL")
    rule = replace(main, model="WO", parameters=0)
    records = [main, vectors, baseline, lstm, elsewhere, rule]
    expected = [baseline, main, None, baseline, main, None]
    assert [reference(each, records, PAPERS) for each in records] == expected
    assert reference(main, [main, rule], PAPERS) is None
    unplaced = replace(baseline, main=False)
    assert reference(lstm, [lstm, replace(unplaced, embeddings="other"), unplaced], PAPERS) is unplaced
    assert reference(replace(main, paper="mine"), records, PAPERS) is None


def test_variants_stand_below_with_what_differs_and_a_corrected_p_value():
    good, bad = [0.9] * 12, [0.9] * 4 + [0.1] * 8
    records = [
        hyperqa(good, configuration={"eq9": "none", "lr": 0.1}),
        hyperqa(bad, configuration={"eq9": "points", "lr": 0.1}, main=False),
        hyperqa(bad, variant="other", configuration={"eq9": "none", "lr": 0.2}, main=False),
        hyperqa(good, model="CosineQA", configuration={"eq9": "none", "lr": 0.1}),
    ]
    text = results_document(records, PAPERS)
    p = f"{2 * paired_randomisation_test(good, bad):.3g} (HyperQA)"
    assert p == f"{2 * 2 / 2**8:.3g} (HyperQA)"
    assert line_of(text, "HyperQA", "eq9 = points")[4] == p
    # Without a main record on its training set, it is compared with that on the other.
    assert line_of(text, "HyperQA", "lr = 0.2")[4] == p
    # The baseline is compared with the main record once, above.
    assert "HyperQA p = 1." in text
    assert line_of(text, "CosineQA", "")[4] == ""


def test_a_model_that_no_table_prints_stands_below_the_row_that_it_belongs_to():
    of_cosinet = {"paper": "cosinet", "model": "Cross-encoder", "main": False}
    few = make_record(**of_cosinet, configuration={"epochs": 1})
    more = make_record(**of_cosinet, configuration={"epochs": 2}, seeds=[0, 1, 2])
    lines = results_document([few, more], PAPERS).splitlines()
    (place,) = [number for number, line in enumerate(lines) if line.startswith("| BERT-base | 81.32")]
    # The run with most seeds; the other one is a variant, and both are shown once.
    model, printed, ours, *_ = cells_of(lines[place + 1])
    assert (model, printed, ours) == ("Cross-encoder", "", "70.80 ± 0.40")
    assert [cells_of(line)[0] for line in lines].count("Cross-encoder") == 2


def test_a_new_paper_is_one_entry(root, tmp_path):
    entry = """
[papers.toy]
title = "Toy (Nobody, 2026)"
own_models = ["ToyNet"]
main_rows = [["wikiqa", "ToyNet"]]
[[papers.toy.tables]]
table = "1"
dataset = "wikiqa"
columns = ["map"]
rows = [["ToyNet", "0.701"], ["Older", "0.6"]]
"""
    (tmp_path / "papers.toml").write_text(PAPERS_FILE.read_text() + entry)
    save_record(make_record(paper="toy", model="ToyNet"), root / "reproduce" / "results" / "toy" / "a.json")
    texts = documents(root, tmp_path / "papers.toml")
    section = texts[root / "reproduce" / "RESULTS.md"].partition("## Toy (Nobody, 2026)\n")[2]
    assert line_of(section, "ToyNet", "0.701")[2:4] == ["0.708 ± 0.004", "+0.007"]
    assert line_of(section, "Older", "0.6")[2] == "quoted"
    assert "0.701 / 0.708 ± 0.004" in texts[root / "README.md"]


def test_the_command_writes_and_checks_all_documents(root):
    path = root / "reproduce" / "results" / "a.json"
    save_record(make_record(), path)
    page = root / "docs" / "eq9.md"
    page.parent.mkdir()
    grid = "<!-- grid:begin -->\n<!-- grid:end -->"
    page.write_text(f"# Eq. 9\n\n{BEGIN}\nold\n{END}\n\n{grid}\n\nmore\n")
    with pytest.raises(UserError, match=r"reproduce/RESULTS.md and README.md and docs/eq9.md out of date"):
        main(["--root", str(root), "--check"])
    assert not (root / "reproduce" / "RESULTS.md").exists()
    main(["--root", str(root)])
    readme = (root / "README.md").read_text()
    assert readme.startswith("# Title\n") and readme.endswith(f"{END}\n\nmore\n")
    assert page.read_text().startswith(f"# Eq. 9\n\n{BEGIN}\n") and "old" not in page.read_text()
    assert main(["--root", str(root), "--check"]) == 0
    save_record(make_record(notes="A remark."), path)
    with pytest.raises(UserError, match=r"^reproduce/RESULTS.md out of date"):
        main(["--root", str(root), "--check"])
    # The records of a study lie in a folder of their own, which the other documents do not read.
    (root / "reproduce" / "results" / "eq9").mkdir()
    (root / "reproduce" / "results" / "eq9" / "a.json").write_text("{}")
    with pytest.raises(UserError, match=r"a\.json is not a record of its study"):
        main(["--root", str(root), "--check"])


def test_a_readme_without_markers_is_refused_before_anything_is_written(root):
    (root / "README.md").write_text("# Title\n")
    with pytest.raises(UserError, match=r"README\.md lacks the markers"):
        main(["--root", str(root)])
    assert not (root / "reproduce" / "RESULTS.md").exists()
