"""Seconds and memory of Attentive Pooling's training steps: many negatives scored, one trained on.

    python benchmarks/attentive_pooling.py

A step takes pairs of a question and a correct answer, scores k wrong answers for each, and trains on the
hardest (dos Santos et al., 2016). Three ways run by turns in one process on the same pairs and weights:

plain    every pair of question and wrong answer goes through the whole ranker, questions and answers padded
         to the longest of the batch, the question encoded anew for each; then the pairs that are trained on;
search   what training does: questions are encoded once, wrong answers in chunks of like length;
shared   the same with --share-negatives: k wrong answers for all pairs of a batch together.

plain and search have the same wrong answers, and their losses must agree. A step is search, forward pass and
gradient; in search and shared the optimizer's update as well, at a learning rate of 0.

Memory is the peak of a process of its own for each model, way and k, TensorFlow itself included.
"""

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from common import (
    by_turns,
    check_options,
    chosen,
    give_back,
    in_own_process,
    in_words,
    model_arguments,
    peak_mib,
    print_table,
    ratios,
    seconds,
    write_figures,
)

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.models.catalogue import CATALOGUE, of_paper

MODELS = [entry.name for entry in of_paper("attentive_pooling")]
WAYS = ("plain", "search", "shared")
Step = Callable[[Any], float]


def main() -> None:
    """Measure by turns, print the tables, and write the figures."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=5)
    about = "rankers to measure"
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["ap-cnn"], help=about)
    about = "filters, or units of a BiLSTM (default: the paper's)"
    parser.add_argument("--size", type=int, help=about)
    parser.add_argument("--batch-size", type=int, default=20, help="pairs in a batch")
    parser.add_argument("--negatives", type=int, default=50, help="k, wrong answers scored per pair")
    parser.add_argument("--batches", type=int, default=3, help="batches timed in a round")
    about = "k, for the memory"
    parser.add_argument("--memory", type=int, nargs="*", default=[10, 50, 200], help=about)
    options = parser.parse_args()
    if options.part:
        give_back(peak(*options.part, options))
        return
    counts = ("batch_size", "negatives", "batches", "rounds", "size", "memory")
    check_options(options, *counts, output=options.output)
    # First the memory: a process starts with the peak of the one that starts it.
    memory = {name: peaks(name, options) for name in options.models}
    times = {name: measure(name, options) for name in options.models}
    report(times, memory, options)
    figures = {"options": chosen(options), "seconds": times, "memory_mib": memory}
    write_figures(options.output, figures)


def peaks(name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Measure a model's peak memory by way and k."""
    found: dict[str, list[float]] = {}
    for way in WAYS:
        found[way] = []
        for negatives in options.memory:
            apart = in_own_process(options, name, way, negatives=negatives, batches=1)
            found[way].append(apart)
    return found


def peak(name: str, way: str, options: argparse.Namespace) -> float:
    """Measure the peak memory of one step, in MiB."""
    steps, batches = prepare(name, options)
    steps[way](batches[way][0])
    return peak_mib()


def prepare(name: str, options: argparse.Namespace) -> tuple[dict[str, Step], dict[str, list]]:
    """Build a ranker, and a step and batches for every way."""
    import numpy as np

    from answer_ranking.data_prep import encode_dataset, load_dataset

    encoded = encode_dataset(load_dataset(options.dataset))
    rng = np.random.default_rng(0)
    vectors = np.float32(0.1 * rng.normal(size=(len(encoded.vocabulary), 300)))
    entry = CATALOGUE[name]
    size = {} if options.size is None else {"filters": options.size}
    ranker = entry.build(vectors, entry.options(**size))
    steps, batches = {}, {}
    for way in ("search", "shared"):
        steps[way], batches[way] = searched(ranker, name, encoded.train, way == "shared", options)
    steps["plain"] = plain_step(ranker, entry.training["margin"])
    batches["plain"] = list(map(rectangles, batches["search"]))
    return steps, batches


