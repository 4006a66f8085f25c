"""A saved ranker scores the same and knows the encoding of its texts."""

import subprocess
import sys
from functools import partial

import keras
import numpy as np
import pytest

from answer_ranking.models import (
    ap_bilstm,
    ap_cnn,
    compare_aggregate,
    cosinet,
    ctrn,
    features_alone,
    hyperqa,
    lstm,
    qa_bilstm,
    qa_cnn,
    qrnn,
)
from answer_ranking.models.networks.pair_ranking import printed_parameters

VECTORS = np.random.default_rng(0).normal(size=(13, 5)).astype("float32")
WORDS = [np.array([[5, 7, 0], [3, 0, 0]], "int32"), np.array([[5, 8, 2, 0], [12, 4, 4, 11]], "int32")]
FEATURES = np.array([[1.0, 2], [3, 4]], "float32")
ENCODINGS = {
    hyperqa: "BagOfWords",
    qa_cnn: "WordwiseConvolution",
    ap_cnn: "WordwiseConvolution",
    qa_bilstm: "WordwiseBiLSTM",
    ap_bilstm: "WordwiseBiLSTM",
}
LISTWISE = {"objective": "listwise", "dropout": 0.2, "embedding_dropout": 0.1}
MODELS = {
    **{build.__name__: partial(build, VECTORS, 4, embedding_dropout=0.1) for build in ENCODINGS},
    "options of hyperqa": partial(hyperqa, VECTORS, 4, projection="smooth", distance_form="released"),
    "raw embeddings": partial(hyperqa, VECTORS, 4, raw_embeddings=True),
    **{
        f"{build.__name__} with features": partial(
            build, VECTORS, 4, projection=5, hidden=(4, 3), n_features=2, embedding_dropout=0.1
        )
        for build in (ctrn, qrnn, lstm)
    },
    "features alone": partial(features_alone, 2),
    "cosinet": partial(cosinet, VECTORS, filters=4),
    "compare_aggregate": partial(compare_aggregate, VECTORS, filters=4, dimension=5),
    "list-wise cosinet": partial(cosinet, VECTORS, filters=4, across="rnn", **LISTWISE),
    "list-wise compare_aggregate": partial(
        compare_aggregate, VECTORS, filters=4, dimension=5, across="bilstm", **LISTWISE
    ),
}


def scores(model):
    question, answer = WORDS
    if model.inputs[1].name == "answers":
        answer = np.stack([answer, answer[::-1]], axis=1)
    return keras.ops.convert_to_numpy(model([question, answer, FEATURES][: len(model.inputs)]))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_ranker_is_the_same(name, tmp_path):
    model = MODELS[name]()
    rng = np.random.default_rng(1)
    for variable in model.trainable_variables:
        variable.assign_add(rng.normal(size=variable.shape) * 0.1)
    model.save(tmp_path / "ranker.keras")
    loaded = keras.models.load_model(tmp_path / "ranker.keras")
    np.testing.assert_array_equal(scores(loaded), scores(model))
    assert type(loaded) is type(model)
    assert printed_parameters(loaded) == printed_parameters(model)
    for other in (loaded, keras.models.clone_model(model)) if hasattr(model, "encoding") else ():
        assert type(other.encoding) is type(model.encoding)
        assert other.encoding.encoder is other.get_layer("encoder")


# A process that knows nothing but the package.
LOAD = """
import sys
import keras
import numpy as np
import answer_ranking.models.networks
for path in sys.argv[1:]:
    model = keras.models.load_model(path, compile=False)
    words = [np.array([[5, 7, 0], [3, 0, 0]]), np.array([[5, 8, 2, 0], [12, 4, 4, 11]])]
    print(type(model.encoding).__name__, *np.asarray(model(words)))
"""


def test_the_encoding_is_there_in_a_fresh_process(tmp_path):
    models = {build: build(VECTORS, 4) for build in (hyperqa, ap_cnn, qa_bilstm)}
    paths = [tmp_path / f"{build.__name__}.keras" for build in models]
    for model, path in zip(models.values(), paths, strict=True):
        model.save(path)
    run = subprocess.run([sys.executable, "-c", LOAD, *paths], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    for (build, model), line in zip(models.items(), run.stdout.splitlines(), strict=True):
        name, *found = line.split()
        assert name == ENCODINGS[build]
        np.testing.assert_allclose(np.float64(found), scores(model), rtol=1e-5)
