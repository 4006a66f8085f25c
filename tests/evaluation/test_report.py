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
from evaluation.recorded_experiments import read_commands, staleness
from evaluation.records import ResultRecord, save_record
from evaluation.report import BEGIN, END, main, readme_table
from evaluation.results_document import PAPERS, results_document
from evaluation.source_fingerprints import source_fingerprints
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


# Nothing is trained.
A_RULE = {"parameters": 0, "seconds_per_epoch": None}


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
    papers = list(dict.fromkeys(paper_results["paper"]))
    groups = list(paper_results.groupby(["paper", "table", "dataset"], sort=False))
    groups.sort(key=lambda group: papers.index(group[0][0]))
    assert re.findall("^## (.*)$", text, flags=re.MULTILINE) == list(PAPERS.values())
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
        paper="cosinet", model="RR", metrics={"map": summary(0.6421), "p@1": summary(0.4609)}, **A_RULE
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
        *("68.8", "65.0 ± 0.4", ""),
        *("69.8", "60.0 ± 0.4", ""),
        *("66.3", "", ""),
    ]
    footnote = text.index("ours those of V2")
    assert text.index("| AP-CNN | 68.8") < footnote < text.index("### Table 4 (as quoted")
    assert "ours those of V2" not in results_document([], paper_results)
    assert (
        line_of(readme_table([record], paper_results), "AP-CNN (insuranceqa)")[1] == "69.8 (V1) / 60.0 ± 0.4"
    )
    terminal = paper_ours_table([record], paper_results)
    assert re.search(r"AP-CNN \(attentive_pooling, Table 3, on V1\) +– +0\.6980", terminal)
    assert "difference" not in terminal


def test_the_edition_that_the_paper_has_is_compared_on_both_test_splits(paper_results):
    first, second = (
        make_record(
            paper="attentive_pooling",
            dataset="insuranceqa-v1",
            protocol="pool-500",
            split=split,
            model="AP-CNN",
            metrics={"p@1": summary(value)},
            metrics_dev={"p@1": summary(0.65)},
        )
        for split, value in (("test", 0.6), ("test2", 0.64))
    )
    text = results_document([first, second], paper_results)
    assert line_of(text, "AP-CNN", "68.8")[1:10] == [
        *("68.8", "65.0 ± 0.4", "-3.8"),
        *("69.8", "60.0 ± 0.4", "-9.8"),
        *("66.3", "64.0 ± 0.4", "-2.3"),
    ]
    assert "ours those of V2" not in text
    assert "Records without a printed counterpart" not in text
    assert (
        line_of(readme_table([first, second], paper_results), "AP-CNN (insuranceqa)")[1]
        == "69.8 / 60.0 ± 0.4"
    )
    terminal = paper_ours_table([first, second], paper_results)
    for printed, difference in (("0.6980", "-0.0980"), ("0.6630", "-0.0230")):
        assert re.search(rf"AP-CNN \(attentive_pooling, Table 3\) +{printed}", terminal)
        assert re.search(rf"difference +{difference}", terminal)


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
    assert line_of(text, "HyperQA", "eq9 = points")[4] == f"{p:.3g} (HyperQA)"
    # The baseline is compared with the main record once, above.
    assert "Against CosineQA, by MAP: HyperQA p = 1." in text
    assert line_of(text, "CosineQA", "")[4] == ""
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
    assert "| HyperQA (wikiqa) † | 0.712 / 0.708 ± 0.004 | 0.727 / 0.721 ± 0.004 | 2 |" in readme
    assert main(["--root", str(root), "--check"]) == 0
    changed = dataclasses.replace(make_record(), notes="A remark.")
    save_record(changed, root / "reproduce" / "results" / "a.json")
    with pytest.raises(UserError, match=r"^reproduce/RESULTS.md out of date"):
        main(["--root", str(root), "--check"])
    capsys.readouterr()


