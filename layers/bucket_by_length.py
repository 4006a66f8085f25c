"""Candidates of padded lists in buckets of similar length."""

from typing import Any

import keras
from keras import ops

from .common import Shape, max_or_initial, refuse_ragged


@keras.saving.register_keras_serializable(package="answer_ranking")
class BucketByLength(keras.layers.Layer):
    """Puts the candidates of padded lists into buckets of similar length.

    Lists of candidates differ in length, and so do the candidates of one list: a WikiQA batch padded to its
    longest list holds two to three times as many candidates as there are, and more than half of their words
    are padding. This layer takes the words of lists, integers `(batch, candidates, length)`, 0 being padding,
    sorts the candidates with at least one word by length, and divides them into `buckets` of equal size. It
    returns:

    * `texts`: for each bucket, from the shortest texts to the longest, the candidates `(pairs, length)`, as
      wide as its longest text. The first texts, as many as there are buckets, are padding: they stand for the
      padded candidates and make sure that no bucket is empty;
    * `rows`: for each bucket the number of the list that each text belongs to `(pairs,)`;
      `ops.take(question, rows, axis=0)` gives each text its question;
    * `places`: the place of each candidate in the concatenated buckets `(batch, candidates)`;
      `ops.take(results, places, axis=0)` arranges results in lists again.

    The shapes depend on the values of the input, which XLA cannot compile. Therefore `supports_jit` is false,
    which `Model.compile` with `jit_compile="auto"` respects.

    Example:
    >>> import numpy as np
    >>> lists = np.array([[[7, 8], [0, 0]], [[5, 0], [6, 9]]])
    >>> texts, rows, places = BucketByLength(buckets=2)(lists)
    >>> [np.asarray(bucket).tolist() for bucket in texts]
    [[[0], [0]], [[5, 0], [7, 8], [6, 9]]]
    >>> [np.asarray(bucket).tolist() for bucket in rows], np.asarray(places).tolist()
    ([[0, 0], [1, 0, 1]], [[3, 0], [2, 4]])

    Args:
        buckets: Number of buckets. Defaults to 4.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `buckets` is less than 1.
    """

    def __init__(self, buckets: int = 4, **kwargs: Any):
        super().__init__(**kwargs)
        if buckets < 1:
            raise ValueError(f"`buckets` must be at least 1. Received: buckets={buckets}")
        self.buckets = buckets
        self.supports_jit = False

    def build(self, input_shape: Shape) -> None:
        self.compute_output_shape(input_shape)

    def call(self, inputs: Any) -> tuple[list[Any], list[Any], Any]:
        refuse_ragged(inputs)
        batch, candidates, length = ops.shape(inputs)
        texts = ops.reshape(inputs, (-1, length))
        # A text's length is the place of its last word: there may be zeros before.
        ends = ops.where(ops.not_equal(texts, 0), ops.arange(1, length + 1, dtype="int32"), 0)
        lengths = max_or_initial(ends, -1, 0)
        real = ops.not_equal(lengths, 0)
        # Those without a word are the shortest: behind them are the candidates.
        order = ops.cast(ops.argsort(lengths), "int32")
        n_empty = ops.shape(order)[0] - ops.sum(ops.cast(real, "int32"))
        by_length = order[n_empty:]
        # Texts of padding alone come before all others.
        padding = ops.zeros((self.buckets, length), dtype=texts.dtype)
        sorted_texts = ops.concatenate([padding, ops.take(texts, by_length, axis=0)], axis=0)
        before = [(self.buckets, 0)]
        widths = ops.pad(ops.take(lengths, by_length, axis=0), before, constant_values=1)
        rows = ops.pad(by_length // candidates, before)
        n = ops.shape(sorted_texts)[0]
        in_buckets, rows_in_buckets, start = [], [], 0
        for number in range(1, self.buckets + 1):
            end = n * number // self.buckets
            in_buckets.append(sorted_texts[start:end, : widths[end - 1]])
            rows_in_buckets.append(rows[start:end])
            start = end
        # The first place stands for every padded candidate.
        went = ops.cast(ops.argsort(order), "int32") - n_empty + self.buckets
        places = ops.where(real, went, 0)
        return in_buckets, rows_in_buckets, ops.reshape(places, (batch, candidates))

    def compute_output_spec(self, inputs: Any) -> tuple[list[Any], list[Any], Any]:
        of_texts, of_rows, of_places = self.compute_output_shape(inputs.shape)
        texts, rows = [], []
        for shape, rows_shape in zip(of_texts, of_rows, strict=True):
            texts.append(keras.KerasTensor(shape, dtype=inputs.dtype))
            rows.append(keras.KerasTensor(rows_shape, dtype="int32"))
        return texts, rows, keras.KerasTensor(of_places, dtype="int32")

    def compute_output_shape(self, input_shape: Shape) -> tuple[list[Shape], list[Shape], Shape]:
        if len(input_shape) != 3:
            raise ValueError(
                "BucketByLength takes lists of texts of shape (batch, candidates, length). "
                f"Received: input_shape={input_shape}"
            )
        return [(None, None)] * self.buckets, [(None,)] * self.buckets, tuple(input_shape[:-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "buckets": self.buckets}
