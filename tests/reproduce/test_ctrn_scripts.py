"""CTRN's scripts as a user meets them: on the sample, and on small files in the released formats."""

import json
import re
from dataclasses import replace

import ir_measures
import numpy as np
import pytest

from data_prep import UserError, load_dataset, registry
from reproduce.ctrn_experiment import CTRNConfig, run_ctrn
from reproduce.ctrn_search import SPACE, SearchConfig, search
from reproduce.ctrn_semevalcqa import Config as SemEvalConfig
from reproduce.ctrn_semevalcqa import main as semevalcqa_main
from reproduce.ctrn_trecqa import Config as TrecConfig
from reproduce.ctrn_yahooqa import Config as YahooConfig
from reproduce.rank import rank_texts
from reproduce.search import trial_options

# The sample has one training set only, which bears no name.
ON_SAMPLE = ("--dataset", "sample", "--variant", "")
SMALL_MLP = ("--hidden", "5", "--dropout", "0.1", "--learning-rate", "0.01")
SMALL_LSTM = (*SMALL_MLP, "--filters", "6")
SMALL = (*SMALL_LSTM, "--kernel-size", "2")
PROJECTED = ("--projection", "7")
FEATURES = ("--model", "features", "--epochs", "1", "--seeds", "1")


@pytest.fixture
def in_process(run_in_process):
    return lambda *arguments, config=TrecConfig, main=run_ctrn: run_in_process(main, config, *arguments)


@pytest.fixture(scope="module")
def ctrn_run(shell, run_on_disk, tmp_path_factory):
    """CTRN with overlap features on the sample, from a shell."""
    output = tmp_path_factory.mktemp("ctrn")
    done = shell("ctrn_trecqa.py", *ON_SAMPLE, *SMALL, "--seeds", "2", "--epochs", "3", "--output", output)
    assert done.returncode == 0, done.stderr[-3000:]
    return run_on_disk(output, done.stdout, done.stderr)


def scores_of(path):
    """The scores of a run file, by question and candidate."""
    return {(each.query_id, each.doc_id): each.score for each in ir_measures.read_trec_run(str(path))}


def test_what_is_printed(ctrn_run):
    assert "sample: train 80 questions" in ctrn_run.stdout
    row = next(line for line in ctrn_run.stdout.splitlines() if line.startswith("CTRN, ours"))
    assert f"{ctrn_run.record['metrics']['map']['mean']:.3f} ± " in row
    last = ctrn_run.stderr.replace("\r", "\n").strip().splitlines()[-1]
    assert re.match(r"CTRN, seed 1: 100%\|.*left, epoch 3/3, loss \d\.\d{4}, dev map \d\.\d{4}", last)


def test_the_record_holds_what_repeats_it(ctrn_run):
    record = ctrn_run.record
    required = "paper dataset protocol split model variant embeddings seeds metrics parameters per_question"
    assert {*required.split(), "seconds_per_epoch", "command", "versions", "code", "data"} <= set(record)
    assert [record[key] for key in ("paper", "dataset", "model", "embeddings", "seeds")] == [
        "ctrn",
        "sample",
        "CTRN",
        "glove-6b-50d",
        [0, 1],
    ]
    k, d, m, h, features = 2, 6, 50, 5, 4
    # Table 2, and what it leaves out: the MLP's weights for the features, and the softmax.
    assert record["parameters"] == 3 * k * d * m + 2 * d * h + h + features * h + 2 * h + 2
    configuration = record["configuration"]
    assert configuration["overlap_features"] is True
    assert (configuration["hidden"], configuration["model"], configuration["l2"]) == ([5], "ctrn", 4e-6)
    assert record["command"].startswith("python reproduce/ctrn_trecqa.py --dataset sample --variant ''")
    assert str(ctrn_run.output) not in ctrn_run.record_path.read_text()


