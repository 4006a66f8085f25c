"""The documents on made-up records and on the papers' real values."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import ResultRecord, paired_randomisation_test, save_record
from answer_ranking.evaluation.report import documents, main, readme_block
from answer_ranking.evaluation.results_document import paper_tables, results_document
from answer_ranking.evaluation.tables import PAPERS_FILE, paper_ours_table, read_papers

PAPERS = read_papers()
ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def summary(mean):
    return {"mean": mean, "ci95": 0.004, "per_seed": [mean - 0.001, mean + 0.001]}


def make_record(**changes):
    values = {
        "paper": "hyperqa",
        "dataset": "wikiqa",
        "protocol": "filtered",
        "split": "test",
        "model": "HyperQA",
        "embeddings": "glove-6b-50d",
        "seeds": [0, 1],
        "metrics": {"map": summary(0.708), "mrr": summary(0.721)},
        "parameters": 90302,
        "seconds_per_epoch": 0.2,
        "command": "python reproduce/hyperqa_wikiqa.py --record",
        "main": True,
    }
    return ResultRecord(**values | changes)


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
    (tmp_path / "README.md").write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    return tmp_path


def line_of(text, *beginning):
    start = "| " + " | ".join(beginning) + " |"
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_printed_value_stands_in_its_paper_s_table_in_order():
    text = results_document([], PAPERS)
    tables = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    groups = list(PAPERS.printed.groupby(["paper", "table", "dataset"], sort=False))
    titles = [paper.title for paper in PAPERS.papers.values()]
    assert re.findall("^## (.*)$", text, flags=re.MULTILINE) == titles
    assert len(tables) == len(groups)
    for shown, ((_, table, dataset), rows) in zip(tables, groups, strict=True):
        assert shown.splitlines()[0] == f"Table {table}" + (f": {dataset}" if dataset != "-" else "")
        body = [line.split(" | ") for line in shown.splitlines() if line.startswith("| ")][2:]
        assert [cells[0].removeprefix("| ") for cells in body] == list(rows["model"].unique())
        cells = {cells[0].removeprefix("| "): " | ".join(cells[1:]) for cells in body}
        for row in rows.itertuples():
            assert re.search(rf"(^|[ (]){re.escape(row.value)}([ )|]|$)", cells[row.model]), row


def test_a_main_record_stands_in_its_row_with_interval_and_difference():
    text = results_document([make_record()], PAPERS)
    cells = line_of(text, "HyperQA", "0.712")
    assert cells[1:4] == ["0.712", "0.708 ± 0.004", "-0.004"]
    assert cells[4:7] == ["0.727", "0.721 ± 0.004", "-0.006"]
    assert cells[7:10] == ["2", "glove-6b-50d", "filtered"]
    assert cells[10:] == ["90K", "90,302", "2", "0.2", "[1](#runs)"]
    assert "1. `python reproduce/hyperqa_wikiqa.py --record` (seeds 0, 1)." in text
    assert line_of(text, "AP-CNN", "0.688", "quoted")
    assert line_of(text, "HyperQA", "0.784", "not run")


def test_percent_is_compared_with_percent():
    measured = {"map": summary(0.6421), "p@1": summary(0.4609)}
    record = make_record(paper="cosinet", model="RR", metrics=measured, **A_RULE)
    cells = line_of(results_document([record], PAPERS), "RR", "46.09")
    assert cells[1:7] == ["46.09", "46.09 ± 0.40", "+0.00", "64.21", "64.21 ± 0.40", "+0.00"]


def test_an_accuracy_is_compared_with_the_precision_at_1():
    measured = {"metrics": {"map": summary(0.5), "p@1": summary(0.6)}, "metrics_dev": {"p@1": summary(0.65)}}
    record = make_record(**AP_CNN, dataset="insuranceqa", variant="POOL-100", **measured)
    text = results_document([record], PAPERS)
    # Printed: dev 68.8, test1 69.8, test2 66.3; V2 has no second test split.
    cells = ["68.8", "65.0 ± 0.4", "", "69.8", "60.0 ± 0.4", "", "66.3", "", ""]
    assert line_of(text, "AP-CNN", "68.8")[1:10] == cells
    footnote = text.index("Ours are those of V2")
    assert text.index("| AP-CNN | 68.8") < footnote < text.index("### Table 4 (as quoted")
    assert "Ours are those of V2" not in results_document([], PAPERS)
    terminal = paper_ours_table([record], PAPERS)
    assert re.search(r"AP-CNN \(attentive_pooling, Table 3, on V1\) +– +0\.6980", terminal)
    assert "difference" not in terminal


def test_the_edition_that_the_paper_has_is_compared_on_both_test_splits():
    common = {**AP_CNN, "dataset": "insuranceqa-v1", "metrics_dev": {"p@1": summary(0.65)}}
    first, second = (
        make_record(**common, split=split, metrics={"p@1": summary(value)})
        for split, value in (("test", 0.6), ("test2", 0.64))
    )
    text = results_document([first, second], PAPERS)
    cells = ["68.8", "65.0 ± 0.4", "-3.8", "69.8", "60.0 ± 0.4", "-9.8", "66.3", "64.0 ± 0.4", "-2.3"]
    assert line_of(text, "AP-CNN", "68.8")[1:10] == cells
    assert "Ours are those of V2" not in text and "prints no table" not in text
    terminal = paper_ours_table([first, second], PAPERS)
    for printed, difference in (("0.6980", "-0.0980"), ("0.6630", "-0.0230")):
        assert re.search(rf"AP-CNN \(attentive_pooling, Table 3\) +{printed}", terminal)
        assert re.search(rf"difference +{difference}", terminal)


def test_trecqa_raw_is_compared_with_unanswerable_questions_counted_as_zero():
    ours, as_printed = ({"map": summary(v), "mrr": summary(v + 0.05)} for v in (0.80, 0.75))
    trecqa = {"dataset": "trecqa", "protocol": "raw", "variant": "TRAIN-ALL"}
    record = make_record(**trecqa, metrics=ours, metrics_count_all=as_printed)
    text = results_document([record], PAPERS)
    assert line_of(text, "HyperQA", "0.770")[1:4] == ["0.770", "0.750 ± 0.004", "-0.020"]
    assert line_of(text, "↳ answerable only")[1:6] == ["", "0.800 ± 0.004", "", "", "0.850 ± 0.004"]
    terminal = paper_ours_table([record], PAPERS)
    assert re.search(r"unanswerable = 0, 2 seeds +0\.750", terminal)
    assert re.search(r"difference +-0\.020 +-0\.025", terminal)
    assert re.search(r"unanswerable left out, 2 seeds +0\.800", terminal)


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


def test_a_variant_of_the_data_set_fits_only_its_own_table():
    text = results_document([ctrn_record("CTRN", [0.75] * 12)], PAPERS)
    assert line_of(text, "CTRN", "0.7582")[2:4] == ["0.7500 ± 0.0040", "-0.0082"]
    assert line_of(text, "CTRN", "0.7712", "not run")


def test_models_of_one_table_are_compared_with_its_baseline_alone():
    good, fair, poor = ([base + 0.01 * i for i in range(12)] for base in (0.7, 0.6, 0.3))
    records = [ctrn_record("CTRN", good), ctrn_record("QRNN", fair), ctrn_record("LSTM", poor)]
    text = results_document(records, PAPERS)
    # Every question differs the same way: of 2^12 sign patterns two are as extreme; Holm doubles both.
    p = f"{2 * 2 / 2**12:.3g}"
    assert f"Against QRNN, by MAP: LSTM p = {p}, CTRN p = {p}." in text
    assert line_of(text, "CTRN", "0.7582")[2] == "0.7000 ± 0.0040 ▲"
    assert line_of(text, "LSTM", "0.7007")[2] == "0.3000 ± 0.0040 ▼"
    assert line_of(text, "QRNN", "0.7000")[2] == "0.6000 ± 0.0040"
    # Only the tested metric is marked.
    assert line_of(text, "CTRN", "0.7582")[5] == "0.7000 ± 0.0040"


def test_attention_is_compared_with_the_same_encoder_without_it():
    values = {"AP-CNN": 0.7, "QA-CNN": 0.6, "AP-BiLSTM": 0.65, "QA-BiLSTM": 0.5}
    records = [
        ctrn_record(model, [value + 0.01 * i for i in range(12)], paper="attentive_pooling", dataset="wikiqa")
        for model, value in values.items()
    ]
    text = results_document(records, PAPERS)
    # Two of 2^12 sign patterns are as extreme as twelve equal signs; Holm triples all three.
    p = f"{3 * 2 / 2**12:.3g}"
    assert f"Against QA-CNN, by MAP: QA-BiLSTM p = {p}, AP-CNN p = {p}. Against QA-BiLSTM, by MAP: " in text
    assert f"AP-BiLSTM p = {p}." in text


def test_no_mark_without_significance_and_none_without_the_baseline():
    up_and_down = [0.6 + 0.01 * (-1) ** i for i in range(12)]
    records = [ctrn_record("CTRN", up_and_down), ctrn_record("QRNN", [0.6] * 12)]
    text = results_document(records, PAPERS)
    assert "Against QRNN, by MAP: CTRN p = 1." in text
    assert line_of(text, "CTRN", "0.7582")[2] == "0.6100 ± 0.0040"
    text = results_document(records[:1], PAPERS)
    assert "Not tested, for lack of a record of QRNN on the same questions: CTRN." in text


def test_a_baseline_that_the_table_does_not_print_is_the_variant_with_the_same_word_vectors():
    values = [0.7 + 0.001 * i for i in range(12)]
    others = {"model": "CosineQA", "main": False}
    records = [hyperqa(values), hyperqa([0.2] * 12, **others, embeddings="other"), hyperqa(values, **others)]
    assert "Against CosineQA, by MAP: HyperQA p = 1." in results_document(records, PAPERS)


def test_variants_are_tested_on_the_metric_of_their_table():
    def accurate(map_values, first, **changes):
        questions = each_question(map_values) | {"p@1": [first] * 2}
        metrics = {"map": summary(0.5), "p@1": summary(0.5)}
        changes |= {"dataset": "insuranceqa", "metrics": metrics, "per_question": questions}
        return make_record(**AP_CNN, **changes)

    main_record = accurate([0.5] * 12, [1.0] * 12, configuration={"l2": 0.1})
    variant = accurate([0.5] * 12, [1.0] * 4 + [0.0] * 8, configuration={"l2": 0.2}, main=False)
    p = paired_randomisation_test([1.0] * 12, [1.0] * 4 + [0.0] * 8)
    row = line_of(results_document([main_record, variant], PAPERS), "AP-CNN", "l2 = 0.2")
    assert f"{p:.3g} (AP-CNN)" in row


def test_where_the_paper_prints_the_time_of_a_training_ours_is_that_of_all_epochs():
    cosinet = {"paper": "cosinet", "model": "Cosinet list BiRNN"}
    record = make_record(**cosinet, seconds_per_epoch=41.0, configuration={"epochs": 3})
    text = results_document([record], PAPERS).partition("### Table 4: wikiqa")[2]
    (table,) = re.findall(r"\n\n(\| model .*?)\n\n", text, re.DOTALL)[:1]
    header, *_ = table.splitlines()
    row = line_of(table, "Cosinet list BiRNN", "75.62 (std 0.8)")
    seconds = dict(zip([cell.strip() for cell in header.strip("|").split("|")], row, strict=True))
    assert (seconds["training s, paper"], seconds["training s, ours"]) == ("8.9", "123")


def test_a_variant_names_the_options_that_it_has_and_that_it_lacks():
    main = make_record(configuration={"margin": 1.0, "raw_embeddings": True})
    text = results_document([main, make_record(configuration={"margin": 0.5}, main=False)], PAPERS)
    assert line_of(text, "HyperQA", "margin = 0.5, without raw_embeddings")


def test_a_variant_without_a_row_is_compared_with_the_named_baseline_or_with_nothing():
    alone = {"main": False, "configuration": {"model": "features"}}
    features = ctrn_record("Overlap features alone", [0.5] * 12, **alone)
    lstm, qrnn = (ctrn_record(m, [0.7] * 12, configuration={"model": m.lower()}) for m in ("LSTM", "QRNN"))
    text = results_document([features, lstm, qrnn], PAPERS)
    row = line_of(text, "Overlap features alone")
    assert row[1] == "from QRNN: model = features"
    assert row[4] == f"{2 / 2**12:.3g} (QRNN)"
    row = line_of(results_document([features, lstm], PAPERS), "Overlap features alone")
    assert row[1] == row[4] == ""


def test_a_rule_is_never_compared_with():
    qed = {"paper": "cosinet", "dataset": "qed"}
    rule = make_record(**qed, model="CA", **A_RULE, embeddings="", configuration={"tie_seeds": 50})
    model = make_record(**qed, model="Cosinet", main=False, configuration={"epochs": 3, "l2": 0.0})
    text = results_document([rule, model], PAPERS)
    assert line_of(text, "Cosinet", "")[1:3] == ["", "0.708 ± 0.004"]
    assert "tie_seeds" not in text


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
    assert "Against CosineQA, by MAP: HyperQA p = 1." in text
    assert line_of(text, "CosineQA", "")[4] == ""


def test_rows_without_a_record_say_why():
    text = results_document([], PAPERS)
    assert line_of(text, "HyperQA", "0.683")[2] == "no data"
    assert line_of(text, "PV", "0.511", "quoted", "", "0.516", "quoted")
    assert line_of(text, "CTRN", "0.7712", "not run")
    reasons = {"3: yahooqa": "No data: the released splits of YahooQA", "6: nq-la": "No data: the candidates"}
    for title, reason in reasons.items():
        below = text[text.rindex(f"Table {title}") :]
        assert reason in below[: below.find("\n#")], title


def test_records_on_other_data_stand_at_the_end_by_split_and_those_of_the_sample_nowhere():
    v2 = {"dataset": "insuranceqa-v2", "main": False}
    records = [make_record(**v2, split=split, embeddings=f"vectors-{split}") for split in ("test", "test2")]
    text = results_document(records, PAPERS).partition("prints no table")[2]
    assert "insuranceqa-v2, filtered\n" in text and "insuranceqa-v2, filtered, test2\n" in text
    assert "vectors-test2" in text
    assert results_document([make_record(dataset="sample")], PAPERS) == results_document([], PAPERS)


def test_the_table_of_parameters_counts_the_models_of_the_main_row_s_data():
    sizes = {"LSTM": 330, "QRNN": 552, "CTRN": 553}
    records = [ctrn_record("CTRN", [0.5] * 12, dataset="semevalcqa", protocol="answerable", parameters=263)]
    records += [ctrn_record("QRNN", [0.5] * 12, variant="TRAIN-ALL", parameters=200)]
    records += [ctrn_record(model, [0.5] * 12, parameters=size) for model, size in sizes.items()]
    text = results_document(records, PAPERS)
    table = text[text.index("## CTRN (") :].partition("### Table 4")[0]
    assert {model: int(line_of(table, model)[2]) for model in sizes} == sizes
    assert "Ours are those of trecqa, raw, TRAIN." in table


def test_the_tables_of_one_paper_have_no_variants_and_no_runs():
    records = [make_record(), make_record(embeddings="other", main=False)]
    text = paper_tables("hyperqa", records)
    assert line_of(text, "HyperQA", "0.712")[2] == "0.708 ± 0.004"
    assert text.count("### Table") == 5
    assert "#runs" not in text and "other" not in text


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
    assert "| ToyNet, wikiqa | 0.701 / 0.708 ± 0.004 |" in texts[root / "README.md"]


def test_the_main_rows_stand_in_the_readme():
    records = [make_record(), make_record(model="CosineQA"), make_record(embeddings="b", main=False)]
    text = readme_block(records, PAPERS)
    assert "| HyperQA, wikiqa | 0.712 / 0.708 ± 0.004 | 0.727 / 0.721 ± 0.004 |" in text
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == 3
    assert "counts as 0" not in text


def test_the_command_writes_and_checks_all_documents(root):
    path = root / "reproduce" / "results" / "a.json"
    save_record(make_record(), path)
    page = root / "docs" / "eq9.md"
    page.parent.mkdir()
    page.write_text(f"# Eq. 9\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    with pytest.raises(UserError, match=r"reproduce/RESULTS.md and README.md and docs/eq9.md out of date"):
        main(["--root", str(root), "--check"])
    assert not (root / "reproduce" / "RESULTS.md").exists()
    main(["--root", str(root)])
    readme = (root / "README.md").read_text()
    assert readme.startswith("# Title\n\n") and readme.endswith(f"{END}\n\nmore\n")
    assert page.read_text() == f"# Eq. 9\n\n{BEGIN}\nThe study has not been run yet.\n{END}\n\nmore\n"
    assert main(["--root", str(root), "--check"]) == 0
    save_record(make_record(notes="A remark."), path)
    with pytest.raises(UserError, match=r"^reproduce/RESULTS.md out of date"):
        main(["--root", str(root), "--check"])
    # The records of a study lie in a folder of their own, which the other documents do not read.
    (root / "reproduce" / "results" / "eq9").mkdir()
    (root / "reproduce" / "results" / "eq9" / "a.json").write_text("{}")
    with pytest.raises(UserError, match=r"a\.json is no record of its study"):
        main(["--root", str(root), "--check"])


def test_a_readme_without_markers_is_an_error_with_exit_code_2(root):
    (root / "README.md").write_text("# Title\n")
    command = [sys.executable, "-m", "answer_ranking.evaluation.report", "--root", str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.match(r"error: .*README.md lacks the markers", done.stderr)
    assert not (root / "reproduce" / "RESULTS.md").exists()


def test_the_rows_of_the_committed_tables_can_be_told_apart():
    text = (ROOT / "reproduce" / "RESULTS.md").read_text(encoding="utf-8")
    tables = [table for table in re.split(r"\n\n", text) if table.startswith("| model | what differs")]
    assert tables
    for table in tables:
        titles, _, *rows = (line.strip("| ").split(" | ") for line in table.splitlines())
        named = [titles.index(title) for title in ("model", "what differs", "word vectors", "protocol")]
        keys = [tuple(row[column] for column in named) for row in rows]
        assert len(set(keys)) == len(keys), keys
