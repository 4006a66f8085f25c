import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.data_prep.word_vectors.load import resolve_task_vectors
from answer_ranking.data_prep.word_vectors.trained import train_word2vec

RNG = np.random.default_rng(0)


TEXTS = RNG.choice([f"word{i}" for i in range(24)], (400, 4)).tolist()


def trained(tmp_path, texts=TEXTS, size=20, **options):
    return train_word2vec(texts, size, **{"cache_home": tmp_path, "sample": 0.0, **options})


@pytest.mark.parametrize("sg", [True, False])
def test_the_file_holds_gensims_vectors(tmp_path, sg):
    from gensim.models import KeyedVectors, Word2Vec

    from answer_ranking.data_prep.word_vectors.trained import _stable_hash

    path = trained(tmp_path, seed=3, window=2, sg=sg, name="own")
    assert Path(path).name.startswith(f"own-{'skipgram' if sg else 'cbow'}-20d-seed3")
    read = KeyedVectors.load_word2vec_format(path)
    model = Word2Vec(
        TEXTS,
        vector_size=20,
        sg=sg,
        seed=3,
        window=2,
        min_count=1,
        sample=0.0,
        workers=1,
        hashfxn=_stable_hash,
    )
    assert read.index_to_key == model.wv.index_to_key
    np.testing.assert_array_equal(read.vectors, model.wv.vectors)


def test_the_same_settings_give_the_same_vectors_in_any_process(tmp_path, capsys):
    first = trained(tmp_path / "a")
    assert "400 texts, 1,600 tokens, 24 words" in capsys.readouterr().err
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_trained import trained\n"
        "print(trained(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path / "b")]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(first).read_bytes() == Path(other).read_bytes()
    # Asked for again, they are not trained again.
    written = Path(first).stat().st_mtime_ns
    assert trained(tmp_path / "a") == first
    assert Path(first).stat().st_mtime_ns == written
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"sg": False}, {"size": 21}, {"window": 1}, {"epochs": 2}, {"texts": TEXTS[1:]}]
)
def test_whatever_matters_has_a_file_of_its_own(tmp_path, change):
    assert trained(tmp_path, **change) != trained(tmp_path)


def test_only_training_texts_of_a_data_set_enter(tmp_path):
    dataset = load_dataset("sample")
    odd = dataset.test.assign(candidate="xylophone zeppelin")
    path = trained(tmp_path, replace(dataset, test=odd, dev=odd), epochs=1)
    assert Path(path).name == "sample-skipgram-20d-seed0.vectors.txt"
    words = {line.split(" ")[0] for line in Path(path).read_text(encoding="utf-8").split("\n")[1:]}
    assert "the" in words
    assert not {"xylophone", "zeppelin"} & words
    # A text that stands in many rows counts once.
    again = dataset.train.assign(question_id=dataset.train["question_id"] + "-again")
    doubled = replace(
        dataset, train=type(again)(np.concatenate([dataset.train, again]), columns=again.columns)
    )
    assert trained(tmp_path, doubled, epochs=1) == path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be at least 1, not 0"),
        ({"texts": []}, "no word to train vectors for"),
        ({"min_count": 1000}, "none occurs 1000 times in the 400 texts"),
    ],
)
def test_bad_options_are_user_errors(tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        trained(tmp_path, **options)
    assert not list(tmp_path.rglob("*.txt"))


def test_task_vectors_are_trained_on_the_data_sets_own_texts(tmp_path, capsys):
    dataset = load_dataset("sample")
    own = resolve_task_vectors(["glove-6b-50d", "task-cbow-10d"], dataset, mask_numbers=True)
    assert own == ("glove-6b-50d", train_word2vec(dataset, 10, sg=False, mask_numbers=True))
    texts = [["one", "text"], ["another"]]
    description = replace(dataset.description, unlabelled_texts=lambda *_: (iter(texts), "two texts"))
    (path,) = resolve_task_vectors(["task-skipgram-10d"], replace(dataset, description=description))
    assert Path(path).name == "sample-skipgram-10d-seed0.vectors.txt"
    assert Path(path).read_text(encoding="utf-8").startswith("3 10\n")
    assert "Word vectors are trained on two texts." in capsys.readouterr().out
    with pytest.raises(UserError, match="size must be at least 1, not 0"):
        resolve_task_vectors(["task-skipgram-0d"], dataset)
