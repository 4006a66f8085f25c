"""Trains on one device and, through MirroredStrategy, on two; prints what both brought about as JSON.

A program of its own, because the number of logical devices must be set before TensorFlow starts.
"""

import contextlib
import json

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)

from data_prep import Tokenizer, Vocabulary, encode_split, load_dataset  # noqa: E402
from models.hyperqa import hyperqa  # noqa: E402
from training.fit_pairwise import fit_pairwise  # noqa: E402
from training.packed_bag_of_words import PackedBagOfWords  # noqa: E402
from training.pairwise_settings import PairwiseSettings  # noqa: E402


def train(strategy, **options):
    settings = PairwiseSettings(epochs=2, learning_rate=0.1, **options)
    with strategy.scope() if strategy else contextlib.nullcontext():
        ranker = hyperqa(vectors, 8, max_norm=0.9, seed=1)
        result = fit_pairwise(
            ranker,
            PackedBagOfWords(ranker.get_layer("encoder")),
            train_split,
            dev_split,
            settings,
            lambda split, scores: {"map": float(scores[split.labels == 1].mean() - scores.mean())},
            edge_norm=0.9,
            verbose=False,
        )
    history = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in result.history]
    return history, [v.numpy().tolist() for v in ranker.trainable_variables]


dataset = load_dataset("sample")
tokenizer = Tokenizer(pretokenised=True)
table = dataset.train.head(150)
vocabulary = Vocabulary.build(tokenizer(table["candidate"].tolist()))
train_split, dev_split = (encode_split(t, tokenizer, vocabulary) for t in (table, dataset.dev))
vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 10)).astype("float32") * 0.3
vectors[0] = 0

CASES = [
    {"eq9": "none", "l2": 1e-3, "clip_norm": 1.0, "batch_size": 8},
    # One question a batch leaves the second device without any; the last batch of 7s is short.
    {"eq9": "points", "clip_norm": None, "batch_size": 1, "foreign_negatives": 1},
    {"eq9": "released_code", "clip_norm": 0.5, "batch_size": 7, "reduction": "mean", "margin": 1.0},
]
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
assert strategy.num_replicas_in_sync == 2
print(json.dumps([{"one": train(None, **case), "two": train(strategy, **case)} for case in CASES]))
