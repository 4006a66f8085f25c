"""A cross-encoder (Devlin et al., NAACL 2019, section 4.1) as a functional Keras model, for TensorFlow."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import keras

from answer_ranking.data_prep.word_vectors.word_pieces import WordPieces
from answer_ranking.models.encodings.pair_states import PairStates
from answer_ranking.models.networks.pair_ranking import (
    bucket_candidates,
    check_options,
    concatenate_buckets,
    repeat_questions,
    score_vectors,
    text_inputs,
)

if TYPE_CHECKING:
    from answer_ranking.data_prep.word_vectors.encoder_folder import EncoderFiles


def cross_encoder(
    encoder: "EncoderFiles",
    *,
    objective: str = "pointwise",
    most_pieces: int = 128,
    dropout: float = 0.1,
    pooling: str = "cls",
    seed: int = 0,
) -> keras.Model:
    """Score answers by a BERT that reads question and answer together, and all of whose weights are trained.

    [BERT](https://arxiv.org/abs/1810.04805), section 4.1: the score is a linear layer over the state of [CLS]
    behind `[CLS] question [SEP] answer [SEP]`. There is no pooler between them. The mean of all states is in
    the place of that of [CLS] as in [Sentence-BERT](https://arxiv.org/abs/1908.10084), section 3.

    Args:
        encoder: the encoder from whose weights the training starts, see `read_encoder`.
        objective: "pointwise" or "listwise"; decides the inputs and outputs.
        most_pieces: word pieces of a pair, see `PairStates`.
        dropout: share of the numbers inside of the encoder, and of the pair's state, that training drops.
        pooling: "cls" or "mean", see `PairStates`.
        seed: seeds the first weights of the linear layer, and dropout.

    Returns:
        Pointwise: a model with the int32 inputs `question` and `answer` `(batch, length)`, numbers of a
        `Vocabulary` of the encoder's pieces, and float32 scores (log-odds) `(batch,)`. List-wise: `answers`
        `(batch, candidates, length)` and scores `(batch, candidates)`, 0 for a candidate of padding alone.

    Raises:
        ValueError: an option is unknown, or the encoder does not read pairs of so many pieces.
        UserError: the encoder's vocabulary lacks a special piece.

    Example:
        >>> model = cross_encoder(read_encoder(find_encoder("minilm")))  # doctest: +SKIP
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape  # doctest: +SKIP
        TensorShape([1])
    """
    check_options(objective, "none", 1)
    question, texts = text_inputs(objective)
    answers, rows, places = bucket_candidates(texts)
    pieces = WordPieces(encoder.pieces, encoder.lowercase)
    special = (pieces.begin, pieces.end, pieces.unknown)
    options = most_pieces, dropout, seed, pooling
    read = PairStates(asdict(encoder.config), special, *options, name="pair_states")
    states = []
    for answer, own in zip(answers, rows, strict=True):
        states.append(read([repeat_questions(question, own), answer]))
    read.start_from(encoder.weights)
    x = concatenate_buckets(states)
    x = keras.layers.Dropout(dropout, seed=seed + 1, name="pair_dropout")(x)
    # As small as BERT's own first weights: MiniLM's states have norms of about 8.
    kernel = keras.initializers.TruncatedNormal(stddev=0.02, seed=seed)
    return keras.Model([question, texts], score_vectors(x, texts, places, kernel), name="CrossEncoder")