def test_run_files_give_the_record_s_numbers(ctrn_run):
    runs = ctrn_run.folder / "runs"
    for split, key in (("test", "metrics"), ("dev", "metrics_dev")):
        qrels = list(ir_measures.read_trec_qrels(str(runs / f"{split}.qrels")))
        for seed in (0, 1):
            run = list(ir_measures.read_trec_run(str(runs / f"{split}-seed-{seed}.run")))
            measured = ir_measures.calc_aggregate([ir_measures.AP], qrels, run)[ir_measures.AP]
            assert measured == pytest.approx(ctrn_run.record[key]["map"]["per_seed"][seed], abs=5e-5)


def test_figures_are_there_and_nothing_half_written(ctrn_run):
    assert (ctrn_run.folder / "learning_curves.png").read_bytes().startswith(b"\x89PNG")
    assert not [path for path in ctrn_run.output.rglob("*") if path.name.startswith(".")]


def test_the_saved_model_ranks_text_as_the_trained_one_did(ctrn_run, shell, tmp_path):
    """With the overlap features, which `rank.py` computes from the saved document frequencies."""
    best = int(np.argmax(ctrn_run.record["metrics_dev"]["map"]["per_seed"]))
    expected = scores_of(ctrn_run.folder / "runs" / f"test-seed-{best}.run")
    table = load_dataset("sample").test
    assert len(np.load(ctrn_run.folder / "model" / "idf.npy")) > 100
    for name, rows in list(table.groupby("question_id", sort=False))[:2]:
        scores = rank_texts(ctrn_run.folder / "model", rows["question"].iloc[0], rows["candidate"].tolist())
        of_text = {
            text: expected[name, i] for text, i in zip(rows["candidate"], rows["candidate_id"], strict=True)
        }
        assert {text: score for score, text in scores} == pytest.approx(of_text, rel=1e-3, abs=2e-5)
    path = tmp_path / "candidates.txt"
    path.write_text("\n".join(rows["candidate"]), encoding="utf-8")
    done = shell("rank.py", ctrn_run.folder / "model", rows["question"].iloc[0], path)
    assert done.returncode == 0, done.stderr
    printed = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert [text for _, _, text in printed] == [text for _, text in scores]
    assert [float(score) for _, score, _ in printed] == pytest.approx([s for s, _ in scores], abs=1e-4)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:60]),
        lambda path: path.write_bytes(path.read_bytes()[:-8]),
        lambda path: path.write_bytes(b"PK\x03\x04 no archive"),
        lambda path: np.save(path, np.load(path)[:-1]),
        lambda path: np.save(path, np.load(path)[:, None]),
        lambda path: np.save(path, np.array(["a"] * len(np.load(path)))),
    ],
)
def test_damaged_document_frequencies_are_named(ctrn_run, tmp_path, damage):
    folder = tmp_path / "model"
    folder.mkdir()
    for path in (ctrn_run.folder / "model").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    damage(folder / "idf.npy")
    with pytest.raises(UserError, match=r"idf\.npy .*Train the model again"):
        rank_texts(folder, "Who made it?", ["A man.", "It is."])


def test_the_same_seed_gives_the_same_numbers_in_another_process(ctrn_run, in_process, tmp_path):
    again = in_process(
        *ON_SAMPLE, *SMALL, "--epochs", "3", "--seeds", "1", "--first-seed", "1", "--output", tmp_path
    )
    assert again[0] == 0, again[2]
    (path,) = tmp_path.glob("*/*/runs/test-seed-1.run")
    ours = scores_of(path)
    assert ours == pytest.approx(scores_of(ctrn_run.folder / "runs" / path.name), rel=1e-4, abs=1e-5)
    # The seed decides nothing that is shared: the folder is named by the configuration.
    assert path.parents[1].name == ctrn_run.folder.name
    other = scores_of(ctrn_run.folder / "runs" / "test-seed-0.run")
    assert max(abs(ours[each] - other[each]) for each in ours) > 1e-3


