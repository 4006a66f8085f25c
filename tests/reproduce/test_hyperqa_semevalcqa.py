"""HyperQA on small files in SemEvalCQA's official format: vectors of its own texts, the task's measure."""

import re
from dataclasses import replace

import pytest

from data_prep import registry
from reproduce.hyperqa_experiment import HyperQAConfig
from reproduce.hyperqa_search import SearchConfig, search
from reproduce.hyperqa_semevalcqa import Config, main

SIZE = ("--embeddings", "task-skipgram-6d", "--dimension", "5")


def xml(part, n_threads):
    """Threads of three comments; the last has no Good one."""
    threads = []
    for i in range(n_threads):
        name = f"P{part}Q{i}"
        labels = ("Bad", "PotentiallyUseful", "Bad" if i == n_threads - 1 else "Good")
        comments = "".join(
            f'<RelComment RELC_ID="{name}_C{j}" RELC_RELEVANCE2RELQ="{label}"><RelCText>'
            f"{'try the market' if label == 'Good' else 'no idea'} {i} {j}</RelCText></RelComment>"
            for j, label in enumerate(labels)
        )
        threads.append(
            f'<Thread THREAD_SEQUENCE="{name}"><RelQuestion RELQ_ID="{name}"><RelQSubject>Umbrellas {i}'
            f"</RelQSubject><RelQBody>Where?</RelQBody></RelQuestion>{comments}</Thread>"
        )
    return f'<?xml version="1.0" encoding="utf-8"?><xml>{"".join(threads)}</xml>'


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    description = registry.DATASETS["semevalcqa"]
    original = [file for file in description.files if not file.variants]
    # The reader is the real one; of the files only the published checksums are left out.
    unchecked = tuple(replace(file, sha256="") for file in original)
    monkeypatch.setitem(registry.DATASETS, "semevalcqa", replace(description, files=unchecked))
    for part, file in enumerate(original):
        path = tmp_path / "data" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(xml(part, 8), encoding="utf-8")
    return tmp_path / "data"


def test_vectors_of_the_task_raw_embeddings_and_the_official_measure(
    run_in_process, run_on_disk, data_home, tmp_path
):
    output = tmp_path / "out"
    options = ("--epochs", "2", "--seeds", "2", "--data-home", data_home, "--output", output)
    code, out, err = run_in_process(main, Config, *SIZE, *options)
    assert code == 0, err
    assert "Word vectors are trained on the training set (semeval2016-task3/QL-unannotated" in out
    record = run_on_disk(output).record
    # The part of the official training set that is missing is printed and recorded.
    assert "MISSING: train part 1 of 2016" in out
    assert "MISSING: train part 1 of 2016" in record["notes"]
    assert record["embeddings"] == "semevalcqa-skipgram-6d-seed0.vectors"
    # W_p, b_p, w_f, b_f, and a weight for each entry of the two texts.
    assert record["parameters"] == 6 * 5 + 5 + 2 + 2 * 5
    assert record["configuration"]["raw_embeddings"] is True
    # One of 8 threads has no Good comment: the task's scorer counts it as 0.
    printed = dict(re.findall(r"^(dev|test) +(0\.\d{4})", out, re.MULTILINE))
    assert float(printed["test"]) == pytest.approx(record["metrics"]["map"]["mean"] * 7 / 8, abs=1e-4)
    assert float(printed["dev"]) == pytest.approx(record["metrics_dev"]["map"]["mean"] * 7 / 8, abs=1e-4)
    assert float(printed["test"]) == pytest.approx(record["metrics_count_all"]["map"]["mean"], abs=1e-4)


def test_other_vectors_and_the_plain_last_layer(run_in_process, run_on_disk, data_home, tmp_path):
    output = tmp_path / "out"
    options = ("--embeddings", "glove-6b-50d", "--no-raw-embeddings", "--dimension", "5", "--epochs", "1")
    code, _, err = run_in_process(main, Config, *options, "--data-home", data_home, "--output", output)
    assert code == 0, err
    record = run_on_disk(output).record
    assert (record["embeddings"], record["parameters"]) == ("glove-6b-50d", 50 * 5 + 5 + 2)
    # As the records of before this option have it.
    assert "raw_embeddings" not in record["configuration"]


def test_the_search_has_the_same_vectors(run_in_process, data_home, tmp_path):
    options = ("--dataset", "semevalcqa", "--data-home", data_home, "--folder", tmp_path, "--raw-embeddings")
    options += ("--trials", "1", "--seeds", "1", "--epochs", "1", "--around", "1")
    code, out, err = run_in_process(search, SearchConfig, *SIZE, *options)
    assert code == 0, err
    assert "1 trials, and 0 that diverged" in out
    (path,) = tmp_path.glob("*.jsonl")
    assert "semevalcqa-skipgram-6d" in path.name
    assert '"raw_embeddings": true' in path.read_text()


def test_the_option_is_named_only_where_it_is_used():
    plain = HyperQAConfig(dataset="wikiqa").matters()
    assert "raw_embeddings" not in plain
    assert HyperQAConfig(dataset="wikiqa", raw_embeddings=True).matters() == {**plain, "raw_embeddings": True}
