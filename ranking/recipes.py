"""The papers' models and their ways of training for own tables, in the size of their main experiments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from answer_ranking.data_prep import EncodedSplit, Vocabulary
from answer_ranking.data_prep.word_vectors.load import WordVectors
from answer_ranking.ranking.options import FROM_PRESETS, TrainOptions
from answer_ranking.ranking.ranker import Ranker

if TYPE_CHECKING:
    import keras


def recipe(
    options: TrainOptions,
    vectors: WordVectors,
    embedding: "keras.layers.Embedding",
    train: EncodedSplit,
    seed: int,
) -> tuple["keras.Model", Any, Sequence["keras.callbacks.Callback"]]:
    """Return a paper's model in the size of its main experiment, its way of training, and the callbacks."""
    from answer_ranking import models, training

    given = {name: getattr(options, name) for name in ("epochs", "learning_rate", "batch_size")}
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    start = _start(options, vectors)
    if options.model in ("hyperqa", "hyperqa_squad"):
        model = start or models.hyperqa(embedding, dimension=400, max_norm=0.7, seed=seed)
        pairwise = training.PairwiseOptions(eq9="parameters", **wanted)
        return model, training.Pairwise(train, pairwise, seed=seed), ()
    if options.model == "ctrn":
        model = models.ctrn(embedding, 128, kernel_size=2, hidden=(128,), dropout=0.5, seed=seed * 1000)
        return model, training.Pointwise(train, training.PointwiseOptions(**wanted), seed=seed), ()
    if options.model == "ap-cnn":
        # Without shared negatives a short table takes many times as long.
        hardest = training.HardestNegativeOptions(share_negatives=True, **wanted)
        model = models.ap_cnn(embedding, 400, 4, seed=seed * 1000)
        return model, training.HardestNegative(train, hardest, seed=seed), ()
    if options.model == "ca-list-birnn":
        # What reproduce/studies/fair.py chose on WikiQA's dev.
        model = models.compare_aggregate(
            embedding,
            objective="listwise",
            across="birnn",
            activation="tanh",
            dropout=0.1,
            seed=seed * 1000,
        )
        wanted = {"epochs": 5, "learning_rate": 8e-4, "l2": 1e-6, "batch_size": 4} | wanted
        listwise = training.ListwiseOptions(**wanted)
        way = training.Listwise(train, listwise, seed=seed, order_seed=order_seed(options))
        return model, way, (training.SlantedTriangularRate(listwise.learning_rate),)
    model = start or models.cosinet(embedding, filters=300, width=5, unit_words=True, seed=seed * 1000)
    wanted = {"epochs": 3, "learning_rate": 2e-3 if start else 6e-3, "l2": 0.0, "patience": None} | wanted
    chosen = training.PointwiseOptions(**wanted)
    train = train.keep_questions(train.counts_under("answerable"))
    rate = training.SlantedTriangularRate(chosen.learning_rate)
    return model, training.Pointwise(train, chosen, seed=seed), (rate,)


def order_seed(options: TrainOptions) -> int | None:
    """Return how a list-wise ranker sees candidates: a table may list the correct ones first."""
    return None if options.in_order else 0


def _start(options: TrainOptions, vectors: WordVectors) -> "keras.Model | None":
    """Give a preset with the words of the table; None where the model is no preset."""
    if options.model not in FROM_PRESETS:
        return None
    from answer_ranking.ranking.keras_texts import with_word_vectors, word_layer

    preset = Ranker.from_preset(options.model).model
    layer = word_layer(preset)
    assert layer is not None
    # The words that GloVe lacks shared a vector when the preset was trained.
    lacking = ~vectors.known & (np.arange(len(vectors.known)) > 0)
    matrix = vectors.matrix.copy()
    matrix[lacking] = layer.embeddings.numpy()[Vocabulary.UNKNOWN]
    return with_word_vectors(preset, matrix)
