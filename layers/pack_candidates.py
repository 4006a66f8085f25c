"""The real candidates of padded lists, without the padded ones."""

from typing import Any

import keras
from keras import ops

Shape = tuple[int | None, ...]


@keras.saving.register_keras_serializable(package="answer_ranking")
class PackCandidates(keras.layers.Layer):
    """Real candidates of padded lists in one batch, so that nothing is computed for padded ones.

    Lists of candidates have different lengths; in WikiQA a batch padded to its longest list holds two to
    three times as many candidates as there are. This layer takes the words of lists
    `(batch, candidates, length)`, 0 being padding, and returns

    * `texts` `(pairs, length)`: the candidates with at least one word, list by list, and last one text of
      padding alone, which stands for all padded candidates and keeps the batch from being empty;
    * `rows` `(pairs,)`: the list that each text belongs to, so that `ops.take(question, rows, axis=0)` puts
      its question beside each;
    * `places` `(batch, candidates)`: where in `texts` each candidate is, so that
      `ops.take(results, places, axis=0)` arranges results in lists again.

    The number of pairs depends on the values of the input, which XLA cannot compile: the layer declares so,
    and `Model.compile` with `jit_compile="auto"` heeds it.

    Example:
    >>> import numpy as np
    >>> lists = np.array([[[7, 8], [0, 0]], [[5, 0], [6, 9]]])
    >>> texts, rows, places = PackCandidates()(lists)
    >>> [[int(word) for word in text] for text in texts]
    [[7, 8], [5, 0], [6, 9], [0, 0]]
    >>> [int(row) for row in rows], [[int(place) for place in list_] for list_ in places]
    ([0, 1, 1, 0], [[0, 3], [1, 2]])

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_jit = False

    def build(self, input_shape: Shape) -> None:
        """Checks the shape; there are no weights.

        Args:
            input_shape: Shape of the lists.

        Raises:
            ValueError: If it has not three dimensions.
        """
        self.compute_output_shape(input_shape)
        self.built = True

    def call(self, inputs: Any) -> tuple[Any, Any, Any]:
        """Packs the candidates.

        Args:
            inputs: Integer tensor of shape `(batch, candidates, length)`.

        Returns:
            The tensors `texts`, `rows` and `places`.
        """
        batch, candidates, length = ops.shape(inputs)
        texts = ops.reshape(inputs, (-1, length))
        real = ops.any(ops.not_equal(texts, 0), axis=-1)
        (kept,) = ops.nonzero(real)
        kept = ops.cast(kept, "int32")
        padding = ops.zeros_like(texts[:1])
        packed = ops.concatenate([ops.take(texts, kept, axis=0), padding], axis=0)
        rows = ops.concatenate([kept // candidates, ops.zeros((1,), dtype="int32")], axis=0)
        counts = ops.cumsum(ops.cast(real, "int32"))
        places = ops.where(real, counts - 1, ops.max(counts))
        return packed, rows, ops.reshape(places, (batch, candidates))

    def compute_output_spec(self, inputs: Any) -> tuple[Any, Any, Any]:
        """Gives shapes and dtypes of the result.

        Args:
            inputs: Symbolic tensor of shape `(batch, candidates, length)`.

        Returns:
            The symbolic tensors `texts`, `rows` and `places`.
        """
        texts, rows, places = self.compute_output_shape(inputs.shape)
        return (
            keras.KerasTensor(texts, dtype=inputs.dtype),
            keras.KerasTensor(rows, dtype="int32"),
            keras.KerasTensor(places, dtype="int32"),
        )

    def compute_output_shape(self, input_shape: Shape) -> tuple[Shape, Shape, Shape]:
        """Gives the shapes of texts, rows and places.

        Args:
            input_shape: Shape of the lists, `(batch, candidates, length)`.

        Returns:
            Three tuples.

        Raises:
            ValueError: If `input_shape` has not three dimensions.
        """
        if len(input_shape) != 3:
            raise ValueError(
                "PackCandidates takes lists of texts of shape (batch, candidates, length). "
                f"Received: input_shape={input_shape}"
            )
        return (None, input_shape[-1]), (None,), tuple(input_shape[:-1])