def test_the_page_of_a_study_is_checked_too(root):
    page = root / "docs" / "eq9.md"
    page.parent.mkdir()
    page.write_text(f"# Eq. 9\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    main(["--root", str(root)])
    assert page.read_text() == f"# Eq. 9\n\n{BEGIN}\nThe study has not been run yet.\n{END}\n\nmore\n"
    assert main(["--root", str(root), "--check"]) == 0
    # The records of a study lie in a folder of their own, which the other documents do not read.
    (root / "reproduce" / "results" / "eq9").mkdir()
    (root / "reproduce" / "results" / "eq9" / "a.json").write_text("{}")
    with pytest.raises(UserError, match=r"a\.json is no record of its study"):
        main(["--root", str(root), "--check"])
    (root / "reproduce" / "results" / "eq9" / "a.json").unlink()
    page.write_text(page.read_text().replace("not been run", "been run"))
    with pytest.raises(UserError, match=r"^docs/eq9.md out of date"):
        main(["--root", str(root), "--check"])


def test_a_readme_without_markers_is_an_error_with_exit_code_2(root):
    (root / "README.md").write_text("# Title\n")
    command = [sys.executable, "-m", "evaluation.report", "--root", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 2
    assert re.match(r"error: .*README.md lacks the markers", done.stderr)
    assert not (root / "reproduce" / "RESULTS.md").exists()


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
        "per_question": {"question_ids": [f"q{i}" for i in range(12)], "map": [per_question] * 2},
    }
    return make_record(**values | changes)


def test_models_of_one_table_are_compared_with_its_baseline_alone(paper_results):
    good, fair, poor = ([base + 0.01 * i for i in range(12)] for base in (0.7, 0.6, 0.3))
    records = [ctrn_record("CTRN", good), ctrn_record("QRNN", fair), ctrn_record("LSTM", poor)]
    text = results_document(records, paper_results)
    # Every question differs the same way: of 2^12 sign patterns two are as extreme; Holm doubles both.
    p = f"{2 * 2 / 2**12:.3g}"
    assert f"Against QRNN, by MAP: LSTM p = {p}, CTRN p = {p}." in text
    assert line_of(text, "CTRN", "0.7582")[2] == "0.7000 ± 0.0040 ▲"
    assert line_of(text, "LSTM", "0.7007")[2] == "0.3000 ± 0.0040 ▼"
    assert line_of(text, "QRNN", "0.7000")[2] == "0.6000 ± 0.0040"
    # Only the tested metric is marked.
    assert line_of(text, "CTRN", "0.7582")[5] == "0.7000 ± 0.0040"


def test_attention_is_compared_with_the_same_encoder_without_it(paper_results):
    def record(model, value):
        values = [value + 0.01 * i for i in range(12)]
        questions = {"question_ids": [f"q{i}" for i in range(12)], "map": [values] * 2}
        return make_record(paper="attentive_pooling", model=model, per_question=questions)

    records = [
        record("AP-CNN", 0.7),
        record("QA-CNN", 0.6),
        record("AP-BiLSTM", 0.65),
        record("QA-BiLSTM", 0.5),
    ]
    text = results_document(records, paper_results)
    # Two of 2^12 sign patterns are as extreme as twelve equal signs; Holm triples all three.
    p = f"{3 * 2 / 2**12:.3g}"
    assert f"Against QA-CNN, by MAP: QA-BiLSTM p = {p}, AP-CNN p = {p}. Against QA-BiLSTM, by MAP: " in text
    assert f"AP-BiLSTM p = {p}." in text
    text = results_document(records[1:3], paper_results)
    assert (
        "Not compared with QA-BiLSTM, of which there is no record on the same questions: AP-BiLSTM." in text
    )


def test_variants_that_differ_alike_are_compared_with_the_baseline_s(paper_results):
    def records(features, **values):
        changes = {"configuration": {"features": features}, "main": features}
        return [ctrn_record(m, [v + 0.01 * i for i in range(12)], **changes) for m, v in values.items()]

    text = results_document(
        [*records(True, QRNN=0.7, CTRN=0.7), *records(False, QRNN=0.5, CTRN=0.4, LSTM=0.45)], paper_results
    )
    # The LSTM has no main record from which it could differ: one test, not corrected.
    assert f"With features = false, by MAP: CTRN against QRNN p = {2 / 2**12:.3g}." in text
    text = results_document([*records(True, QRNN=0.7, CTRN=0.7), *records(False, CTRN=0.4)], paper_results)
    assert "With features = false" not in text


def test_no_mark_without_significance_and_none_without_the_baseline(paper_results):
    up_and_down = [0.6 + 0.01 * (-1) ** i for i in range(12)]
    records = [ctrn_record("CTRN", up_and_down), ctrn_record("QRNN", [0.6] * 12)]
    text = results_document(records, paper_results)
    assert "Against QRNN, by MAP: CTRN p = 1." in text
    assert line_of(text, "CTRN", "0.7582")[2] == "0.6100 ± 0.0040"
    text = results_document(records[:1], paper_results)
    assert "Not compared with QRNN, of which there is no record on the same questions: CTRN." in text


def test_a_baseline_that_the_table_does_not_print_is_the_variant_that_differs_least(paper_results):
    def hyperqa(model, value, configuration, **changes):
        values = [value + 0.001 * i for i in range(12)]
        questions = {"question_ids": [f"q{i}" for i in range(12)], "map": [values] * 2}
        return make_record(model=model, per_question=questions, configuration=configuration, **changes)

    records = [
        hyperqa("HyperQA", 0.7, {"model": "hyperqa", "d": 400, "l2": 0.2}),
        hyperqa("CosineQA", 0.9, {"model": "cosineqa", "d": 100, "l2": 0.1}, main=False),
        hyperqa("CosineQA", 0.7, {"model": "cosineqa", "d": 400, "l2": [0.1, 0.2, 0.3, 0.4]}, main=False),
        hyperqa("CosineQA", 0.9, {"model": "cosineqa", "d": 50, "l2": 0.1}, main=False),
        hyperqa("CosineQA", 0.2, {"model": "cosineqa", "d": 400, "l2": 0.2}, main=False, embeddings="other"),
    ]
    # The same values as the one CosineQA that differs, but for the model, in one option alone.
    assert "Against CosineQA, by MAP: HyperQA p = 1." in results_document(records, paper_results)


def check_reasons(text, reasons):
    for title, reason in reasons.items():
        below = text[text.rindex(title) :].removeprefix("### ")
        assert reason in below[: below.find("\n#")], title


def test_rows_that_were_not_run_say_why(paper_results):
    commands = ["python reproduce/ctrn_trecqa.py --record --main --variant TRAIN-ALL"]
    text = results_document([], paper_results, {}, commands)
    assert line_of(text, "HyperQA", "0.683")[2] == "no data"
    assert line_of(text, "PV", "0.511", "quoted", "", "0.516", "quoted")
    reasons = {
        "### Table 3: yahooqa": "No data: the released splits of YahooQA",
        "### Table 6: nq-la": "No data: the candidates of NQ-LA",
        "### Table 6: trecqa-raw/TRAIN\n": "Not run (LSTM, QRNN, CTRN): `reproduce/experiments.txt` has no",
        "### Table 6: trecqa-raw/TRAIN-ALL": "Not run yet (CTRN): `reproduce/experiments.txt` lists it,",
    }
    check_reasons(text, reasons)


def test_the_reason_is_that_of_each_row_with_its_command_and_the_time_of_an_epoch(paper_results):
    listwise = "python reproduce/cosinet_squad_sent.py --record --main --encoder ca --objective listwise"
    cosinet = make_record(
        paper="cosinet",
        dataset="squad-sent",
        protocol="answerable",
        variant="v1.1",
        model="Cosinet",
        seconds_per_epoch=588.2,
        configuration={"epochs": 3},
        versions={"tensorflow-cpu": "2.21.0"},
    )
    text = results_document([cosinet], paper_results, {}, [f"{listwise} --across birnn"])
    reasons = text[text.index("### Table 5: squad-sent") :].partition("### Table 6")[0]
    assert "Not run yet (CA list BiRNN): `reproduce/experiments.txt` lists it," in reasons
    # Whole seconds also in the table; with two digits it would be 5.9e+02.
    assert line_of(reasons, "Cosinet", "86.18 (std 0.2)")[-2] == "1765"
    others = reasons.partition("Not run (")[2]
    assert others.startswith("RR, WO, WO+RR, Cosinet list, Cosinet list BiRNN, CA, CA list): ")
    assert (
        "`python reproduce/lexical_baselines.py --dataset squad-sent --record` runs RR, WO, WO+RR." in others
    )
    assert "CA with `--encoder ca`, CA list with `--encoder ca --objective listwise`." in others
    assert "An epoch of Cosinet, the slowest model recorded on this data set, took 588 s on a CPU" in others
    assert "a seed takes up to 3 epochs" in others
    # On WikiQA nothing of the paper is recorded: the time is that of the other data, and says so.
    reasons = text[text.index("### Table 4: wikiqa") :].partition("### Table 5")[0]
    assert "No model of this paper is recorded on this data set; on squad-sent an epoch of" in reasons


def test_a_rule_s_command_and_a_script_s_default_training_set_count_as_planned(paper_results):
    commands = [
        "python reproduce/lexical_baselines.py --dataset wikiqa --record",
        "python reproduce/ctrn_trecqa.py --record --main",
    ]
    text = results_document([], paper_results, {}, commands)
    reasons = {
        "### Table 4: wikiqa": "Not run yet (RR, WO, WO+RR): `reproduce/experiments.txt` lists them,",
        "### Table 6: trecqa-raw/TRAIN\n": "Not run yet (CTRN): `reproduce/experiments.txt` lists it, and",
        "### Table 6: trecqa-raw/TRAIN-ALL": "Not run (LSTM, QRNN, CTRN): `reproduce/experiments.txt` has no",
    }
    check_reasons(text, reasons)


def test_splits_beside_the_test_split_are_told_apart(paper_results):
    records = [
        make_record(dataset="insuranceqa-tokens", split=split, main=False) for split in ("test", "test2")
    ]
    text = results_document(records, paper_results)
    assert "insuranceqa-tokens, filtered\n" in text
    assert "insuranceqa-tokens, filtered, test2\n" in text


def test_variants_are_tested_on_the_metric_of_their_table(paper_results):
    def accurate(map_values, first, **changes):
        questions = {"question_ids": list("abcdefghijkl"), "map": [map_values] * 2, "p@1": [first] * 2}
        return make_record(
            paper="attentive_pooling",
            dataset="insuranceqa",
            protocol="all",
            model="AP-CNN",
            metrics={"map": summary(0.5), "p@1": summary(0.5)},
            per_question=questions,
            **changes,
        )

    main_record = accurate([0.5] * 12, [1.0] * 12, configuration={"l2": 0.1})
    variant = accurate([0.5] * 12, [1.0] * 4 + [0.0] * 8, configuration={"l2": 0.2}, main=False)
    p = paired_randomisation_test([1.0] * 12, [1.0] * 4 + [0.0] * 8)
    text = results_document([main_record, variant], paper_results)
    assert f"{p:.3g} (AP-CNN)" in line_of(text, "AP-CNN", "l2 = 0.2")


def test_a_stale_record_is_marked_with_what_changed(root, paper_results, capsys):
    source = root / "training.py"
    source.write_text("def step(rate: float) -> float:\n    return rate\n")
    code = source_fingerprints(["training.py"], root)
    fresh = make_record(code=code)
    save_record(fresh, root / "reproduce" / "results" / "a.json")
    assert staleness([fresh], root) == {}
    main(["--root", str(root)])
    document = (root / "reproduce" / "RESULTS.md").read_text()
    assert line_of(document, "HyperQA", "0.712")[-1] == "[1](#runs)"

    source.write_text('def step(rate):\n    """Step."""\n    return rate  # as it is\n')
    assert main(["--root", str(root), "--check"]) == 0

    source.write_text("def step(rate):\n    return 2 * rate\n")
    with pytest.raises(UserError, match="out of date"):
        main(["--root", str(root), "--check"])
    main(["--root", str(root)])
    document = (root / "reproduce" / "RESULTS.md").read_text()
    assert line_of(document, "HyperQA", "0.712")[-1] == "[1](#runs) **stale**"
    assert "(seeds 0, 1). **Stale**, changed since: `training.py`." in document
    readme = (root / "README.md").read_text()
    assert "| HyperQA (wikiqa) † |" in readme and "† made by code that has changed" in readme
    assert staleness([make_record()], root).popitem()[1].startswith("made by earlier code")
    capsys.readouterr()


def test_where_the_paper_prints_the_time_of_a_training_ours_is_that_of_all_epochs(paper_results):
    record = make_record(
        paper="cosinet", model="Cosinet list BiRNN", seconds_per_epoch=41.0, configuration={"epochs": 3}
    )
    text = results_document([record], paper_results).partition("### Table 4: wikiqa")[2]
    (table,) = re.findall(r"\n\n(\| model .*?)\n\n", text, re.DOTALL)[:1]
    header, *_ = table.splitlines()
    row = line_of(table, "Cosinet list BiRNN", "75.62 (std 0.8)")
    seconds = dict(zip([cell.strip() for cell in header.strip("|").split("|")], row, strict=True))
    assert (seconds["training s, paper"], seconds["training s, ours"]) == ("8.9", "123")


def test_the_list_of_experiments_is_checked(tmp_path):
    listed = tmp_path / "experiments.txt"
    listed.write_text("# One\n\npython reproduce/demo.py --record\n")
    assert read_commands(listed) == ["python reproduce/demo.py --record"]
    listed.write_text("python reproduce/demo.py\nrm -rf everything\n")
    with pytest.raises(UserError, match=r"line 2: expected 'python SCRIPT.py OPTIONS', found 'rm"):
        read_commands(listed)
    with pytest.raises(UserError, match="cannot read"):
        read_commands(tmp_path / "absent.txt")


def test_a_variant_names_the_options_that_it_has_and_that_it_lacks(paper_results):
    main = make_record(configuration={"margin": 1.0, "raw_embeddings": True}, main=True)
    variant = make_record(configuration={"margin": 0.5}, main=False)
    text = results_document([main, variant], paper_results)
    assert line_of(text, "HyperQA", "margin = 0.5, without raw_embeddings")


def test_models_whose_paper_prints_nothing_on_a_data_set_stand_below_the_tables_of_others(paper_results):
    guest = make_record(
        paper="attentive_pooling", dataset="semevalcqa", protocol="answerable", model="AP-CNN", main=False
    )
    own = make_record(dataset="semevalcqa", protocol="answerable", model="HyperQA", embeddings="task")
    document = results_document([guest, own], paper_results)
    table, _, rest = document.partition("### Table 4: semevalcqa")[2].partition("\n### ")
    row = next(line for line in table.partition("print nothing on this")[2].splitlines() if "AP-CNN" in line)
    assert "0.708" in row
    # The configurations of two papers have little in common; a list of what differs would say nothing.
    assert row.split("|")[2].strip() == ""
    assert "## Records without a printed counterpart" not in rest
    ctrn = rest.partition("### Table 5: semevalcqa")[2].partition("\n### ")[0]
    assert "| AP-CNN |" in ctrn.partition("print nothing on this")[2]


LEVELS = {"good": 0.8, "fair": 0.6, "poor": 0.4, "bad": 0.2}


def clean_record(model, level, **changes):
    values = [LEVELS[level] + 0.001 * i for i in range(12)]
    return ctrn_record(model, values, protocol="clean", metrics_count_all={}, **changes)


def guests_below(text, title):
    table = text[text.index(title) :].partition("print nothing on this data set")[2].partition("\n#")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]
    return [(row[0], row[1].strip(), row[4].strip()) for row in rows]


