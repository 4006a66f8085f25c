"""What all models of words have in common: padding, texts without words, saving, encodings of texts."""

import keras
import numpy as np
import pytest
from distinct_networks import DISTINCT

from answer_ranking.models.catalogue.cosinet import ACROSS

QUESTION = np.array([[3, 4, 9, 0], [5, 0, 0, 0], [7, 8, 2, 6]], "int32")
ANSWER = np.array([[7, 8, 0, 0, 0], [2, 11, 4, 0, 0], [9, 8, 7, 6, 2]], "int32")
FEATURES = np.random.default_rng(1).normal(size=(3, 2)).astype("float32")
# test_cross_encoder.py has those of word pieces, test_cosinet.py the padding of lists.
ENTRIES = [entry for entry in DISTINCT if entry.reads != "pieces"]
OF_PAIRS = [entry for entry in ENTRIES if entry.method != "listwise"]

# Words of n numbers, f filters, hidden layers of h, LSTMs of d units, dense layers of m, two slices and two
# features: how many numbers the docstrings say that a model trains.
n, f, h, d, m = 6, 4, 4, 5, 3
LSTMS, MLP = 2 * (4 * d * (n + d) + 4 * d), h + 2 * h + 2
LSTMS_OF_F, COMPARISONS = 2 * (4 * f * (n + f) + 4 * f), 6 * f + 27 * (f + 2) + 15 * (n + 2)
PARAMETERS = {
    "hyperqa": n * m + m + 2,
    "cosineqa": n * m + m + 2,
    "ctrn": 3 * 2 * n * f + (2 * f + 2) * h + MLP,
    "qrnn": 3 * 2 * n * f + (2 * f + 2) * h + MLP,
    "lstm": 4 * f * (n + f) + 4 * f + (2 * f + 2) * h + MLP,
    "features": 2 * h + MLP,
    "qa-cnn": 2 * n * f + f,
    "ap-cnn": 4 * n * f + f + f * f,
    "qa-bilstm": LSTMS_OF_F,
    "ap-bilstm": LSTMS_OF_F + 2 * f * 2 * f,
    "mp-cnn": 6 * (n * f + n * 2) + 3 * (f + n * 2) + COMPARISONS * h + MLP,
    "anmm-1": 7 + 1 + n,
    "anmm-2": 5 * (7 + 1) + 5 + n,
    "arc-i": 3 * n * f + f + 3 * f * f + f + 2 * f * h + 2 * h + 1,
    "arc-ii": 6 * n * f + f + 2 * (9 * f * f + f) + f * h + 2 * h + 1,
    "blstm": LSTMS + 2 * 2 * (4 * d * 3 * d + 4 * d) + (2 * d + 2) * h + MLP,
    "hd-lstm": LSTMS + d * d + (d + 1 + 2) * h + MLP,
    "ntn-lstm": LSTMS + 2 * (d * d + 2 * d + 1) + (2 + 2) * h + MLP,
    "cntn": 3 * n * f + f + 2 * (16 * 16 + 2 * 16 + 1) + 2 + 2 + 1,
    "mv-lstm": LSTMS + 2 * (4 * d * d + 4 * d + 1) + 2 * 10 * h + 2 * h + 1,
    "qa-lstm-cnn": LSTMS + 2 * 2 * d * f + f,
    "ai-cnn": 3 * n * f + f + 3 * f * f + f + f + 2 * f * h + MLP,
    "severyn-moschitti": 2 * (5 * n * f + f) + f * f + (2 * f + 1 + 2) * h + MLP,
    "ca-clip": 2 * (n * m + m) + 2 * (15 * m * f + 5 * f) + 2 * (5 * f * m + m) + 2 * m * m + m + m + 1,
    "cnn": 3 * n * f + f + (2 * f + 2) * h + MLP,
    "cnn-cnt": 2 * n * f + f + f * f + 1 + 2 + 1,
}
# test_cosinet.py has the paper's figures.
PRINTED = {"cosinet", "cosinet-list", *(f"cosinet-list-{across}" for across in ACROSS), "ca", "ca-list"}

each_model = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
each_of_pairs = pytest.mark.parametrize("entry", OF_PAIRS, ids=lambda entry: entry.name)


def scores(model, question=QUESTION, answer=ANSWER, features=FEATURES):
    """Score pairs, or lists of two answers."""
    arrays = {"question": question, "answer": answer, "features": features}
    arrays["answers"] = np.stack([answer, answer[::-1]], axis=1)
    return keras.ops.convert_to_numpy(model([arrays[each.name] for each in model.inputs]))


def lstms(layer):
    """The LSTMs within a layer."""
    parts = list(getattr(layer, "layers", ()))
    if isinstance(layer, keras.layers.Bidirectional):
        parts += [layer.forward_layer, layer.backward_layer]
    found = [layer] if isinstance(layer, keras.layers.LSTM) else []
    for part in parts:
        found += lstms(part)
    return found


@each_of_pairs
def test_padding_and_the_other_pairs_change_no_score_and_no_words_have_a_finite_one(kept, entry):
    model = kept(entry)
    expected = scores(model)
    assert (expected.shape, expected.dtype) == ((3,), np.float32) and np.ptp(expected) > 0
    padded = scores(model, np.pad(QUESTION, ((0, 0), (0, 5))), np.pad(ANSWER, ((0, 0), (0, 2))))
    np.testing.assert_allclose(padded, expected, rtol=1e-4, atol=1e-6)
    alone = scores(model, QUESTION[:1, :3], ANSWER[:1, :2], FEATURES[:1])
    np.testing.assert_allclose(alone, expected[:1], rtol=1e-4, atol=1e-6)
    assert np.isfinite(scores(model, QUESTION * 0)).all()


@each_model
def test_a_model_trains_what_it_says_and_a_loaded_one_is_the_same(small, entry, tmp_path):
    model = small(entry)
    count = sum(np.prod(variable.shape) for variable in model.trainable_variables)
    assert entry.name in PRINTED or count == PARAMETERS[entry.name]
    rng = np.random.default_rng(1)
    for variable in model.trainable_variables:
        variable.assign_add(rng.normal(size=variable.shape) * 0.1)
    model.save(tmp_path / "ranker.keras")
    loaded = keras.models.load_model(tmp_path / "ranker.keras")
    np.testing.assert_array_equal(scores(loaded), scores(model))
    assert type(loaded) is type(model)
    # On a GPU, cuDNN would refuse a text without words.
    assert entry.method == "listwise" or not any(each.use_cudnn for each in lstms(loaded))
    for other in (loaded, keras.models.clone_model(model)) if hasattr(model, "encoding") else ():
        assert type(other.encoding) is type(model.encoding)
        assert other.encoding.encoder is other.get_layer("encoder")
