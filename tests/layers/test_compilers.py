"""Every layer compiled by XLA and converted to TFLite and ONNX, against Keras."""

import keras
import numpy as np
import pytest
from all_layers import CASES, VARIANTS, one_model, without
from elsewhere import weighted
from layer_checks import assert_close, flat, to_numpy

pytestmark = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="these compile TensorFlow")


class Converted:
    """All layers as one function of their inputs, so that each compiler is called once."""

    def __init__(self, cases, change=lambda array: array):
        import tensorflow as tf

        self.model, arrays = one_model(cases)
        self.arrays = [change(array) for array in arrays]
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


def test_layers_compile_under_xla_with_their_gradients():
    """BucketByLength declines: its shapes depend on the data."""
    import tensorflow as tf

    converted = Converted(without(CASES | VARIANTS, "BucketByLength"))
    weights = [variable.value for variable in converted.model.trainable_variables]

    def with_gradients(*tensors):
        sources = [*weights, *(tensor for tensor in tensors if tensor.dtype.is_floating)]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            outputs = flat(converted.model(list(tensors)))
            total = tf.add_n([tf.reduce_sum(output) for output in weighted(outputs)])
        return outputs, tape.gradient(total, sources, unconnected_gradients="zero")

    compiled = tf.function(with_gradients, input_signature=converted.signature, jit_compile=True)
    outputs, gradients = compiled(*converted.arrays)
    converted.check(outputs)
    expected_gradients = with_gradients(*map(tf.constant, converted.arrays))[1]
    for found, expected in zip(to_numpy(gradients), to_numpy(expected_gradients), strict=True):
        # An element may be a small difference of large terms: what counts is the gradient's size.
        assert_close(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


# TFLite has no complex numbers, and of HyperbolicDistance's forms no `arcsinh`.
WITHOUT_BUILTINS = ["CircularCorrelation", "HyperbolicDistance"]


def test_layers_convert_to_tflite():
    import tensorflow as tf

    converted = Converted(without(CASES, *WITHOUT_BUILTINS))
    function = converted.function().get_concrete_function()
    content = tf.lite.TFLiteConverter.from_concrete_functions([function]).convert()
    assert b"Flex" not in content
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    arrays = converted.by_name()
    for tensor in interpreter.get_input_details():
        interpreter.set_tensor(tensor["index"], arrays[tensor["name"].partition(":")[0]])
    interpreter.invoke()
    outputs = interpreter.get_output_details()
    converted.check([interpreter.get_tensor(tensor["index"]) for tensor in outputs])


def with_words(array):
    """Give each text a word, and padding numbers: the converter multiplies by zero where a layer chooses."""
    if array.dtype == bool:
        return array | ~array.any(axis=-1, keepdims=True)
    return np.nan_to_num(array)


def test_layers_convert_to_onnx():
    """CircularCorrelation does not: the converter has no inverse Fourier transform."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX needs pip install -e '.[onnx]'")
    tf2onnx = pytest.importorskip("tf2onnx", reason="ONNX needs pip install -e '.[onnx]'")
    converted = Converted(without(CASES, "CircularCorrelation"), with_words)
    model, _ = tf2onnx.convert.from_function(converted.function(), converted.signature, opset=17)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    arrays = converted.by_name()
    feed = {x.name: arrays[x.name.partition(":")[0]] for x in session.get_inputs()}
    converted.check(session.run(None, feed))