def test_guests_are_told_apart_by_what_differs_from_their_own_paper_s_records(paper_results):
    def options(model, overlap=True):
        return {"configuration": {"model": model, "overlap_features": overlap}}

    records = [
        clean_record("CTRN", "poor", main=False, **options("ctrn", False)),
        clean_record("CTRN", "fair", **options("ctrn")),
        clean_record("QRNN", "bad", main=False, **options("qrnn", False)),
        clean_record("QRNN", "good", **options("qrnn")),
        clean_record("QRNN", "poor", variant="TRAIN-ALL", **options("qrnn")),
        clean_record("Overlap features alone", "poor", main=False, **options("features")),
    ]
    # Of 2^12 sign patterns two are as extreme; Holm multiplies by the four tests.
    p = f"{4 * 2 / 2**12:.3g}"
    expected = [
        ("CTRN", "from QRNN: model = ctrn", f"{p} (QRNN)"),
        ("QRNN", "", ""),
        ("CTRN", "overlap_features = false", f"{p} (CTRN)"),
        ("QRNN", "overlap_features = false", f"{p} (QRNN)"),
        ("Overlap features alone", "from QRNN: model = features", f"{p} (QRNN)"),
        ("QRNN", "", ""),
    ]
    text = results_document(records, paper_results)
    # The same below the tables of both papers that print this data set.
    assert guests_below(text, "### Table 6: trecqa-clean") == expected
    assert guests_below(text, "### Table 4 (as quoted by hyperqa): trecqa-clean") == expected


