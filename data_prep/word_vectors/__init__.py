"""Word vectors: published files, vectors trained on a data set, and the table that a model starts from."""

from answer_ranking.data_prep.word_vectors.load import (
    WordVectors,
    load_word_vectors,
    mean_norm,
    resolve_task_vectors,
    scale_to_norm,
    short_name,
)
from answer_ranking.data_prep.word_vectors.trained import train_word2vec

__all__ = [
    "WordVectors",
    "load_word_vectors",
    "mean_norm",
    "resolve_task_vectors",
    "scale_to_norm",
    "short_name",
    "train_word2vec",
]
