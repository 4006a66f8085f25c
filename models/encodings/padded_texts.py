"""The plain way to encode many texts of one batch: padded to one length, through the Keras encoder."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedTexts


class PaddedTexts:
    """Encodes the texts of a batch with any Keras encoder of padded token matrices.

    It works for every encoder that maps int32 `(texts, length)` to a tensor, or a list of tensors, with the
    texts along the first axis. Dropout is the encoder's own. Faster encodings of a particular encoder, such
    as `BagOfWords`, must give the same results.

    Args:
        encoder: a Keras model from words, 0 being padding, to whatever stands for a text.

    Example:
        >>> from answer_ranking.models import hyperqa
        >>> encoding = PaddedTexts(hyperqa(np.ones((10, 4), "float32"), 3).get_layer("encoder"))
        >>> encoding({"words": np.array([[5, 7, 0]])}).shape
        TensorShape([1, 3])
    """

    kind = "packed"
    signature = {"words": tf.TensorSpec((None, None), tf.int32)}  # noqa: RUF012

    def __init__(self, encoder: keras.Model):
        self.encoder = encoder

    def pack(self, *groups: "EncodedTexts", rng: np.random.Generator | None = None) -> dict[str, np.ndarray]:
        """Return the texts of all groups, one group after the other, as one padded int32 matrix."""
        padded = [group.padded() for group in groups]
        longest = max(words.shape[1] for words in padded)
        wide = [np.pad(words, ((0, 0), (0, longest - words.shape[1]))) for words in padded]
        return {"words": np.concatenate(wide)}

    def __call__(self, packed: dict[str, tf.Tensor]) -> Any:
        """Return what the encoder makes of the texts, without dropout."""
        return self.encoder(packed["words"])

    def with_pull_back(self, packed: dict[str, tf.Tensor]) -> tuple[Any, Callable[[Any], list[tf.Tensor]]]:
        """Return the encoder's output under dropout and its way back.

        The way back is a function from the loss's gradients with respect to the output to its gradients with
        respect to the encoder's trainable variables.
        """
        with tf.GradientTape() as tape:
            encoded = self.encoder(packed["words"], training=True)
        weights = [variable.value for variable in self.encoder.trainable_variables]

        def pull_back(at_encoded: Any) -> list[tf.Tensor]:
            return tape.gradient(encoded, weights, output_gradients=at_encoded, unconnected_gradients="zero")

        return encoded, pull_back