def searched(ranker, name: str, train, share: bool, options: argparse.Namespace) -> tuple[Step, list]:
    """Make the step of the training method, and its first batches."""
    import keras
    import tensorflow as tf

    from answer_ranking.engine import options_of
    from answer_ranking.training.batch_stream import BatchStream
    from answer_ranking.training.methods import make_method

    entry = CATALOGUE[name]
    given = {"sampled_negatives": options.negatives, "batch_size": options.batch_size}
    _, settings = options_of(entry, {**entry.training, **given, "share_negatives": share})
    method = make_method(entry.method, train, settings)
    trainer = method.trainer(ranker)
    trainer.compile(optimizer=keras.optimizers.SGD(0.0), jit_compile=False)
    trainer.optimizer.build(ranker.trainable_variables)
    source = BatchStream(method, trainer)
    step = tf.function(trainer.train_step, input_signature=[source.dataset().element_spec])

    def take(batch) -> float:
        trainer.loss_mean.reset_state()
        return float(step(batch)["loss"])

    return take, list(islice(source, options.batches))


def plain_step(ranker, margin: float) -> Step:
    """Make the step that scores every pair by the whole ranker."""
    import tensorflow as tf

    matrix = tf.TensorSpec((None, None), tf.int32)
    block = tf.TensorSpec((None, None, None), tf.int32)

    @tf.function(input_signature=[matrix, matrix, block])
    def plain(question, correct, wrong):
        shape = tf.shape(wrong)
        pairs = tf.repeat(question, shape[1], axis=0), tf.reshape(wrong, (-1, shape[2]))
        best = tf.argmax(tf.reshape(ranker(pairs), shape[:2]), axis=1)
        weights = [variable.value for variable in ranker.trainable_variables]
        with tf.GradientTape() as tape:
            right = ranker([question, correct], training=True)
            hardest = ranker([question, tf.gather(wrong, best, batch_dims=1)], training=True)
            loss = tf.reduce_mean(tf.nn.relu(margin - right + hardest))
        # One number of each gradient keeps them all from being pruned.
        return loss, [tf.reshape(gradient, (-1,))[0] for gradient in tape.gradient(loss, weights)]

    return lambda batch: float(plain(*batch)[0])


def rectangles(batch) -> list:
    """Lay out the wrong answers of a batch as the plain way takes them: one padded text for every pair."""
    import numpy as np

    if (batch["choice"] < 0).any():
        raise UserError("the data set has too few answers for so many negatives: name a larger one.")
    wrong = batch["sampled"][batch["pair_text"][batch["choice"]]]
    return [batch["question"], batch["correct"], np.ascontiguousarray(wrong)]


def measure(name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Time the ways by turns; give each way's seconds per batch in every round."""
    steps, batches = prepare(name, options)

    def all_batches(way: str) -> list[float]:
        return list(map(steps[way], batches[way]))

    # The first time the steps are traced.
    losses = {way: all_batches(way) for way in WAYS}
    for one, other in zip(losses["plain"], losses["search"], strict=True):
        if abs(one - other) > 1e-4 * max(1.0, abs(one)):
            raise RuntimeError(f"the losses differ: plain {one}, search {other}")

    def per_batch(way: str) -> float:
        return seconds(partial(all_batches, way)) / len(batches[way])

    return by_turns(options.rounds, {way: partial(per_batch, way) for way in WAYS})


def report(times: dict, memory: dict, options: argparse.Namespace) -> None:
    """Print the tables."""
    print(f"{options.dataset}: {options.batch_size} pairs, {options.negatives} wrong answers each")
    rows = []
    for name, of_way in times.items():
        medians = [1000 * statistics.median(times) for times in of_way.values()]
        search = in_words(ratios(of_way["plain"], of_way["search"]))
        shared = in_words(ratios(of_way["plain"], of_way["shared"]))
        rows.append([CATALOGUE[name].title, *medians, search, shared])
    print_table(["model, ms/step", *WAYS, "plain / search", "plain / shared"], rows)
    if options.memory:
        print("\nPeak memory (MiB) of a process that does one step, by wrong answers per pair")
        rows = []
        for name, of_way in memory.items():
            for way, found in of_way.items():
                rows.append([CATALOGUE[name].title, way, *found])
        print_table(["model", "way", *options.memory], rows)


if __name__ == "__main__":
    run_command(main)
