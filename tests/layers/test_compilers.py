"""Every layer compiled by XLA and converted to TFLite and ONNX, against Keras."""

import keras
import numpy as np
import pytest
from layer_checks import assert_close, flat, make_model, to_numpy

from answer_ranking import layers

pytestmark = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="these compile TensorFlow")
RNG = np.random.default_rng(3)


def normal(*shape):
    return np.float32(RNG.normal(size=shape))


def gates(*shape):
    return [np.float32(RNG.uniform(0.1, 0.9, size=shape)) for _ in range(3)]


VECTORS = [normal(2, 4), normal(2, 4)]
BALL = [0.3 * np.tanh(vector) for vector in VECTORS]
TEXTS = [normal(2, 3, 4), normal(2, 5, 4)]
MASKS = [np.arange(len(lengths)) < np.array([[2], [3]]) for lengths in ("abc", "abcde")]
LISTS = np.array([[[7, 8], [0, 0]], [[5, 0], [6, 9]]], "int32")
# A layer with its inputs and masks.
CASES = {
    "AttentivePooling": (layers.AttentivePooling(), TEXTS, MASKS),
    "BucketByLength": (layers.BucketByLength(2), LISTS, None),
    "CircularCorrelation": (layers.CircularCorrelation(), VECTORS, None),
    "CosineSimilarity": (layers.CosineSimilarity(), VECTORS, None),
    "CrossTemporalEncoder": (layers.CrossTemporalEncoder(6), TEXTS, MASKS),
    "CrossTemporalEncoder, QRNN": (layers.CrossTemporalEncoder(6, crossing=None), TEXTS, MASKS),
    "CrossTemporalGate": (layers.CrossTemporalGate(), [gates(2, 3, 4), gates(2, 5, 4)], MASKS),
    "HyperbolicDistance": (layers.HyperbolicDistance(), BALL, None),
    "HyperbolicDistance, released": (layers.HyperbolicDistance("released"), BALL, None),
    "MaskedMax": (layers.MaskedMax(), TEXTS[1], MASKS[1]),
    "MaskedMean": (layers.MaskedMean(), TEXTS[1], MASKS[1]),
    "MaskedSum": (layers.MaskedSum(), TEXTS[1], MASKS[1]),
    "NeuralTensor": (layers.NeuralTensor(3), VECTORS, None),
    "PooledConvolution": (layers.PooledConvolution(6, 3), TEXTS[1], MASKS[1]),
    "PoolingCell": (keras.layers.RNN(layers.PoolingCell(2)), normal(2, 3, 6), None),
    "QuasiRecurrentGates": (layers.QuasiRecurrentGates(6), TEXTS[1], MASKS[1]),
    "RecurrentPooling": (layers.RecurrentPooling(), gates(2, 5, 4), MASKS[1]),
    "RecurrentPooling, blocked": (layers.RecurrentPooling("blocked"), gates(2, 5, 4), MASKS[1]),
    "RiemannianGradient": (layers.RiemannianGradient(), BALL[0], None),
    "SoftAlignment": (layers.SoftAlignment(), TEXTS, MASKS),
    "UnitBall": (layers.UnitBall(0.7), VECTORS[0], None),
    "ValueSharedWeights": (layers.ValueSharedWeights(4), TEXTS, MASKS),
    "WordRelatedness": (layers.WordRelatedness(), TEXTS, MASKS),
}


class Converted:
    """All layers as one function of their inputs, so that each compiler is called once."""

    def __init__(self, without=()):
        import tensorflow as tf

        keras.utils.set_random_seed(3)
        self.arrays, models = [], []
        for name, (layer, inputs, masks) in CASES.items():
            if name in without:
                continue
            models.append(make_model(layer, inputs, masks, dynamic=False))
            self.arrays += [*flat(inputs), *flat(masks)]
        self.model = keras.Model([x for each in models for x in each.inputs], [x.outputs for x in models])
        self.signature = [
            tf.TensorSpec(array.shape, array.dtype, name=f"input_{number}")
            for number, array in enumerate(self.arrays)
        ]
        self.outputs = self.model(self.arrays)

    def function(self):
        """Give the function of the inputs, one after the other, that returns all outputs."""
        import tensorflow as tf

        return tf.function(lambda *tensors: flat(self.model(list(tensors))), input_signature=self.signature)

    def by_name(self):
        """Give the inputs by their names in the signature."""
        return {spec.name: array for spec, array in zip(self.signature, self.arrays, strict=True)}

    def check(self, found):
        """Compare each layer's outputs with Keras'."""
        found = iter(found)
        for outputs in self.outputs:
            for output in flat(outputs):
                assert_close(next(found), output)
        assert next(found, None) is None


def test_every_layer_stands_here():
    assert {name.partition(",")[0] for name in CASES} == set(layers.__all__)


def test_layers_compile_under_xla_with_their_gradients():
    """BucketByLength declines: its shapes depend on the data."""
    import tensorflow as tf

    converted = Converted(without=["BucketByLength"])
    weights = [variable.value for variable in converted.model.trainable_variables]

    def with_gradients(*tensors):
        with tf.GradientTape() as tape:
            outputs = flat(converted.model(list(tensors)))
            total = tf.add_n([tf.reduce_sum(tf.square(output)) for output in outputs])
        return outputs, tape.gradient(total, weights)

    plain = tf.function(with_gradients, input_signature=converted.signature)
    compiled = tf.function(with_gradients, input_signature=converted.signature, jit_compile=True)
    outputs, gradients = compiled(*converted.arrays)
    converted.check(outputs)
    expected_gradients = plain(*converted.arrays)[1]
    for found, expected in zip(to_numpy(gradients), to_numpy(expected_gradients), strict=True):
        # An element may be a small difference of large terms: what counts is the gradient's size.
        assert_close(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


# TFLite has no complex numbers, and of HyperbolicDistance's forms no `arcsinh`.
WITHOUT_BUILTINS = ["CircularCorrelation", "HyperbolicDistance"]


def test_layers_convert_to_tflite(tmp_path):
    import tensorflow as tf

    converted = Converted(WITHOUT_BUILTINS)
    archive = keras.export.ExportArchive()
    archive.track(converted.model)
    archive.add_endpoint("serve", converted.function())
    archive.write_out(tmp_path, verbose=False)
    content = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path)).convert()
    assert b"Flex" not in content
    found = tf.lite.Interpreter(model_content=content).get_signature_runner()(**converted.by_name())
    converted.check([found[name] for name in sorted(found, key=lambda name: int(name.split("_")[1]))])


def test_layers_convert_to_onnx():
    """CircularCorrelation does not: the converter has no inverse Fourier transform."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX needs pip install -e '.[onnx]'")
    tf2onnx = pytest.importorskip("tf2onnx", reason="ONNX needs pip install -e '.[onnx]'")
    converted = Converted(without=["CircularCorrelation"])
    model, _ = tf2onnx.convert.from_function(converted.function(), converted.signature, opset=17)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    arrays = converted.by_name()
    feed = {x.name: arrays[x.name.partition(":")[0]] for x in session.get_inputs()}
    converted.check(session.run(None, feed))