@pytest.mark.parametrize(
    ("config", "arguments", "message"),
    [
        (TrecConfig, ["--model", "features", "--no-overlap-features"], "add --overlap-features"),
        (SemEvalConfig, ["--model", "features"], "add --overlap-features"),
        (TrecConfig, ["--seeds", "0"], "seeds must be at least 1"),
        (TrecConfig, ["--epochs", "0"], "epochs must be at least 1"),
        (TrecConfig, ["--filters", "0"], "filters must be at least 1"),
        (TrecConfig, ["--kernel-size", "0"], "kernel_size must be at least 1"),
        (TrecConfig, ["--projection", "0"], "projection must be at least 1"),
        (TrecConfig, ["--hidden", "8", "0"], "hidden sizes must be at least 1"),
        (TrecConfig, ["--dropout", "1"], "dropout must be at least 0 and below 1"),
        (TrecConfig, ["--embedding-dropout", "-0.1"], "embedding_dropout must be at least 0 and below 1"),
        (TrecConfig, ["--batch-size", "0"], "batch_size must be at least 1"),
        (TrecConfig, ["--l2", "nan"], "l2 must be"),
        (TrecConfig, ["--patience", "0"], "patience must be at least 1"),
        (TrecConfig, ["--alignment", "sideways"], "sideways"),
        (TrecConfig, ["--model", "ap"], "ap"),
        (TrecConfig, ["--pooling", "ifo"], "add --model qrnn"),
        (TrecConfig, ["--dataset", "sample"], "unknown variant 'TRAIN'"),
        (TrecConfig, ["--data-home", "/nonexistent"], "/nonexistent"),
        (YahooConfig, ["--data-home", "/nonexistent"], "YahooQA_Splits"),
        (SemEvalConfig, ["--data-home", "/nonexistent"], "/nonexistent"),
        (TrecConfig, [*ON_SAMPLE, *FEATURES, "--optimizer", "fastest"], "no optimizer 'fastest'"),
    ],
)
def test_what_the_user_can_mend_ends_with_2(in_process, tmp_path, config, arguments, message):
    code, _, err = in_process("--output", tmp_path, *arguments, config=config)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_features_without_features_from_a_shell(shell, tmp_path):
    done = shell("ctrn_trecqa.py", "--model", "features", "--no-overlap-features", "--output", tmp_path)
    assert done.returncode == 2
    assert re.match(r"error: model=features .* add --overlap-features", done.stderr)
    assert not list(tmp_path.iterdir())


def test_divergence_ends_with_2_and_names_step_and_cause(in_process, tmp_path):
    options = ("--epochs", "3", "--learning-rate", "1e38", "--optimizer", "sgd")
    code, _, err = in_process(*ON_SAMPLE, *FEATURES, *options, "--output", tmp_path)
    assert code == 2
    assert re.search(r"^error: Training stopped at step \d+: .*(nan|inf|not finite)", err, re.MULTILINE)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("model", "sizes", "name", "parameters"),
    [
        ("qrnn", (*SMALL, *PROJECTED), "QRNN", 3 * 2 * 6 * 7 + 50 * 7 + 2 * 6 * 5 + 5 + 4 * 5 + 12),
        # A convolution more.
        (
            "qrnn --pooling ifo",
            (*SMALL, *PROJECTED),
            "QRNN",
            4 * 2 * 6 * 7 + 50 * 7 + 2 * 6 * 5 + 5 + 4 * 5 + 12,
        ),
        (
            "lstm",
            (*SMALL_LSTM, *PROJECTED),
            "LSTM",
            4 * (7 * 6 + 6 * 6 + 6) + 50 * 7 + 2 * 6 * 5 + 5 + 4 * 5 + 12,
        ),
        ("features", SMALL_MLP, "Overlap features alone", 4 * 5 + 5 + 12),
    ],
)
def test_the_other_models_run(in_process, tmp_path, model, sizes, name, parameters):
    options = ("--model", *model.split(), "--seeds", "1", "--epochs", "1", "--output", tmp_path)
    code, out, err = in_process(*ON_SAMPLE, *sizes, *options)
    assert code == 0, err
    (path,) = tmp_path.glob("*/*/*.json")
    record = json.loads(path.read_text())
    assert (record["model"], record["parameters"]) == (name, parameters)
    # Records from before there was the option stay those of its default.
    assert record["configuration"].get("pooling", "fo") == (model.split()[2] if " " in model else "fo")
    assert f"{name}, ours" in out