def test_a_guest_without_records_of_its_own_paper_is_tested_against_the_table_s_baseline(paper_results):
    values = {"dataset": "semevalcqa", "protocol": "answerable", "variant": "original"}
    guest = ctrn_record("AP-CNN", [0.5] * 12, paper="attentive_pooling", main=False, **values)
    ctrn, qrnn = (ctrn_record(model, [0.7] * 12, **values) for model in ("CTRN", "QRNN"))
    p = f"{2 / 2**12:.3g}"
    assert guests_below(results_document([guest, ctrn, qrnn], paper_results), "### Table 5: semevalcqa") == [
        ("AP-CNN", "", f"{p} (QRNN)")
    ]
    # A model that happens to stand in the table is none.
    assert guests_below(results_document([guest, ctrn], paper_results), "### Table 5: semevalcqa") == [
        ("AP-CNN", "", "")
    ]


def test_a_variant_without_a_row_is_compared_with_the_named_baseline_or_with_nothing(paper_results):
    features = ctrn_record(
        "Overlap features alone", [0.5] * 12, main=False, configuration={"model": "features"}
    )
    lstm, qrnn = (
        ctrn_record(model, [0.7] * 12, configuration={"model": model.lower()}) for model in ("LSTM", "QRNN")
    )
    text = results_document([features, lstm, qrnn], paper_results)
    row = line_of(text, "Overlap features alone")
    assert row[1] == "from QRNN: model = features"
    assert row[4] == f"{2 / 2**12:.3g} (QRNN)"
    row = line_of(results_document([features, lstm], paper_results), "Overlap features alone")
    assert row[1] == row[4] == ""


