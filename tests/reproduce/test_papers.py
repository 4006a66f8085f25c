"""The recipe of every paper, on the sample and on small files in the released formats."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from answer_ranking.cli import main as cli
from answer_ranking.data_prep import DATASETS, load_dataset
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.data_prep.word_vectors.encoder_folder import read_encoder
from answer_ranking.engine import build
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking import Ranker
from answer_ranking.reproduce import cosinet_wikiqa, ctrn_trecqa, field_trecqa, hyperqa_semevalcqa
from answer_ranking.reproduce.experiments.data_options import DataOptions, ScaledData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_experiment

ON_SAMPLE = ("--dataset", "sample", "--variant", "")
MLP = ("--hidden", "5", "--dropout", "0.1", "--learning-rate", "0.01")
CNN = ("--filters", "6", "--dropout", "0.1", "--learning-rate", "0.01")
ONCE = ("--epochs", "1", "--seeds", "1")


@pytest.mark.parametrize(
    ("presets", "options", "title", "parameters"),
    [
        # 2nf + f + ff, and a regression over q^T M a and the four features.
        (field_trecqa.PRESETS, ("cnn-cnt", *CNN), "CNN + Cnt", 2 * 50 * 6 + 6 + 6 * 6 + 1 + 4 + 1),
        (ctrn_trecqa.PRESETS, ("features", *MLP), "Overlap features alone", 4 * 5 + 5 + 12),
    ],
)
def test_a_model_with_overlap_features(
    run_in_process, run_on_disk, tmp_path, presets, options, title, parameters
):
    options = ("--model", *options, *ON_SAMPLE, *ONCE, "--output", tmp_path)
    code, out, err = run_in_process(run_experiment, presets, *options)
    assert code == 0, err
    record = run_on_disk(tmp_path).record
    assert (record["model"], record["parameters"]) == (title, parameters)
    assert f"{title}, ours" in out
    # With the overlap features, which the ranker computes from the saved document frequencies.
    folder = run_on_disk(tmp_path).folder
    run = [line.split() for line in (folder / "runs" / "test-seed-0.run").read_text().splitlines()]
    table = load_dataset("sample").test
    rows = table[table["question_id"] == run[0][0]]
    expected = {words[2]: float(words[4]) for words in run if words[0] == run[0][0]}
    scores = Ranker.load(folder / "model").score(zip(rows["question"], rows["candidate"], strict=True))
    found = dict(zip(rows["candidate_id"], scores, strict=True))
    assert found == pytest.approx(expected, rel=1e-3, abs=2e-5)


def test_qrnn_has_the_parameters_of_its_pooling_and_projection():
    options = {"filters": 6, "kernel_size": 2, "hidden": (5,), "pooling": "ifo", "projection": 7}
    entry = CATALOGUE["qrnn"]
    model = build(entry, entry.options(**options), DataOptions(dataset="sample").load(), seed=0)
    trained = sum(np.prod(each.shape) for each in model.trainable_variables)
    assert trained == 4 * 2 * 6 * 7 + 50 * 7 + 2 * 6 * 5 + 5 + 12


def test_candidates_are_shuffled_where_their_order_is_no_signal():
    data = DataOptions(dataset="sample").load()
    assert {split.order_seed for split in data.splits.values()} == {0}


def test_the_word_vectors_of_running_training_words_have_the_length_that_is_asked_for(capsys):
    options = ScaledData(dataset="sample")
    experiment = Experiment.of("ap-cnn", options)
    as_they_are = experiment.data.load()
    data = experiment.changed(word_vector_norm=2.0).data.load()
    train = data.train
    rows = [train.candidates.take([row]).words for row in range(train.n_rows)]
    # Every question once and every candidate as often as it stands in a row, each word as often as it runs.
    words = np.concatenate([train.questions.words, *rows])
    before, after = (
        np.linalg.norm(each.word_vectors.matrix[words], axis=1).mean() for each in (as_they_are, data)
    )
    assert after == pytest.approx(2.0, rel=1e-5)
    assert f"{before:.2f}, scaled to 2." in capsys.readouterr().out
    exact = as_they_are.word_vectors.matrix * (2.0 / before)
    assert data.word_vectors.matrix == pytest.approx(exact, rel=1e-5)
    entry = experiment.entry
    model = build(entry, entry.options(filters=4), data, seed=0)
    embedding = model.get_layer("encoder").get_layer("word_vectors")
    assert embedding.embeddings.numpy() == pytest.approx(data.word_vectors.matrix)


def test_a_cross_encoder_records_what_it_trained(run_in_process, run_on_disk, write_encoder, tmp_path):
    encoder, output = write_encoder(tmp_path / "encoder"), tmp_path / "out"
    options = ("--model", "cross-encoder", "--embeddings", encoder, "--most-pieces", "12", "--output", output)
    code, _, err = run_in_process(run_experiment, cosinet_wikiqa.PRESETS, *options, *ONCE, *ON_SAMPLE)
    assert code == 0, err
    record = run_on_disk(output).record
    header = read_encoder(encoder)
    n = sum(values.size for values in header.weights.values())
    assert record["parameters"] == n + header.config.hidden + 1
    assert record["configuration"]["encoder"] == header.hashes["model.safetensors"]
    assert (record["paper"], record["model"], record["embeddings"]) == ("cosinet", "Cross-encoder", "encoder")


def test_a_run_of_semevalcqa_has_vectors_of_the_task_and_the_official_measure(
    run_script, run_on_disk, tmp_path, monkeypatch
):
    """The script itself, to its last line."""
    sample = find_description("sample")

    def read(variant, files):
        tables = sample.read(variant, files)
        for table in tables[1:]:
            table.loc[table["question_id"] == table["question_id"].iloc[0], "label"] = 0
        return tables

    missing = replace(sample, read=read, notes=("MISSING: train part 1.",))
    monkeypatch.setitem(DATASETS, "sample", missing)
    options = ("--dimension", "5", "--embeddings", "task-skipgram-6d", *ONCE, *ON_SAMPLE)
    code, out, err = run_script(hyperqa_semevalcqa.__file__, *options, "--output", tmp_path / "out")
    assert code == 0, err
    run = run_on_disk(tmp_path / "out")
    assert (run.folder / "norms.png").is_file()
    record = run.record
    # What a reader of the data set's numbers has to know is printed and recorded.
    assert "MISSING: train part 1." in out and "MISSING: train part 1." in record["notes"]
    assert record["embeddings"] == "sample-skipgram-6d-seed0.vectors"
    # W_p, b_p, w_f, b_f, and a weight for each entry of the two texts.
    assert record["parameters"] == 6 * 5 + 5 + 2 + 2 * 5
    # One question of 20 has no correct answer: the task's scorer counts it as 0.
    printed = dict(re.findall(r"^(dev|test) +(0\.\d{4})", out, re.MULTILINE))
    assert float(printed["test"]) == pytest.approx(record["metrics"]["map"]["mean"] * 19 / 20, abs=1e-4)
    assert float(printed["dev"]) == pytest.approx(record["metrics_dev"]["map"]["mean"] * 19 / 20, abs=1e-4)
    assert float(printed["test"]) == pytest.approx(record["metrics_count_all"]["map"]["mean"], abs=1e-4)


def test_the_demo_s_last_hint_works_when_pasted(run_script, until_exit, tmp_path):
    demo = Path(__file__).parents[2] / "reproduce" / "demo.py"
    code, out, err = run_script(demo, *ONCE, "--dimension", "8", "--output", tmp_path)
    assert code == 0, err[-3000:]
    assert re.search(r"^BM25 +0\.\d{3}", out, re.MULTILINE)
    assert re.search(r"^HyperQA before training +0\.\d{3}", out, re.MULTILINE)
    command = shlex.split(out.splitlines()[-1])
    assert command[0] == "answer-ranking"
    code, out, err = until_exit(cli.main, *command)
    assert code == 0, err
    answers = Path(command[-1]).read_text().splitlines()
    assert len(answers) > 2 and all(answer in out for answer in answers)
