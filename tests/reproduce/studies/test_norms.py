"""What a HyperQA learnt that was trained on the sample."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from answer_ranking.data_prep import EncodedTexts, Tokenizer, UserError, load_dataset
from answer_ranking.reports.studies.norms_page import norms_block
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.studies import norms
from answer_ranking.reproduce.studies.norms import NormsOptions, analyse, level_of, presets


def experiment(name, **options):
    stated = Experiment.of(name, DataOptions(dataset="sample"), epochs=1, dimension=8)
    return replace(stated, run=NormsOptions(**options))


def test_figures_tables_and_numbers(tmp_path, monkeypatch):
    trained = []

    def train(*arguments):
        trained.append(norms_train(*arguments))
        return trained[-1]

    norms_train = norms.train
    monkeypatch.setattr(norms, "train", train)
    found = analyse(experiment("hyperqa", output=tmp_path, tsne_texts=60, pairs=2))
    figures = {path.name for path in tmp_path.glob("*.png") if path.read_bytes().startswith(b"\x89PNG")}
    assert len(figures) == 3

    # The vectors by hand: relu(W z + b), summed over the words.
    encoder = trained[0][0].get_layer("encoder")
    vectors = np.asarray(encoder.get_layer("word_vectors").embeddings, np.float64)
    kernel, bias = (np.asarray(w, np.float64) for w in encoder.get_layer("projection").weights)
    projected = np.maximum(vectors @ kernel + bias, 0)
    dataset = load_dataset("sample")
    table, tokenizer = dataset.test, Tokenizer(pretokenised=dataset.description.pretokenised)
    vocabulary = DataOptions(dataset="sample").load().vocabulary

    def log_norms(texts):
        encoded = EncodedTexts.from_tokens(tokenizer(texts), vocabulary)
        ends = encoded.offsets
        sums = [projected[encoded.words[a:b]].sum(axis=0) for a, b in itertools.pairwise(ends)]
        return np.log(np.linalg.norm(sums, axis=1))

    differences = [
        log_norms([part["question"].iloc[0]])[0] - log_norms(part["candidate"].tolist()).mean()
        for _, part in table.groupby("question_id", sort=False)
    ]
    assert found["norms"]["n_questions"] == len(differences)
    assert found["norms"]["ratio"]["estimate"] == pytest.approx(np.exp(np.mean(differences)), rel=1e-4)
    words = {word for text in (*table["question"], *table["candidate"]) for word in tokenizer([text])[0]}
    known = words & set(vocabulary.words[2:])
    assert sum(row["words"] for row in found["words_by_level"]) == len(known)


def test_a_recorded_comparison_is_a_row_of_the_page(tmp_path, monkeypatch):
    options = ["--dataset", "sample", "--model", "cosineqa", "--record", "norms/sample-cosineqa"]
    monkeypatch.setattr("sys.argv", ["reproduce/studies/norms.py", *options, "--results", str(tmp_path)])
    places = {"results": tmp_path, "output": tmp_path / "output"}
    record = {"record": "norms/sample-cosineqa", "tsne_texts": 0, "pairs": 0}
    written = analyse(experiment("cosineqa", **record, **places))
    block = norms_block(tmp_path / "norms")
    row = block.splitlines()[2].split(" | ")
    with pytest.raises(UserError, match="is a record of CosineQA"):
        analyse(experiment("hyperqa", **record, **places))
    found = written["norms"]["ratio"]
    assert float(row[1].split()[0]) == pytest.approx(found["estimate"], rel=5e-3)
    assert f"({found['low']:.3g} to {found['high']:.3g})" in row[1]
    names = {f"{part}-sample-cosineqa.png" for part in ("norms", "word_norms")}
    assert {path.name for path in tmp_path.glob("*.png")} == names
    assert all(f"]({name})" in block for name in names)
    assert f"`{written['command']}`" in block and "--results" not in written["command"]


def test_levels_are_equal_steps_up_to_the_largest_norm():
    found = np.array([0.0, 0.99, 1.0, 5.99, 6.0])
    assert level_of(found, 6).tolist() == [1, 1, 2, 6, 6]
    assert level_of(np.zeros(2), 4).tolist() == [1, 1]


def test_options_are_those_of_the_data_set_s_script(capsys):
    trecqa = presets("trecqa")[0]
    assert (trecqa.data.variant, trecqa.training.clip_norm) == ("TRAIN-ALL", 1.0)
    assert [each.name for each in presets("qed")] == ["hyperqa", "cosineqa"]
    with pytest.raises(UserError, match="--dataset is missing"):
        norms.main([])
    with pytest.raises(SystemExit) as end:
        norms.main(["--dataset", "trecqa", "--model", "cosineqa", "--eq9", "none"])
    assert end.value.code == 2 and "--eq9" in capsys.readouterr().err


def test_what_the_user_can_mend():
    with pytest.raises(UserError, match="levels must be at least 2"):
        NormsOptions(levels=1)
    with pytest.raises(UserError, match="seed must be at least 0"):
        NormsOptions(seed=-1)
    with pytest.raises(UserError, match="a record's name is lower-case words"):
        NormsOptions(record="Bad/Name")
    with pytest.raises(UserError, match=r"unknown data set 'a\.b'"):
        norms.main(["--dataset", "a.b"])
