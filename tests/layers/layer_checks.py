"""What every layer of this project must do, whatever it computes.

`run_layer_test` checks configuration, shapes, dtypes, precision, saving and training; `check_padding` checks
that padding changes neither values nor gradients. A layer takes one array, or a nested list of arrays, of
shape `(batch, ..., features)` and, if it takes masks, one array or a list of arrays as the argument `mask`.
"""

import inspect

import keras
import numpy as np
from gradients import compiled, with_gradients

# JAX compiles each of them anew; bfloat16 is what its accelerators have.
ON_JAX = keras.backend.backend() == "jax"
HALF_PRECISIONS = ("mixed_bfloat16",) if ON_JAX else ("mixed_float16", "mixed_bfloat16")


def flat(x):
    """Gives the leaves of a nested structure, none for None."""
    return [] if x is None else keras.tree.flatten(x)


def like(structure, leaves):
    """Arranges the leaves as in the structure."""
    return keras.tree.pack_sequence_as(structure, list(leaves))


def to_numpy(x):
    """Converts each tensor of a nested structure, half precision as float32."""
    return keras.tree.map_structure(
        lambda tensor: keras.ops.convert_to_numpy(
            keras.ops.cast(tensor, "float32") if "16" in dtype_of(tensor) else tensor
        ),
        x,
    )


