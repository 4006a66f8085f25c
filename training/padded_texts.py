"""The plain way to encode many texts of one batch: padded to one length, through the Keras encoder."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedTexts


class PaddedTexts:
    """Encodes the texts of a batch with any Keras encoder of padded token matrices.

    It works for every encoder that maps int32 `(texts, length)` to one vector per text, and is the
    yardstick for the faster ways that a particular encoder admits, such as `PackedBagOfWords`.

    Args:
        encoder: a Keras model from words, 0 being padding, to text vectors.

    Example:
        >>> encode = PaddedTexts(model.get_layer("encoder"))  # doctest: +SKIP
        >>> points = encode(encode.pack(split.candidates))  # doctest: +SKIP
    """

    signature = {"words": tf.TensorSpec((None, None), tf.int32)}  # noqa: RUF012

    def __init__(self, encoder: keras.Model):
        self.encoder = encoder

    def pack(self, *groups: EncodedTexts) -> dict[str, np.ndarray]:
        """Return the texts of all groups, one group after the other, as one padded int32 matrix."""
        longest = max(int(np.diff(group.offsets).max(initial=1)) for group in groups)
        padded = [
            np.pad(words, ((0, 0), (0, longest - words.shape[1])))
            for words in map(EncodedTexts.padded, groups)
        ]
        return {"words": np.concatenate(padded)}

    def stack(self, parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Stack the batches of several replicas, padding texts and words to the largest of them."""
        height, width = np.max([part["words"].shape for part in parts], axis=0)
        words = [part["words"] for part in parts]
        return {
            "words": np.stack([np.pad(w, ((0, height - len(w)), (0, width - w.shape[1]))) for w in words])
        }

    def __call__(self, packed: dict[str, tf.Tensor], step: tf.Tensor | None = None) -> tf.Tensor:
        """Return the texts' vectors `(texts, d)`; a `step` switches dropout on."""
        return self.encoder(packed["words"], training=step is not None)