def test_a_rule_is_never_compared_with(paper_results):
    rule = make_record(
        paper="cosinet",
        dataset="qed",
        model="CA",
        **A_RULE,
        embeddings="",
        configuration={"tie_seeds": 50},
    )
    model = make_record(
        paper="cosinet", dataset="qed", model="Cosinet", main=False, configuration={"epochs": 3, "l2": 0.0}
    )
    text = results_document([rule, model], paper_results)
    assert line_of(text, "Cosinet", "")[1:3] == ["", "0.708 ± 0.004"]
    assert "tie_seeds" not in text


def test_rules_are_said_not_to_be_tested(paper_results):
    rules = [make_record(paper="cosinet", model=model, **A_RULE) for model in ("RR", "WO")]
    text = results_document(rules, paper_results)
    for title in ("### Table 2: wikiqa", "### Table 4: wikiqa"):
        below = text[text.rindex(title) :].partition("\n#")[0]
        assert "Not tested, as rules without parameters: RR, WO.\n" in below
    assert "as rules" not in results_document([make_record()], paper_results).partition("## HyperQA")[2]


def test_the_table_of_parameters_counts_models_of_one_data_set_and_names_it(paper_results):
    sizes = {"LSTM": 330, "QRNN": 552, "CTRN": 553}
    records = [ctrn_record("CTRN", [0.5] * 12, dataset="semevalcqa", protocol="answerable", parameters=263)]
    records += [ctrn_record("QRNN", [0.5] * 12, variant="TRAIN-ALL", parameters=200)]
    records += [ctrn_record(model, [0.5] * 12, parameters=size) for model, size in sizes.items()]
    text = results_document(records, paper_results)
    table = text[text.index("## CTRN (") :].partition("### Table 4")[0]
    assert {model: int(line_of(table, model)[2]) for model in sizes} == sizes
    assert "Ours are all of trecqa, raw, TRAIN." in table


def test_the_rows_of_the_committed_tables_can_be_told_apart():
    text = (PAPER_RESULTS.parent / "RESULTS.md").read_text(encoding="utf-8")
    tables = [table for table in re.split(r"\n\n", text) if table.startswith("| model | what differs")]
    assert tables
    for table in tables:
        titles, _, *rows = (line.strip("| ").split(" | ") for line in table.splitlines())
        named = [titles.index(title) for title in ("model", "what differs", "word vectors", "protocol")]
        keys = [tuple(row[column] for column in named) for row in rows]
        assert len(set(keys)) == len(keys), keys
