"""The report on made-up records and on the papers' real table."""

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from data_prep.errors import UserError
from evaluation import paired_randomisation_test
from evaluation.paper_results import read_paper_results
from evaluation.records import ResultRecord, save_record
from evaluation.report import BEGIN, END, main, readme_table, results_document
from evaluation.tables import paper_ours_table

PAPER_RESULTS = Path(__file__).parents[2] / "reproduce" / "paper_results.csv"


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


@pytest.fixture
def paper_results():
    return read_paper_results(PAPER_RESULTS)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "reproduce" / "results").mkdir(parents=True)
    shutil.copy(PAPER_RESULTS, tmp_path / "reproduce")
    (tmp_path / "README.md").write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    return tmp_path


def line_of(text, *beginning):
    start = "| " + " | ".join(beginning) + " |"
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_printed_value_stands_in_its_paper_s_table_in_order(paper_results):
    text = results_document([], paper_results)
    tables = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    groups = list(paper_results.groupby(["paper", "table", "dataset"], sort=False))
    assert len(tables) == len(groups)
    for shown, ((_, table, dataset), rows) in zip(tables, groups, strict=True):
        assert shown.splitlines()[0] == f"Table {table}" + (f": {dataset}" if dataset != "-" else "")
        body = [line.split(" | ") for line in shown.splitlines() if line.startswith("| ")][2:]
        assert [cells[0].removeprefix("| ") for cells in body] == list(rows["model"].unique())
        cells = {cells[0].removeprefix("| "): " | ".join(cells[1:]) for cells in body}
        for row in rows.itertuples():
            assert re.search(rf"(^|[ (]){re.escape(row.value)}([ )|]|$)", cells[row.model]), row


def test_a_main_record_stands_in_its_row_with_interval_and_difference(paper_results):
    text = results_document([make_record()], paper_results)
    cells = line_of(text, "HyperQA", "0.712")
    assert cells[1:4] == ["0.712", "0.708 ± 0.004", "-0.004"]
    assert cells[4:7] == ["0.727", "0.721 ± 0.004", "-0.006"]
    assert cells[7:10] == ["2", "glove-6b-50d", "filtered"]
    assert cells[10:] == ["90K", "90,302", "2", "0.2", "[1](#runs)"]
    assert "1. `python reproduce/hyperqa_wikiqa.py --record` (seeds 0, 1)." in text
    assert line_of(text, "AP-CNN", "0.688", "quoted")
    assert line_of(text, "HyperQA", "0.784", "not run")


def test_percent_is_compared_with_percent(paper_results):
    record = make_record(
        paper="cosinet", model="RR", metrics={"map": summary(0.6421), "p@1": summary(0.4609)}, parameters=0
    )
    cells = line_of(results_document([record], paper_results), "RR", "46.09")
    assert cells[1:7] == ["46.09", "46.09 ± 0.40", "+0.00", "64.21", "64.21 ± 0.40", "+0.00"]


def test_an_accuracy_is_compared_with_the_precision_at_1(paper_results):
    record = make_record(
        paper="attentive_pooling",
        dataset="insuranceqa",
        protocol="pool-500",
        variant="POOL-100",
        model="AP-CNN",
        metrics={"map": summary(0.5), "p@1": summary(0.6)},
        metrics_dev={"p@1": summary(0.65)},
    )
    text = results_document([record], paper_results)
    # Printed: dev 68.8, test1 69.8, test2 66.3; V2 has no second test split.
    assert line_of(text, "AP-CNN", "68.8")[1:10] == [
        *("68.8", "65.0 ± 0.4", "-3.8"),
        *("69.8", "60.0 ± 0.4", "-9.8"),
        *("66.3", "", ""),
    ]
    footnote = text.index("ours those of V2")
    assert text.index("| AP-CNN | 68.8") < footnote < text.index("### Table 4 (as quoted")
    assert "ours those of V2" not in results_document([], paper_results)
    assert line_of(readme_table([record], paper_results), "AP-CNN (insuranceqa)")[1] == "69.8 / 60.0 ± 0.4"
    terminal = paper_ours_table([record], paper_results)
    assert re.search(r"AP-CNN \(attentive_pooling, Table 3\) +– +0\.6980", terminal)
    assert re.search(r"difference +-0\.0980", terminal)


def test_trecqa_raw_is_compared_with_unanswerable_questions_counted_as_zero(paper_results):
    record = make_record(
        dataset="trecqa",
        protocol="raw",
        variant="TRAIN-ALL",
        metrics={"map": summary(0.80), "mrr": summary(0.85)},
        metrics_count_all={"map": summary(0.75), "mrr": summary(0.80)},
    )
    text = results_document([record], paper_results)
    assert line_of(text, "HyperQA", "0.770")[1:4] == ["0.770", "0.750 ± 0.004", "-0.020"]
    assert line_of(text, "↳ answerable only")[1:6] == ["", "0.800 ± 0.004", "", "", "0.850 ± 0.004"]
    terminal = paper_ours_table([record], paper_results)
    assert re.search(r"unanswerable = 0, 2 seeds +0\.750", terminal)
    assert re.search(r"difference +-0\.020 +-0\.025", terminal)
    assert re.search(r"unanswerable left out, 2 seeds +0\.800", terminal)


