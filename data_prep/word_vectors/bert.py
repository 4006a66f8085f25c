"""A frozen BERT: from word pieces to a vector for each."""

import numpy as np

from answer_ranking.data_prep.word_vectors.encoder_folder import BertConfig


class Bert:
    """A frozen BERT: the states of its last layer, see `BertStates`.

    Args:
        config: the sizes.
        weights: as `read_encoder` gives them.

    Example:
        >>> states = Bert(files.config, files.weights)(pieces, lengths)  # doctest: +SKIP
    """

    def __init__(self, config: BertConfig, weights: dict[str, np.ndarray]):
        import tensorflow as tf

        from answer_ranking.data_prep.word_vectors.bert_states import BertStates

        constants = {name: tf.constant(array) for name, array in config.join_projections(weights).items()}
        signature = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
        self._states = tf.function(BertStates(config, constants).__call__, input_signature=signature)

    def __call__(self, pieces: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Encode texts, int32 (texts, longest) and their lengths; float32 (texts, longest, hidden).

        What stands behind a text's length takes no part, and its states say nothing.
        """
        return self._states(np.asarray(pieces, np.int32), np.asarray(lengths, np.int32)).numpy()
