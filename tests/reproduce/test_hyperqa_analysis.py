"""HyperQA's analyses of a ranker that was trained on the sample."""

import itertools
import json
import re
from importlib.util import find_spec

import numpy as np
import pytest

import reproduce.hyperqa_analysis
from data_prep import EncodedTexts, Tokenizer, UserError, load_dataset
from evaluation.norm_report import norms_block
from reproduce.experiment import ROOT
from reproduce.hyperqa_analysis import Config, analyse, level_of
from reproduce.rank import load_ranker, read_vocabulary

WITH_TSNE = 150 if find_spec("sklearn") else 0


def test_figures_tables_and_numbers(sample_run, tmp_path, capsys):
    model = sample_run.folder / "model"
    analyse(Config(model=model, dataset="sample", output=tmp_path, tsne_texts=WITH_TSNE, pairs=2))
    figures = {path.name for path in tmp_path.glob("*.png") if path.read_bytes().startswith(b"\x89PNG")}
    assert figures == {"norms.png", "word_norms.png", *(["tsne.png"] if WITH_TSNE else [])}
    printed = capsys.readouterr().out
    assert printed.count("by level (Table 8)") == 2
    assert re.search(r"question / answer at equal length +[\d.]+ \([\d.]+ to [\d.]+\)", printed)

    # The vectors by hand: relu(W z + b), summed over the words.
    vocabulary, options = read_vocabulary(model)
    encoder = load_ranker(model).get_layer("encoder")
    vectors = np.asarray(encoder.get_layer("word_vectors").embeddings, np.float64)
    kernel, bias = (np.asarray(w, np.float64) for w in encoder.get_layer("projection").weights)
    projected = np.maximum(vectors @ kernel + bias, 0)
    table = load_dataset("sample").test
    tokenizer = Tokenizer(pretokenised=False, **options)

    def log_norms(texts):
        encoded = EncodedTexts.from_tokens(tokenizer(texts), vocabulary)
        ends = encoded.offsets
        sums = [projected[encoded.words[a:b]].sum(axis=0) for a, b in itertools.pairwise(ends)]
        return np.log(np.linalg.norm(sums, axis=1))

    differences = [
        log_norms([part["question"].iloc[0]])[0] - log_norms(part["candidate"].tolist()).mean()
        for _, part in table.groupby("question_id", sort=False)
    ]
    written = json.loads((tmp_path / "analysis.json").read_text())
    assert written["norms"]["n_questions"] == len(differences)
    assert written["norms"]["ratio"]["estimate"] == pytest.approx(np.exp(np.mean(differences)), rel=1e-4)

    words = {word for text in (*table["question"], *table["candidate"]) for word in tokenizer([text])[0]}
    known = words & set(vocabulary.words[2:])
    assert sum(row["words"] for row in written["words_by_level"]) == len(known)


def test_a_recorded_comparison_is_a_row_of_the_page(tmp_path, monkeypatch):
    places = {"results": tmp_path / "results", "figures": tmp_path / "docs", "output": tmp_path / "output"}
    script = str(ROOT / "reproduce" / "hyperqa_analysis.py")
    options = ["--record", "--dataset", "sample", "--train", "cosineqa"]
    monkeypatch.setattr("sys.argv", [script, *options, "--results", str(places["results"])])
    analyse(Config(dataset="sample", train="cosineqa", tsne_texts=0, pairs=0, record=True, **places))
    written = json.loads((tmp_path / "output" / "analysis.json").read_text())
    block = norms_block(tmp_path / "results", ROOT)
    row = block.splitlines()[2].split(" | ")
    assert row[0] == "| CosineQA, sample, test"
    found = written["norms"]["ratio"]
    assert float(row[1].split()[0]) == pytest.approx(found["estimate"], rel=5e-3)
    assert f"({found['low']:.3g} to {found['high']:.3g})" in row[1]
    names = {f"{part}-sample_test_cosineqa.png" for part in ("norms", "word_norms")}
    assert {path.name for path in (tmp_path / "docs").iterdir()} == names
    assert all(f"]({name})" in block for name in names)
    words = [line.split(" | ")[1] for line in block.splitlines() if re.match(r"\| [\d.]+-[\d.]+ \|", line)]
    assert words == [f"{level['words']:,}" for level in written["words_by_level"]]
    assert "`python reproduce/hyperqa_analysis.py --record --dataset sample --train cosineqa`." in block

    kept = next((tmp_path / "results").glob("*.json"))
    changed = json.loads(kept.read_text())
    # The training's code is among what the numbers depend on.
    changed["code"]["training/pairwise_trainer.py"] = "0" * 12
    kept.write_text(json.dumps(changed))
    assert "**Stale**, changed since: `training/pairwise_trainer.py`" in norms_block(kept.parent, ROOT)
    kept.write_text("{}")
    with pytest.raises(UserError, match="is no record of its study"):
        norms_block(kept.parent, ROOT)


def test_levels_are_equal_steps_up_to_the_largest_norm():
    norms = np.array([0.0, 0.99, 1.0, 5.99, 6.0])
    assert level_of(norms, 6).tolist() == [1, 1, 2, 6, 6]
    assert level_of(np.zeros(2), 4).tolist() == [1, 1]


def test_what_the_user_can_mend(sample_run, tmp_path, monkeypatch):
    model = sample_run.folder / "model"
    with pytest.raises(UserError, match="levels must be at least 2"):
        Config(model=model, dataset="sample", levels=1)
    for useless in ({"record": True}, {"train": "cosineqa"}, {"embeddings": ("glove-6b-50d",)}):
        with pytest.raises(UserError, match="are for what this command trains itself"):
            Config(model=model, dataset="sample", **useless)
    with pytest.raises(UserError, match="MODEL must be the model/ folder"):
        analyse(Config(model=tmp_path, dataset="sample", tsne_texts=0))
    monkeypatch.setattr(reproduce.hyperqa_analysis.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="needs scikit-learn"):
        Config(model=model, dataset="sample")
