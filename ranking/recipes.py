"""What `train_ranker` trains: a model of the catalogue with the options for own tables, or a preset."""

from typing import TYPE_CHECKING

import numpy as np

from answer_ranking.engine import Seed, TrainingData, options_of, train
from answer_ranking.ranking.open_vocabulary import OpenVocabulary
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.train_options import FROM_PRESETS, TrainOptions

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult


def train_seed(options: TrainOptions, data: TrainingData, seed: Seed) -> "tuple[keras.Model, FitResult]":
    """Train one seed, or go on with it; the model has the weights of the epoch that is best on dev."""
    entry, from_preset = options.entry, options.model in FROM_PRESETS
    # A preset goes on with the options that it was trained with.
    values = {} if from_preset else dict(entry.own_tables or {})
    for name in ("epochs", "learning_rate", "batch_size"):
        if (given := getattr(options, name)) is not None:
            values[name] = given
    model, training = options_of(entry, {**entry.training, **values})
    start = _preset(options.model, data) if from_preset else None
    return train(entry, model, training, data, seed, start)


def _preset(name: str, data: TrainingData) -> "keras.Model":
    """Give a preset's model with the words of the table; those that GloVe lacks as in its use."""
    from answer_ranking.ranking.keras_texts import with_word_vectors

    preset, vectors = Ranker.from_preset(name), data.word_vectors
    lacking = np.flatnonzero(~vectors.known)[1:]  # not the padding
    matrix = vectors.matrix.copy()
    words = preset.open_vocabulary
    assert isinstance(words, OpenVocabulary)
    matrix[lacking] = words.vectors_of_unknown([data.vocabulary.words[i] for i in lacking])
    return with_word_vectors(preset.model, matrix)
