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

from data_prep import Tokenizer, Vocabulary, encode_split, load_dataset  # noqa: E402
from data_prep.overlap_features import inverse_document_frequencies, overlap_features  # noqa: E402
from models.attentive_pooling import RANKERS  # noqa: E402
from models.ctrn import ctrn  # noqa: E402
from models.hyperqa import hyperqa  # noqa: E402
from training.fit_hardest import fit_hardest  # noqa: E402
from training.fit_pairwise import fit_pairwise  # noqa: E402
from training.fit_pointwise import fit_pointwise  # noqa: E402
from training.hardest_negative_settings import HardestNegativeSettings  # noqa: E402
from training.packed_bag_of_words import PackedBagOfWords  # noqa: E402
from training.pairwise_settings import PairwiseSettings  # noqa: E402
from training.pointwise_settings import PointwiseSettings  # noqa: E402


def measure(split, scores):
    return {"map": float(scores[split.labels == 1].mean() - scores.mean())}


def pairwise(**options):
    ranker = hyperqa(vectors, 8, max_norm=0.9, seed=1)
    encoding = PackedBagOfWords(ranker.get_layer("encoder"))
    settings = PairwiseSettings(epochs=2, learning_rate=0.1, **options)
    result = fit_pairwise(
        ranker, encoding, train_split, dev_split, settings, measure, edge_norm=0.9, verbose=False
    )
    return ranker, result


def pointwise(**options):
    # Dropout draws other masks on every device.
    ranker = ctrn(vectors, 4, hidden=(4,), n_features=4, dropout=0.0, seed=1)
    settings = PointwiseSettings(epochs=2, **{"optimizer": "sgd", "learning_rate": 0.1} | options)
    return ranker, fit_pointwise(ranker, train_split, dev_split, settings, measure, verbose=False)


def hardest(name, **options):
    ranker = RANKERS[name](vectors, 4, train_word_vectors=True, seed=1)
    settings = HardestNegativeSettings(epochs=2, sampled_negatives=6, learning_rate=0.3, **options)
    return ranker, fit_hardest(ranker, train_split, dev_split, settings, measure, verbose=False)


def train(strategy, fit, options):
    with strategy.scope() if strategy else contextlib.nullcontext():
        ranker, result = fit(**options)
    history = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in result.history]
    return history, [v.numpy().tolist() for v in ranker.trainable_variables]


dataset = load_dataset("sample")
tokenizer = Tokenizer(pretokenised=True)
table = dataset.train.head(150)
vocabulary = Vocabulary.build(tokenizer(table["candidate"].tolist()))
train_split, dev_split = (encode_split(t, tokenizer, vocabulary) for t in (table, dataset.dev))
idf = inverse_document_frequencies(train_split, len(vocabulary))
train_split, dev_split = (
    replace(split, features=overlap_features(split, vocabulary, idf)) for split in (train_split, dev_split)
)
vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 10)).astype("float32") * 0.3
vectors[0] = 0

CASES = [
    (pairwise, {"eq9": "none", "l2": 1e-3, "clip_norm": 1.0, "batch_size": 8}),
    # One question a batch leaves the second device without any; the last batch of 7s is short.
    (pairwise, {"eq9": "points", "clip_norm": None, "batch_size": 1, "foreign_negatives": 1}),
    (
        pairwise,
        {"eq9": "released_code", "clip_norm": 0.5, "batch_size": 7, "reduction": "mean", "margin": 1.0},
    ),
    # Odd batches leave the second device a pair that does not count, and one of 149 a batch of one pair.
    (pointwise, {"l2": 1e-3, "clip_norm": 0.1, "batch_size": 7}),
    (pointwise, {"clip_value": 0.01, "batch_size": 149, "learning_rate": 1.0}),
    # Not Adam, which makes steps of their own size of gradients that are rounding errors.
    (pointwise, {"optimizer": "adagrad", "batch_size": 16}),
    # One pair a batch leaves the second device without any.
    (hardest, {"name": "AP-CNN", "batch_size": 1}),
    (hardest, {"name": "QA-BiLSTM", "batch_size": 7, "share_negatives": True, "clip_norm": 0.1}),
]
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
assert strategy.num_replicas_in_sync == 2
outcomes = [{"one": train(None, *case), "two": train(strategy, *case)} for case in CASES]
print(json.dumps(outcomes))
