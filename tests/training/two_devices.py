"""Trains on one device and, through MirroredStrategy, on two; prints what both brought about as JSON.

A program of its own, because the number of logical devices must be set before TensorFlow starts.
"""

import contextlib
import json
from dataclasses import replace

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)

from answer_ranking.data_prep import Tokenizer, Vocabulary, encode_split, load_dataset  # noqa: E402
from answer_ranking.data_prep.overlap_features import inverse_document_frequencies, overlap_features  # noqa: E402
from answer_ranking.models import ap_cnn, cosinet, features_alone, hyperqa  # noqa: E402
from answer_ranking.training import (  # noqa: E402
    HardestNegative,
    HardestNegativeOptions,
    Listwise,
    ListwiseOptions,
    Pairwise,
    PairwiseOptions,
    Pointwise,
    PointwiseOptions,
    fit,
)


def pairwise(**options):
    options = PairwiseOptions(epochs=2, learning_rate=0.1, **options)
    return hyperqa(vectors, 8, max_norm=0.9, seed=1), Pairwise(train_split, options)


def pointwise(**options):
    options = PointwiseOptions(epochs=2, **{"optimizer": "sgd", "learning_rate": 0.1} | options)
    # Dropout draws other masks on every device.
    return features_alone(4, hidden=(4,), dropout=0.0, seed=1), Pointwise(train_split, options)


def listwise(**options):
    options = ListwiseOptions(epochs=2, optimizer="sgd", learning_rate=0.1, **options)
    ranker = cosinet(vectors, objective="listwise", filters=4, dropout=0.0, embedding_dropout=0.0, seed=1)
    return ranker, Listwise(train_split, options)


def hardest(build, **options):
    options = HardestNegativeOptions(epochs=2, sampled_negatives=6, learning_rate=0.3, **options)
    return build(vectors, 4, train_word_vectors=True, seed=1), HardestNegative(train_split, options)


def train(strategy, build, options):
    with strategy.scope() if strategy else contextlib.nullcontext():
        ranker, way = build(**options)
        result = fit(ranker, way, dev=dev_split, verbose=False)
    history = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in result.history]
    return history, [v.numpy().tolist() for v in ranker.trainable_variables]


dataset = load_dataset("sample")
tokenizer = Tokenizer(pretokenised=True)
table = dataset.train.head(40)
vocabulary = Vocabulary.build(tokenizer(table["candidate"].tolist()))
train_split, dev_split = (encode_split(t, tokenizer, vocabulary) for t in (table, dataset.dev))
idf = inverse_document_frequencies(train_split, len(vocabulary))
train_split, dev_split = (
    replace(split, features=overlap_features(split, vocabulary, idf)) for split in (train_split, dev_split)
)
vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 10)).astype("float32") * 0.3
vectors[0] = 0

CASES = [
    # One question a batch leaves the second device without any; the last batch of 7s is short.
    (pairwise, {"eq9": "points", "clip_norm": None, "batch_size": 1, "foreign_negatives": 1}),
    (pairwise, {"eq9": "released_code", "l2": 1e-3, "clip_norm": 0.5, "batch_size": 7, "margin": 1.0}),
    # Odd batches leave the second device a pair that does not count, and one of 39 a batch of one pair.
    (pointwise, {"l2": 1e-3, "clip_norm": 0.1, "batch_size": 7}),
    (pointwise, {"clip_norm": 0.1, "batch_size": 39, "learning_rate": 1.0}),
    (listwise, {"batch_size": 7}),
    # Of five pairs, the last of a batch of two leaves the second device without any.
    (hardest, {"build": ap_cnn, "batch_size": 2, "share_negatives": True, "clip_norm": 0.1}),
]
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
assert strategy.num_replicas_in_sync == 2
outcomes = [{"one": train(None, *case), "two": train(strategy, *case)} for case in CASES]
print(json.dumps(outcomes))
