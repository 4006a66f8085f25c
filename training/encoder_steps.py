"""What an encoder of `models.attentive_pooling` is made of, for code that does its work in another way."""

from typing import Any

import keras

from layers import MaskedMax

_NAMED = {"text": "InputLayer", "word_vectors": "Embedding", "embedding_dropout": "Dropout"}
# Eq. 10, of the encoders that give a vector for a text.
_POOLING = {"maximum": MaskedMax.__name__, "tanh": "Activation"}
_UNNAMED = ["ExpandDims", "NotEqual", "Where"]


def has_steps(encoder: keras.Model, states: str, kind: str) -> bool:
    """Tell whether an encoder has the steps of those in `models.attentive_pooling`, and no other.

    Args:
        encoder: any model.
        states: the name of the layer that makes the states.
        kind: the name of that layer's class.

    Returns:
        Whether all steps are there by name and kind, with the pooling that gives a vector or without it, and
        the word vectors are looked up as they are (neither adapted by LoRA nor quantized). How the steps are
        wired is not looked at.

    Example:
        >>> has_steps(keras.Sequential([keras.Input((2,))]), "convolution", "Conv1D")
        False
    """
    operations = getattr(encoder, "operations", ())
    # Operations without a layer have names that Keras counts up.
    named = {step.name: type(step).__name__ for step in operations if isinstance(step, keras.layers.Layer)}
    unnamed = sorted(type(step).__name__ for step in operations if step.name not in named)
    expected = _NAMED | {states: kind}
    if unnamed != _UNNAMED or named not in (expected, expected | _POOLING):
        return False
    embedding = encoder.get_layer("word_vectors")
    return not embedding.lora_enabled and embedding.quantization_mode is None


def has_options(layer: keras.layers.Layer, options: dict[str, Any]) -> bool:
    """Tell whether a layer was configured with these options.

    Example:
        >>> has_options(keras.layers.Dense(3), {"units": 3, "activation": "linear"})
        True
    """
    config = layer.get_config()
    return all(config[option] == value for option, value in options.items())