def assert_trained(outcome, folder, questions, model):
    code, out, err = outcome
    assert code == 0, err
    (path,) = folder.glob("*/*/*.json")
    record = json.loads(path.read_text())
    assert len(record["per_question"]["question_ids"]) == questions
    assert 0 < record["metrics"]["map"]["mean"] <= 1
    assert record["model"] == model
    assert f"{model}, ours" in out
    return record


def semeval_xml(questions):
    threads = []
    for number, (question, comments) in enumerate(questions):
        texts = "".join(
            f'<RelComment RELC_ID="Q{number}_C{i}" RELC_RELEVANCE2RELQ="{"Good" if good else "Bad"}">'
            f"<RelCText>{text}</RelCText></RelComment>"
            for i, (text, good) in enumerate(comments)
        )
        threads.append(
            f'<Thread THREAD_SEQUENCE="Q{number}"><RelQuestion RELQ_ID="Q{number}"><RelQSubject>{question}'
            f"</RelQSubject><RelQBody>Please tell.</RelQBody></RelQuestion>{texts}</Thread>"
        )
    return f'<?xml version="1.0" encoding="utf-8"?><xml>{"".join(threads)}</xml>'


def test_semevalcqa_from_the_official_format(in_process, tmp_path, monkeypatch, made_up_questions):
    description = registry.DATASETS["semevalcqa"]
    original = [file for file in description.files if not file.variants]
    # The reader is the real one; of the files only the published checksums are left out.
    unchecked = tuple(replace(file, sha256="") for file in original)
    monkeypatch.setitem(registry.DATASETS, "semevalcqa", replace(description, files=unchecked))
    for number, file in enumerate(original):
        path = tmp_path / file.path
        path.parent.mkdir(exist_ok=True)
        # The training parts come first, and no thread may occur in two of them.
        text = semeval_xml(made_up_questions(12 * number, 12))
        path.write_text(re.sub(r'"Q(\d+)', rf'"P{number}_\1', text), encoding="utf-8")
    output = tmp_path / "out"
    options = ("--data-home", tmp_path, "--overlap-features", *FEATURES, "--output", output)
    outcome = in_process(*SMALL_MLP, *options, config=SemEvalConfig, main=semevalcqa_main)
    record = assert_trained(outcome, output, 12, "Overlap features alone")
    assert (record["dataset"], record["variant"]) == ("semevalcqa", "original")
    # Every made-up thread has a Good comment, so that the task's scorer counts the same questions.
    printed = re.search(r"^test +(0\.\d{4})", outcome[1], re.MULTILINE)
    assert float(printed[1]) == pytest.approx(record["metrics"]["map"]["mean"], abs=1e-4)


def test_a_search_records_its_trials_and_goes_on(in_process, tmp_path):
    options = (
        *("--dataset", "sample", "--overlap-features", "--model", "features", "--hidden", "4"),
        *("--epochs", "1", "--seeds", "1", "--around", "1", "--folder", tmp_path),
    )
    for trials in (1, 1, 2):
        code, out, err = in_process(*options, "--trials", trials, config=SearchConfig, main=search)
        assert code == 0, err
        (path,) = tmp_path.glob("*.jsonl")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        # With --around 1 every trial has the given options, so that the second is known already.
        assert [line["options"]["hidden"] for line in lines] == [[4]]
        assert "1 trials, and 0 that diverged" in out
    assert path.name == "ctrn_sample_glove-6b-50d.jsonl"
    assert not any("test" in name for name in lines[0])


def test_trials_are_functions_of_their_number():
    config = SearchConfig(dataset="sample")
    trials = [trial_options(config, SPACE, i) for i in range(30)]
    assert trials == [trial_options(config, SPACE, i) for i in range(30)]
    for trial in trials:
        assert trial.keys() == SPACE.keys()
        assert all(value in SPACE[name] for name, value in trial.items())
        CTRNConfig(dataset="sample", **trial)
