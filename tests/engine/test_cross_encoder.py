"""An encoder that is trained goes the way of all models, to a ranker on the disk."""

import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.engine import Seed, encode, encode_pieces
from answer_ranking.engine.recipe import options_of, train
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.reproduce.experiments.data_options import EncoderData
from answer_ranking.training import score


def questions(letters):
    rows = []
    for letter in letters:
        for number, text in enumerate((f"Ann wrote {letter}.", "It rained.", f"The train {letter}.")):
            rows.append((letter, f"Who wrote {letter}?", f"{letter}{number}", text, int(number == 0)))
    return pd.DataFrame(rows, columns=["question_id", "question", "candidate_id", "candidate", "label"])


@pytest.fixture(scope="module")
def folder(write_encoder, tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("pieces") / "encoder")


@pytest.fixture(scope="module")
def data(folder):
    splits = {"train": questions("abcdefgh"), "dev": questions("ijklmn"), "test": questions("opqrst")}
    return encode_pieces(replace(load_dataset("sample"), **splits), [str(folder)])


def test_options_of_words_that_an_encoder_does_not_use_are_said(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    dataset = replace(load_dataset("sample"), **dict.fromkeys(("train", "dev", "test"), questions("ab")))
    encode(dataset, [str(folder)])
    assert "change nothing" not in capsys.readouterr().out
    encode(dataset, [str(folder)], unknown_scale=0.1)
    assert "lowercase, mask_numbers and unknown_scale change nothing" in capsys.readouterr().out


def test_data_are_the_pieces_of_the_encoder_and_known_by_its_hash(data, folder, write_encoder, tmp_path):
    words = [data.vocabulary.words[number] for number in data.train.questions.take([0]).words]
    assert words == ["who", "wrote", "a", "?"]
    again = encode_pieces(data.dataset, [str(folder)])
    other = encode_pieces(data.dataset, [str(write_encoder(tmp_path, seed=1))])
    assert again.data_hash == data.data_hash != other.data_hash
    assert again.word_vectors.encoder == data.word_vectors.encoder != other.word_vectors.encoder


@pytest.mark.parametrize("embeddings", [("glove-6b-50d",), ()])
def test_word_vectors_are_no_encoder(data, embeddings):
    with pytest.raises(UserError, match="name one, such as --embeddings minilm"):
        encode_pieces(data.dataset, embeddings)


def test_a_part_of_the_training_questions_keeps_whole_questions_and_all_of_dev(data, folder):
    options = EncoderData(dataset="sample", embeddings=(str(folder),), train_questions=3)
    first, again = options.encode(data.dataset), options.encode(data.dataset)
    assert first.train.n_questions == 3
    assert first.data_hash == again.data_hash != data.data_hash
    kept = first.dataset.train
    whole = data.dataset.train[data.dataset.train["question_id"].isin(kept["question_id"])]
    pd.testing.assert_frame_equal(kept, whole)
    for split in ("dev", "test"):
        assert getattr(first, split).n_questions == getattr(data, split).n_questions
    every = replace(options, train_questions=100).encode(data.dataset)
    assert every.data_hash == data.data_hash


def test_an_encoder_with_too_few_positions_is_refused(data):
    entry = CATALOGUE["cross-encoder"]
    with pytest.raises(UserError, match="12 positions"):
        train(entry, *options_of(entry, entry.training), data, Seed(0))


def test_a_ranker_of_it_needs_no_encoder_any_more(write_encoder, tmp_path):
    from answer_ranking.ranking import Ranker
    from answer_ranking.ranking.export import export_onnx

    source = write_encoder(tmp_path / "encoder")
    dataset = replace(load_dataset("sample"), dev=questions("ij"), test=questions("kl"))
    data = encode_pieces(dataset, [str(source)])
    entry = CATALOGUE["cross-encoder-list"]
    model = entry.build(data.word_vectors.matrix, entry.options(most_pieces=12))
    Ranker.of_training(model, entry.name, data, "letters").save(tmp_path / "model")
    weights = source / "model.safetensors"
    sha256 = hashlib.sha256(weights.read_bytes()).hexdigest()
    weights.unlink()
    ranker = Ranker.load(tmp_path / "model")
    assert ranker.encoder == sha256
    assert Ranker(model, data.vocabulary).kind == entry.name
    expected = score(model, data.dev)
    pairs = [(row.question, row.candidate) for row in questions("ij").itertuples()]
    np.testing.assert_allclose(ranker.score(pairs), expected, atol=1e-5)
    why = ranker.explain("Who wrote it?", "Ann rained.")
    assert list(why.answer) == ["ann", "rain", "##ed", "."] and np.any(why.answer_weights)
    with pytest.raises(UserError, match="word pieces"):
        export_onnx(ranker, tmp_path / "model.onnx")