def test_a_variant_of_the_data_set_fits_only_its_own_table(paper_results):
    both = {"map": summary(0.75), "mrr": summary(0.80)}
    record = make_record(
        paper="ctrn", model="CTRN", dataset="trecqa", protocol="raw", variant="TRAIN", metrics=both,
        metrics_count_all=both,
    )  # fmt: skip
    text = results_document([record], paper_results)
    assert line_of(text, "CTRN", "0.7582")[2:4] == ["0.7500 ± 0.0040", "-0.0082"]
    assert line_of(text, "CTRN", "0.7712", "not run")


def test_variants_stand_below_with_what_differs_and_a_corrected_p_value(paper_results):
    questions = [f"q{i}" for i in range(12)]
    good, bad = [0.9] * 12, [0.9] * 4 + [0.1] * 8

    def with_questions(values, **changes):
        return make_record(
            per_question={"question_ids": questions, "map": [values, values]},
            **changes,
        )

    main_record = with_questions(good, configuration={"eq9": "none", "lr": 0.1})
    variant = with_questions(bad, configuration={"eq9": "points", "lr": 0.1}, main=False)
    other = with_questions(good, model="CosineQA", configuration={"eq9": "none", "lr": 0.1})
    text = results_document([main_record, variant, other], paper_results)
    p = paired_randomisation_test(good, bad)
    assert p == pytest.approx(2 / 2**8)
    assert line_of(text, "HyperQA", "eq9 = points")[4] == f"{2 * p:.3g} (HyperQA)"
    assert line_of(text, "CosineQA", "")[4] == "1 (HyperQA)"
    assert text.count("eq9 = points") == 1


def test_records_of_the_sample_appear_nowhere(paper_results):
    record = make_record(dataset="sample", embeddings="only-in-the-sample")
    assert results_document([record], paper_results) == results_document([], paper_results)
    assert readme_table([record], paper_results) == "No result is recorded yet."


def test_a_record_that_no_paper_prints_is_listed_at_the_end(paper_results):
    text = results_document([make_record(dataset="insuranceqa-v2", model="HyperQA")], paper_results)
    assert "## Records without a printed counterpart" in text
    assert line_of(text, "HyperQA", "", "0.708 ± 0.004")


def test_two_main_records_of_a_row_are_refused(paper_results):
    with pytest.raises(UserError, match=r"two records claim the row of HyperQA on wikiqa filtered"):
        results_document([make_record(), make_record(embeddings="other")], paper_results)


def test_the_command_writes_checks_and_reports_stale_documents(root, capsys):
    save_record(make_record(), root / "reproduce" / "results" / "a.json")
    with pytest.raises(UserError, match=r"reproduce/RESULTS.md and README.md out of date"):
        main(["--root", str(root), "--check"])
    assert not (root / "reproduce" / "RESULTS.md").exists()
    main(["--root", str(root)])
    readme = (root / "README.md").read_text()
    assert readme.startswith("# Title\n\n") and readme.endswith(f"{END}\n\nmore\n")
    assert "| HyperQA (wikiqa) | 0.712 / 0.708 ± 0.004 | 0.727 / 0.721 ± 0.004 | 2 |" in readme
    assert main(["--root", str(root), "--check"]) == 0
    changed = dataclasses.replace(make_record(), notes="A remark.")
    save_record(changed, root / "reproduce" / "results" / "a.json")
    with pytest.raises(UserError, match=r"^reproduce/RESULTS.md out of date"):
        main(["--root", str(root), "--check"])
    capsys.readouterr()


def test_a_readme_without_markers_is_an_error_with_exit_code_2(root):
    (root / "README.md").write_text("# Title\n")
    command = [sys.executable, "-m", "evaluation.report", "--root", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 2
    assert re.match(r"error: .*README.md lacks the markers", done.stderr)
    assert not (root / "reproduce" / "RESULTS.md").exists()


def test_models_of_one_table_are_compared_with_each_other(paper_results):
    questions = [f"q{i}" for i in range(12)]
    good, fair, poor = ([[base + 0.01 * i for i in range(12)]] * 2 for base in (0.7, 0.6, 0.3))
    records = [
        make_record(
            paper="ctrn",
            dataset="trecqa",
            protocol="raw",
            variant="TRAIN",
            model=model,
            metrics={"map": summary(per_seed[0][0]), "mrr": summary(0.7)},
            metrics_count_all={"map": summary(per_seed[0][0]), "mrr": summary(0.7)},
            per_question={"question_ids": questions, "map": per_seed},
        )
        for model, per_seed in (("CTRN", fair), ("QRNN", good), ("LSTM", poor))
    ]
    text = results_document(records, paper_results)
    # Every question differs the same way: of 2^12 sign patterns two are as extreme; Holm triples the first.
    p = f"{3 * 2 / 2**12:.3g}"
    assert f"by MAP: QRNN over CTRN: p = {p}; QRNN over LSTM: p = {p}; CTRN over LSTM: p = {p}." in text
