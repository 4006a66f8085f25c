"""Question and answer read together by a BERT whose weights are trained."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep.vocabulary import Vocabulary
from answer_ranking.data_prep.word_vectors.bert_states import BertStates
from answer_ranking.data_prep.word_vectors.encoder_folder import MOST_LAYERS, BertConfig
from answer_ranking.layers import MaskedMean
from answer_ranking.layers.common import check_option

POOLINGS = ("cls", "mean")
_SPECIAL = 3  # pieces of a pair that are no text's: [CLS], [SEP] and [SEP]


@keras.saving.register_keras_serializable("answer_ranking")
class PairStates(keras.layers.Layer):
    """Reads `[CLS] question [SEP] answer [SEP]` and gives one state of the pair, float32 (pairs, hidden).

    The inputs are a question and an answer, int32 (pairs, length) each, numbers of a `Vocabulary` of all word
    pieces, 0 being padding. The token type is 0 up to the first [SEP] and 1 behind it. Of a pair with more
    than `most_pieces` pieces the longer text loses its end, piece by piece; of two equal ones the answer.

    Args:
        sizes: the fields of a `BertConfig`.
        special: the numbers of the pieces [CLS], [SEP] and [UNK] among the encoder's.
        most_pieces: of a pair, [CLS] and both [SEP] included.
        dropout: share of the embeddings, of the attention's shares, and of what each sublayer adds to its
            input that training drops, as BERT does.
        seed: seeds dropout.
        pooling: "cls", the state of [CLS], or "mean", the mean of the states of all the pair's pieces.

    Raises:
        ValueError: `pooling` is unknown; the encoder has one token type alone or fewer positions than
            `most_pieces`; or a special piece is none.
    """

    def __init__(
        self,
        sizes: Mapping[str, Any],
        special: tuple[int, int, int],
        most_pieces: int = 128,
        dropout: float = 0.1,
        seed: int = 0,
        pooling: str = "cls",
        **arguments: Any,
    ):
        super().__init__(**{"dtype": "float32", **arguments})
        self.config, self.special = BertConfig(**sizes), tuple(special)
        self.most_pieces, self.dropout, self.seed, self.pooling = most_pieces, dropout, seed, pooling
        self._check()
        self._drop = keras.layers.Dropout(dropout, seed=seed, dtype="float32")
        self._mean = MaskedMean(dtype="float32")
        self._bert: dict[str, keras.Variable] = {}

    def _check(self) -> None:
        check_option("pooling", self.pooling, POOLINGS)
        config = self.config
        if config.token_types < 2 or config.layers > MOST_LAYERS:
            raise ValueError(
                "A pair needs an encoder of two token types and at most "
                f"{MOST_LAYERS} layers. Received: {config.token_types} and {config.layers}"
            )
        if not _SPECIAL < self.most_pieces <= config.positions:
            raise ValueError(
                f"`most_pieces` must be above {_SPECIAL} and at most the encoder's {config.positions} "
                f"positions. Received: most_pieces={self.most_pieces}"
            )
        if not all(0 <= piece < config.pieces for piece in self.special):
            raise ValueError(f"A special piece is none of {config.pieces}. Received: {self.special}")

    def build(self, input_shape: Any) -> None:
        for name, shape in self.config.joined_shapes().items():
            self._bert[name] = self.add_weight(shape=shape, initializer="zeros", name=name)

    def start_from(self, weights: Mapping[str, np.ndarray]) -> None:
        """Take an encoder's weights, as `read_encoder` gives them."""
        for name, values in self.config.join_projections(weights).items():
            self._bert[name].assign(values)

    def call(self, pair: list[tf.Tensor], training: bool = False) -> tf.Tensor:
        # Tensors: gathered from a variable, a table would be copied whole wherever else it is read.
        weights = {name: tf.convert_to_tensor(variable.value) for name, variable in self._bert.items()}
        encode = BertStates(self.config, weights, lambda x: self._drop(x, training=training))
        pieces, lengths, token_types = self._joined(*pair)
        states = encode(pieces, lengths, token_types)
        if self.pooling == "cls":
            return states[:, 0]
        return self._mean(states, mask=tf.sequence_mask(lengths, tf.shape(pieces)[1]))

    def _joined(self, question: tf.Tensor, answer: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Join two texts; gives pieces, int32 (pairs, longest), the pairs' lengths, and the token types."""
        begin, end, unknown = self.special
        of_question, of_answer = self._kept(question, answer)
        lengths = of_question + of_answer + _SPECIAL
        longest = tf.reduce_max(lengths)
        place = tf.broadcast_to(tf.range(longest), (tf.size(lengths), longest))
        behind = place - of_question[:, None]  # 1 at the first [SEP]
        words = tf.where(behind > 1, _words_at(answer, behind - 2), _words_at(question, place - 1))
        pieces = tf.where(words == Vocabulary.UNKNOWN, unknown, words - Vocabulary.FIRST)
        pieces = tf.where((behind == 1) | (place >= lengths[:, None] - 1), end, pieces)
        pieces = tf.where(place == 0, begin, pieces)
        return pieces, lengths, tf.cast(behind > 1, tf.int32)

    def _kept(self, question: tf.Tensor, answer: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Count the pieces of both texts that find room, int32 (pairs,) each."""
        room = self.most_pieces - _SPECIAL
        of_question, of_answer = (
            tf.math.count_nonzero(text, 1, dtype=tf.int32) for text in (question, answer)
        )
        of_question = tf.minimum(of_question, tf.maximum(room - of_answer, room - room // 2))
        return of_question, tf.minimum(of_answer, room - of_question)

    def compute_output_spec(self, pair: Any, training: bool = False) -> keras.KerasTensor:
        return keras.KerasTensor((pair[0].shape[0], self.config.hidden), "float32")

    def get_config(self) -> dict[str, Any]:
        own = {"sizes": vars(self.config)}
        for name in ("special", "most_pieces", "dropout", "seed", "pooling"):
            own[name] = getattr(self, name)
        return {**super().get_config(), **own}


def _words_at(text: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Give each row's words at its places, int32; any word where a place is none of the text."""
    inside = tf.clip_by_value(places, 0, tf.shape(text)[1] - 1)
    return tf.gather(text, inside, batch_dims=1)
