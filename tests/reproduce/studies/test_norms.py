"""What a HyperQA learnt that was trained on the sample."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import EncodedTexts, Tokenizer, load_dataset
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.studies import norms
from answer_ranking.reproduce.studies.norms import NormsOptions, analyse, level_of


def experiment(name, embeddings=("glove-6b-50d",), **options):
    data = DataOptions(dataset="sample", embeddings=embeddings)
    stated = Experiment.of(name, data, epochs=1, dimension=8)
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

    counts = Counter()
    for text in (*table.drop_duplicates("question_id")["question"], *table["candidate"]):
        counts.update(tokenizer([text])[0])
    numbers = {word: number for number, word in enumerate(vocabulary.words)}
    with_vector = [word for word in sorted(known) if np.linalg.norm(vectors[numbers[word]]) > 0]
    frequency, _, of_table_9 = found["word_correlations"]
    for place, of_words in (("projected", projected), ("before", vectors)):
        lengths = [np.linalg.norm(of_words[numbers[word]]) for word in with_vector]
        expected = stats.spearmanr(lengths, [counts[word] for word in with_vector]).statistic
        assert frequency[place]["estimate"] == pytest.approx(expected, abs=1e-4)
    assert frequency["words"] == len(with_vector)
    assert 10 < of_table_9["words"] <= 40


def test_contextual_words_have_no_norms(write_encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(norms, "train", lambda *_: pytest.fail("it trains"))
    source = str(write_encoder(tmp_path / "encoder"))
    with pytest.raises(UserError, match="no vector of its own"):
        analyse(experiment("hyperqa", output=tmp_path, embeddings=(source,)))


def test_levels_are_equal_steps_up_to_the_largest_norm():
    found = np.array([0.0, 0.99, 1.0, 5.99, 6.0])
    assert level_of(found, 6).tolist() == [1, 1, 2, 6, 6]
    assert level_of(np.zeros(2), 4).tolist() == [1, 1]