def assert_close(found, expected, rtol=1e-5, atol=1e-6):
    """Compares the tensors or arrays of two nested structures."""
    for one, other in zip(flat(to_numpy(found)), flat(to_numpy(expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def dtype_of(tensor):
    """Gives a tensor's dtype by name."""
    return keras.backend.standardize_dtype(tensor.dtype)


def call(layer, inputs, masks=None):
    """Calls a layer with its masks, if there are any."""
    return layer(inputs) if masks is None else layer(inputs, mask=masks)


def run_layer_test(
    layer_class,
    arguments,
    inputs,
    tmp_path,
    *,
    output_shape,
    masks=None,
    n_weights=0,
    half_precision_output=None,
    half_precision_tolerance=0.02,
    trainable_input=True,
):
    """Checks a layer from configuration to training.

    `n_weights` and `output_shape` (one shape or a list) are the expected ones, `half_precision_output` the
    expected dtype under half precision policies (None: theirs), `half_precision_tolerance` the largest
    relative deviation there. With `trainable_input` training puts a Dense layer before the layer.
    """
    check_configuration(layer_class, arguments)

    layer = layer_class(**arguments)
    make_model(layer, inputs, masks)  # makes the weights outside of what `compiled` traces
    outputs = compiled(lambda *tensors: call(layer, like(inputs, tensors), masks))(*flat(inputs))
    assert len(layer.weights) == n_weights
    shapes = [tuple(output.shape) for output in flat(outputs)]
    assert shapes == (output_shape if isinstance(output_shape, list) else [output_shape])
    assert all(np.isfinite(output).all() for output in flat(to_numpy(outputs)))

    for dynamic in (False, True):
        check_symbolic(layer, inputs, masks, outputs, dynamic)
    check_saving(layer, inputs, masks, tmp_path / f"{layer_class.__name__}.keras")
    for policy in HALF_PRECISIONS:
        check_half_precision(
            layer, policy, inputs, masks, half_precision_output, half_precision_tolerance, to_numpy(outputs)
        )
    # TensorFlow compiles all layers in test_compilers.py. Compiling on torch needs a C++ compiler on the
    # user's machine and takes minutes. JAX compiles either way, in one piece or each operation by itself; one
    # training of each layer is what there is time for.
    trainings = {
        "tensorflow": (("mixed_float16", False),),
        "jax": (("float32", True),),
        "torch": (("float32", False), ("mixed_float16", False)),
    }
    for policy, jit_compile in trainings[keras.backend.backend()]:
        check_training(layer_class, arguments, policy, jit_compile, inputs, masks, trainable_input)


def check_configuration(layer_class, arguments):
    """Checks that the configuration holds every argument and makes an equal layer."""
    layer = layer_class(**arguments)
    config = layer.get_config()
    parameters = set(inspect.signature(layer_class.__init__).parameters) - {"self", "kwargs"}
    assert parameters <= set(config)
    for name, value in arguments.items():
        assert (
            keras.saving.serialize_keras_object(getattr(layer, name)) == config[name] or config[name] == value
        )
    assert layer_class.from_config(config).get_config() == config
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert type(restored) is layer_class
    assert restored.get_config() == config
    assert keras.saving.get_registered_name(layer_class) == f"answer_ranking>{layer_class.__name__}"


def symbolic(arrays, dynamic):
    """Makes a keras.Input for each array; all axes but the last (for masks: all) unknown if dynamic."""
    tensors = []
    for array in flat(arrays):
        shape = array.shape[1:]
        if dynamic:
            kept = 0 if array.dtype == bool else 1
            # A size of 1 is there to broadcast and stays known.
            shape = tuple(
                size if size == 1 or axis >= len(shape) - kept else None for axis, size in enumerate(shape)
            )
        tensors.append(keras.Input(shape, dtype=str(array.dtype)))
    return tensors


def make_model(layer, inputs, masks, dynamic=True, dense=False):
    """Puts the layer into a functional model, with a Dense layer shared by its inputs before it if wanted."""
    features, mask_inputs = symbolic(inputs, dynamic), symbolic(masks, dynamic)
    hidden = features
    if dense:
        shared = keras.layers.Dense(features[0].shape[-1], kernel_initializer="identity")
        hidden = [shared(tensor) for tensor in features]
    outputs = call(layer, like(inputs, hidden), None if masks is None else like(masks, mask_inputs))
    return keras.Model([*features, *mask_inputs], outputs)


def check_symbolic(layer, inputs, masks, outputs, dynamic):
    """Checks that symbolic and eager calls agree in shape, dtype and value."""
    model = make_model(layer, inputs, masks, dynamic)
    expected = flat(outputs)
    for tensor, output in zip(model.outputs, expected, strict=True):
        assert len(tensor.shape) == len(output.shape)
        assert all(size in (None, actual) for size, actual in zip(tensor.shape, output.shape, strict=True))
        if not dynamic:
            assert tuple(tensor.shape[1:]) == tuple(output.shape[1:])
        assert dtype_of(tensor) == dtype_of(output)
    if not dynamic:
        # The model of unknown shapes shows the values.
        return
    predicted = flat(model.predict([*flat(inputs), *flat(masks)], verbose=0))
    for value, output in zip(predicted, expected, strict=True):
        np.testing.assert_allclose(value, to_numpy(output), rtol=1e-5, atol=1e-6)


def check_saving(layer, inputs, masks, path):
    """Checks that a model with the layer computes the same after saving and loading."""
    model = make_model(layer, inputs, masks)
    model.save(path)
    restored = keras.saving.load_model(path)
    before, after = (compiled(each)([*flat(inputs), *flat(masks)]) for each in (model, restored))
    np.testing.assert_equal(flat(to_numpy(before)), flat(to_numpy(after)))


def check_half_precision(layer, policy, inputs, masks, output_dtype, tolerance, expected):
    """Checks dtypes, and values against the float32 result, under a half precision policy."""
    half = type(layer).from_config({**layer.get_config(), "dtype": policy})
    symbolic_outputs = flat(make_model(half, inputs, masks).outputs)
    half.set_weights([to_numpy(weight) for weight in layer.weights])
    outputs = compiled(lambda *tensors: flat(call(half, like(inputs, tensors), masks)))(*flat(inputs))
    for tensor, output, value in zip(symbolic_outputs, outputs, flat(expected), strict=True):
        assert dtype_of(output) == dtype_of(tensor) == (output_dtype or half.compute_dtype)
        np.testing.assert_allclose(to_numpy(output), value, rtol=tolerance, atol=tolerance)


def without_last_step(arrays, lowest_rank):
    """Cuts axis 1 of each array, where it has one of more than one step."""
    if isinstance(arrays, list):
        return [without_last_step(array, lowest_rank) for array in arrays]
    if arrays is None or arrays.ndim < lowest_rank or arrays.shape[1] == 1:
        return arrays
    return arrays[:, :-1]


class _Lengths(keras.utils.PyDataset):
    """The same batch at full length and, where two lengths are wanted, without its last step."""

    def __init__(self, layer, inputs, masks, n_lengths):
        super().__init__()
        shorter = without_last_step(inputs, 3), without_last_step(masks, 2)
        self.batches = []
        for x, mask in ((inputs, masks), shorter)[:n_lengths]:
            shapes = layer.compute_output_shape(keras.tree.map_structure(lambda array: array.shape, x))
            shapes = shapes if isinstance(shapes, list) else [shapes]
            targets = tuple(np.zeros(shape, "float32") for shape in shapes)
            self.batches.append(((*flat(x), *flat(mask)), targets if len(targets) > 1 else targets[0]))

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def check_training(layer_class, arguments, policy, jit_compile, inputs, masks, dense):
    """Checks that fit changes the weights and keeps them finite."""
    layer = layer_class(**arguments, dtype=policy)
    model = make_model(layer, inputs, masks, dense=dense)
    # Compiled or step by step: a graph that is not compiled takes as long to make as one that is.
    how = {"jit_compile": jit_compile, "run_eagerly": not jit_compile}
    model.compile(keras.optimizers.SGD(1e-2), loss=["mse"] * len(model.outputs), **how)
    before, own = model.get_weights(), [v.numpy() for v in layer.trainable_variables]
    # XLA compiles each length by itself: of a second one it would show nothing new.
    batches = _Lengths(layer, inputs, masks, n_lengths=1 if jit_compile else 2)
    history = model.fit(batches, verbose=0, shuffle=False)
    assert np.isfinite(history.history["loss"][0])
    after = model.get_weights()
    assert all(np.isfinite(weight).all() for weight in after)
    assert any((old != new).any() for old, new in zip(before, after, strict=True))
    for old, variable in zip(own, layer.trainable_variables, strict=True):
        assert (old != to_numpy(variable)).any(), variable.path


def check_padding(layer, inputs, masks, *, fills=(0.0, 1e3), tolerance=1e-6):
    """Checks that padding appended to axis 1 changes neither the result nor the gradients.

    With one mask the inputs are one text, with a list of masks each input is a text of its own. Each text in
    turn is lengthened by three steps that hold one of `fills` and are masked out. The result, over the real
    steps where it still has a time axis, and the gradients must stay as they were, and the gradient of the
    padding must be zero.
    """
    texts = inputs if isinstance(masks, list) else [inputs]
    owners = [number for number, text in enumerate(texts) for _ in flat(text)]
    arrays, mask_list = flat(inputs), flat(masks)
    make_model(layer, inputs, masks)  # makes the weights outside of what `compiled` traces

    def result(mask_list, real_steps=None):
        def function(*tensors):
            outputs = flat(call(layer, like(inputs, tensors), like(masks, mask_list)))
            # Where a result has a time axis of its own, only the real steps count.
            return [
                output if len(output.shape) < len(tensors[0].shape) else output[:, :steps]
                for output, steps in zip(outputs, real_steps or [None] * len(outputs), strict=True)
            ]

        return function

    def lengthened(x, fill):
        padding = ((0, 0), (0, 3), *((0, 0),) * (x.ndim - 2))
        return np.pad(x, padding, constant_values=fill)

    outputs, expected_gradients = with_gradients(result(mask_list))(*arrays)
    expected = [to_numpy(x) for x in outputs]
    steps = [output.shape[1] for output in expected]
    for changed in range(len(texts)):
        longer_masks = [lengthened(x, False) if i == changed else x for i, x in enumerate(mask_list)]
        function = with_gradients(result(longer_masks, steps))
        for fill in fills:
            longer = [
                lengthened(x, fill) if owner == changed else x
                for x, owner in zip(arrays, owners, strict=True)
            ]
            outputs, found = function(*longer)
            for actual, value in zip(outputs, expected, strict=True):
                np.testing.assert_allclose(to_numpy(actual), value, rtol=tolerance, atol=tolerance)
            for actual, value in zip(found, expected_gradients, strict=True):
                length = value.shape[1]
                np.testing.assert_allclose(
                    actual[:, :length], value, rtol=10 * tolerance, atol=10 * tolerance
                )
                assert not actual[:, length:].any()
