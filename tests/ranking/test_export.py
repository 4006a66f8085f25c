"""Models as ONNX, run by onnxruntime."""

import json

import numpy as np
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Vocabulary
from answer_ranking.models import cosinet, hyperqa, qa_cnn
from answer_ranking.ranking import Ranker, export
from answer_ranking.ranking.export import export_onnx

WORDS = ["who", "wrote", "it", "ann", "rain", "."]
PAIRS = [("Who wrote it?", "Ann."), ("Who?", "It rain xyzzy.")]


@pytest.fixture
def ranker():
    vocabulary = Vocabulary(WORDS)
    vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 8)).astype("float32")
    return lambda build, **options: Ranker(build(vectors, **options), vocabulary)


@pytest.mark.parametrize(
    ("build", "options"),
    [(hyperqa, {"dimension": 6, "max_norm": 0.7}), (qa_cnn, {"filters": 4})],
)
def test_scores_are_the_ranker_s(ranker, build, options, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX needs pip install -e '.[onnx]'")
    pytest.importorskip("tf2onnx", reason="ONNX needs pip install -e '.[onnx]'")
    made = ranker(build, **options)
    assert export_onnx(made, tmp_path / "m.onnx") < 1e-5
    known = json.loads((tmp_path / "m.words.json").read_text())
    numbers = {word: number for number, word in enumerate(known["words"], start=2)}
    assert known["lowercase"] is True and list(numbers) == WORDS
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    for (question, answer), score in zip(PAIRS, made.score(PAIRS), strict=True):
        texts = [[numbers.get(word, 1) for word in tokens] for tokens in made.tokenizer([question, answer])]
        given = dict(zip(("question", "answer"), (np.array([each], np.int32) for each in texts), strict=True))
        assert session.run(None, given)[0][0] == pytest.approx(score, abs=1e-5)


def test_an_interrupted_export_leaves_no_words_of_another_model(ranker, tmp_path, monkeypatch):
    pytest.importorskip("tf2onnx", reason="ONNX needs pip install -e '.[onnx]'")
    (tmp_path / "m.words.json").write_text("of another model")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(export.json, "dump", interrupt)
    with pytest.raises(KeyboardInterrupt):
        export_onnx(ranker(hyperqa, dimension=6, max_norm=0.7), tmp_path / "m.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_what_cannot_be_exported_is_said(ranker, tmp_path):
    with pytest.raises(UserError, match=r"must end in \.onnx"):
        export_onnx(ranker(hyperqa, dimension=4), tmp_path / "model.pb")
    pytest.importorskip("tf2onnx", reason="ONNX needs pip install -e '.[onnx]'")
    lists = ranker(cosinet, filters=4, width=3, objective="listwise")
    with pytest.raises(UserError, match="models of pairs of texts can be exported"):
        export_onnx(lists, tmp_path / "model.onnx")
    broken = ranker(hyperqa, dimension=4)
    layer = broken.model.get_layer("matcher").get_layer("score")
    layer.bias.assign([np.nan])
    with pytest.raises(UserError, match="differ from Keras' by nan"):
        export_onnx(broken, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
