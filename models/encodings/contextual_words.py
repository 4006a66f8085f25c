"""The words of a model whose vectors are computed text by text, outside of it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf


class Vectors(Protocol):
    """A table of vectors by number, of any size and anywhere, see `data_prep`'s `TokenVectors`."""

    shape: tuple[int, int]

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Read vectors by their numbers, float16 (k, n)."""


@keras.saving.register_keras_serializable("answer_ranking")
class ContextualWords(keras.layers.Layer):
    """Looks tokens up in a table that is no part of the model, and masks padding, number 0.

    It stands where a layer of word vectors stands. The table, which may be larger than the memory, stays
    where it is, and only the rows of a batch are read; it is not saved with the model, and is replaced where
    new texts come.

    Args:
        output_dim: int, n, the numbers of a vector.

    Attributes:
        table: the vectors, `Vectors`; to be set before the layer is called.
    """

    input_dim = 2
    """How many numbers have a vector of the model's own: padding and unknown, both zero."""

    def __init__(
        self, output_dim: int, name: str = "word_vectors", trainable: bool = False, **arguments: Any
    ):
        super().__init__(name=name, trainable=trainable, **arguments)
        self.output_dim = output_dim
        self.table: Vectors | None = None
        self._turns = threading.RLock()
        self.built = True

    @contextmanager
    def reading(self, table: Vectors) -> Iterator[None]:
        """Read another table meanwhile; threads take turns, whatever models share the layer."""
        with self._turns:
            before, self.table = self.table, table
            try:
                yield
            finally:
                self.table = before

    def call(self, words: tf.Tensor) -> tf.Tensor:
        return tf.cast(self.look_up(words), self.compute_dtype)

    def look_up(self, words: tf.Tensor) -> tf.Tensor:
        """Give the vectors of tokens, float32, with a last axis more than `words`."""
        flat = tf.reshape(tf.cast(words, tf.int32), (-1,))
        rows = tf.numpy_function(self._take, [flat], tf.float16, stateful=True)
        # NumPy takes three times as long to widen them.
        rows = tf.cast(tf.ensure_shape(rows, (None, self.output_dim)), tf.float32)
        return tf.reshape(rows, tf.concat([tf.shape(words), [self.output_dim]], 0))

    def _take(self, numbers: np.ndarray) -> np.ndarray:
        if self.table is None:
            raise ValueError("the layer's `table` of token vectors is not set.")
        return self.table.take(numbers)

    def compute_mask(self, words: Any, mask: Any = None) -> Any:
        return keras.ops.not_equal(words, 0)

    def compute_output_spec(self, words: Any, **arguments: Any) -> keras.KerasTensor:
        return keras.KerasTensor((*words.shape, self.output_dim), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "output_dim": self.output_dim}


def look_up(words: tf.Tensor, layer: keras.layers.Layer) -> tf.Tensor:
    """Give the vectors of words by a model's layer `word_vectors`, float32."""
    if isinstance(layer, ContextualWords):
        return layer.look_up(words)
    # A tensor: gathered from a variable, it would be copied whole wherever else it is read.
    return tf.gather(tf.convert_to_tensor(layer.embeddings.value), words)
