"""The real candidates of padded lists, without the padded ones and with little padding of their own."""

import itertools
from typing import Any

import keras
from keras import ops

Shape = tuple[int | None, ...]


@keras.saving.register_keras_serializable(package="answer_ranking")
class PackCandidates(keras.layers.Layer):
    """Real candidates of padded lists, divided by length, so that little is computed for padding.

    Lists of candidates have different lengths, and so have the candidates of one list: in WikiQA a batch
    padded to its longest list holds two to three times as many candidates as there are, and these padded to
    the longest of them are more than half padding. This layer takes the words of lists
    `(batch, candidates, length)`, 0 being padding, sorts the candidates with at least one word by their
    length, deals them out to `groups` of like length, and returns three things:

    * `texts`: for each group the candidates `(pairs, length)`, from the shortest group to the longest, each
      as wide as its longest text. As many texts of padding alone as there are groups come first: they stand
      for the padded candidates, and keep every group from being empty;
    * `rows`: for each group the list that each text belongs to `(pairs,)`, so that
      `ops.take(question, rows, axis=0)` puts its question beside each;
    * `places` `(batch, candidates)`: where in the concatenated groups each candidate is, so that
      `ops.take(results, places, axis=0)` arranges results in lists again.

    The shapes depend on the values of the input, which XLA cannot compile: the layer declares so, and
    `Model.compile` with `jit_compile="auto"` heeds it.

    Example:
    >>> import numpy as np
    >>> lists = np.array([[[7, 8], [0, 0]], [[5, 0], [6, 9]]])
    >>> texts, rows, places = PackCandidates(groups=2)(lists)
    >>> [np.asarray(group).tolist() for group in texts]
    [[[0], [0]], [[5, 0], [7, 8], [6, 9]]]
    >>> [np.asarray(group).tolist() for group in rows], np.asarray(places).tolist()
    ([[0, 0], [1, 0, 1]], [[3, 0], [2, 4]])

    Args:
        groups: Number of groups; 1 gives all texts one width.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `groups` is less than 1.
    """

    def __init__(self, groups: int = 4, **kwargs: Any):
        super().__init__(**kwargs)
        if groups < 1:
            raise ValueError(f"`groups` must be at least 1. Received: groups={groups}")
        self.groups = groups
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

    def call(self, inputs: Any) -> tuple[list[Any], list[Any], Any]:
        """Packs the candidates.

        Args:
            inputs: Integer tensor of shape `(batch, candidates, length)`.

        Returns:
            The tensors of `texts`, those of `rows`, and `places`.
        """
        batch, candidates, length = ops.shape(inputs)
        texts = ops.reshape(inputs, (-1, length))
        # A text's length is the place of its last word: there may be zeros before.
        ends = ops.where(ops.not_equal(texts, 0), ops.arange(1, length + 1, dtype="int32"), 0)
        lengths = ops.max(ends, axis=-1)
        real = ops.not_equal(lengths, 0)
        (kept,) = ops.nonzero(real)
        kept = ops.cast(kept, "int32")
        order = ops.cast(ops.argsort(ops.take(lengths, kept, axis=0)), "int32")
        by_length = ops.take(kept, order, axis=0)
        # Texts of padding alone come before all others.
        padding = ops.zeros((self.groups, length), dtype=texts.dtype)
        packed = ops.concatenate([padding, ops.take(texts, by_length, axis=0)], axis=0)
        before = [(self.groups, 0)]
        widths = ops.pad(ops.take(lengths, by_length, axis=0), before, constant_values=1)
        rows = ops.pad(by_length // candidates, before)
        n = ops.shape(packed)[0]
        bounds = [n * i // self.groups for i in range(self.groups + 1)]
        spans = list(itertools.pairwise(bounds))
        grouped = [packed[start:end, : widths[end - 1]] for start, end in spans]
        # Where each kept text went: after the first place, which stands for every padded candidate.
        places_of_kept = ops.pad(ops.cast(ops.argsort(order), "int32") + self.groups, [(1, 0)])
        nth = ops.where(real, ops.cumsum(ops.cast(real, "int32")), 0)
        places = ops.take(places_of_kept, nth, axis=0)
        return grouped, [rows[start:end] for start, end in spans], ops.reshape(places, (batch, candidates))

    def compute_output_spec(self, inputs: Any) -> tuple[list[Any], list[Any], Any]:
        """Gives shapes and dtypes of the result.

        Args:
            inputs: Symbolic tensor of shape `(batch, candidates, length)`.

        Returns:
            The symbolic tensors of `texts`, those of `rows`, and `places`.
        """
        texts, rows, places = self.compute_output_shape(inputs.shape)
        return (
            [keras.KerasTensor(shape, dtype=inputs.dtype) for shape in texts],
            [keras.KerasTensor(shape, dtype="int32") for shape in rows],
            keras.KerasTensor(places, dtype="int32"),
        )

    def compute_output_shape(self, input_shape: Shape) -> tuple[list[Shape], list[Shape], Shape]:
        """Gives the shapes of texts, rows and places.

        Args:
            input_shape: Shape of the lists, `(batch, candidates, length)`.

        Returns:
            A tuple for each group's texts, one for each group's rows, and one for the places.

        Raises:
            ValueError: If `input_shape` has not three dimensions.
        """
        if len(input_shape) != 3:
            raise ValueError(
                "PackCandidates takes lists of texts of shape (batch, candidates, length). "
                f"Received: input_shape={input_shape}"
            )
        return [(None, None)] * self.groups, [(None,)] * self.groups, tuple(input_shape[:-1])

    def get_config(self) -> dict[str, Any]:
        """Gives the arguments that make an equal layer.

        Returns:
            dict, the arguments of the constructor.
        """
        return {**super().get_config(), "groups": self.groups}
