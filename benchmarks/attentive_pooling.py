"""Seconds of Attentive Pooling's training steps: many negatives scored, one trained on.

    python benchmarks/attentive_pooling.py

A step takes pairs of a question and a correct answer, scores k wrong answers for each, and trains on the
hardest (dos Santos et al., 2016). The ways run by turns in one process on the same pairs and weights:

plain       every pair of question and wrong answer goes through the whole ranker, questions and answers
            padded to the longest of the batch, the question encoded anew for each; then the pairs that are
            trained on;
best_plain  the best of plain Keras that we know: every distinct text is encoded once;
search      what training does: besides, wrong answers go in chunks of like length, words are multiplied once;
shared      the same with --share-negatives: k wrong answers for all pairs of a batch together;
gradient    the part of a step that is no search, which is the same in all ways.

plain, best_plain and search have the same wrong answers, and their losses must agree. A step is search,
forward pass and gradient; in search and shared the optimizer's update as well, at a learning rate of 0.
"""

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from common import (
    COUNT,
    add_counts,
    by_turns,
    chosen,
    gradient_ends,
    in_words,
    model_arguments,
    parse,
    print_table,
    ratios,
    seconds,
    write_figures,
)

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.models.catalogue import CATALOGUE, of_paper

MODELS = [entry.name for entry in of_paper("attentive_pooling")]
WAYS = ("plain", "best_plain", "search", "shared", "gradient")
ROW = "AP-CNN, 50 negatives"
Step = Callable[[Any], float]


def main() -> None:
    """Measure by turns, print the tables, and write the figures."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=5)
    about = "rankers to measure"
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["ap-cnn"], help=about)
    about = "filters, or units of a BiLSTM (default: the paper's)"
    parser.add_argument("--size", type=COUNT, help=about)
    add_counts(
        parser,
        batch_size=(20, "pairs in a batch"),
        negatives=(50, "k, wrong answers scored per pair"),
        batches=(3, "batches timed in a round"),
    )
    options = parse(parser)
    times = {name: measure(name, options) for name in options.models}
    report(times, options)
    figures = {"options": chosen(options), "seconds": times}
    if "ap-cnn" in times and options.negatives == 50:
        figures["table"] = {ROW: row_of(times["ap-cnn"])}
    write_figures(options.output, figures)


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
    margin = entry.training["margin"]
    batches["plain"] = batches["gradient"] = list(map(rectangles, batches["search"]))
    batches["best_plain"] = list(map(texts_once, batches["search"]))
    steps["plain"] = plain_step(ranker, margin, partial(hardest_of_pairs, ranker))
    steps["best_plain"] = plain_step(ranker, margin, partial(hardest_of_texts, ranker))
    steps["gradient"] = plain_step(ranker, margin, lambda question, wrong: wrong[:, 0])
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


def plain_step(ranker, margin: float, hardest: Callable) -> Step:
    """Make the step of plain Keras, with a function that finds the hardest wrong answers' words."""
    import tensorflow as tf

    @tf.function(reduce_retracing=True)
    def plain(question, correct, *wrong):
        wrong = hardest(question, *wrong)
        weights = [variable.value for variable in ranker.trainable_variables]
        with tf.GradientTape() as tape:
            right = ranker([question, correct], training=True)
            loss = tf.reduce_mean(tf.nn.relu(margin - right + ranker([question, wrong], training=True)))
        return loss, gradient_ends(tape, loss, weights)

    return lambda batch: float(plain(*batch)[0])


def hardest_of_pairs(ranker, question, wrong):
    """Score every pair of a question and one of its wrong answers by the whole ranker."""
    import tensorflow as tf

    shape = tf.shape(wrong)
    pairs = tf.repeat(question, shape[1], axis=0), tf.reshape(wrong, (-1, shape[2]))
    best = tf.argmax(tf.reshape(ranker(pairs), shape[:2]), axis=1)
    return tf.gather(wrong, best, batch_dims=1)


def hardest_of_texts(ranker, question, texts, pair_question, pair_text, choice):
    """Encode every text once, and score the pairs of their encodings."""
    import keras
    import tensorflow as tf

    encode = ranker.get_layer("encoder")
    questions = [tf.gather(x, pair_question) for x in keras.tree.flatten(encode(question))]
    answers = [tf.gather(x, pair_text) for x in keras.tree.flatten(encode(texts))]
    scores = ranker.get_layer("matcher")([*questions, *answers])
    best = tf.argmax(tf.gather(scores, choice), axis=1)
    return tf.gather(texts, tf.gather(pair_text, tf.gather(choice, best, batch_dims=1)))


def rectangles(batch) -> list:
    """Lay out the wrong answers of a batch as the plain way takes them: one padded text for every pair."""
    import numpy as np

    if (batch["choice"] < 0).any():
        raise UserError("the data set has too few answers for so many negatives: name a larger one.")
    wrong = batch["sampled"][batch["pair_text"][batch["choice"]]]
    return [batch["question"], batch["correct"], np.ascontiguousarray(wrong)]


def texts_once(batch) -> list:
    """Lay out the wrong answers of a batch, each once, and which of them meet which question."""
    names = ("question", "correct", "sampled", "pair_question", "pair_text", "choice")
    return [batch[name] for name in names]


def measure(name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Time the ways by turns; give each way's seconds per batch in every round."""
    steps, batches = prepare(name, options)

    def all_batches(way: str) -> list[float]:
        return list(map(steps[way], batches[way]))

    # The first time the steps are traced.
    losses = {way: all_batches(way) for way in WAYS}
    for way in ("best_plain", "search"):
        for one, other in zip(losses["plain"], losses[way], strict=True):
            if abs(one - other) > 1e-4 * max(1.0, abs(one)):
                raise RuntimeError(f"the losses differ: plain {one}, {way} {other}")

    def per_batch(way: str) -> float:
        return seconds(partial(all_batches, way)) / len(batches[way])

    return by_turns(options.rounds, {way: partial(per_batch, way) for way in WAYS})


def row_of(times: dict[str, list[float]]) -> dict[str, Any]:
    """Give the row of the page's table of speed."""
    share = statistics.median(times["gradient"]) / statistics.median(times["search"])
    cause = (
        f"the gradient of the pairs that are trained on, the same in all ways, takes {share:.0%} of our step"
    )
    return {
        "ours": times["search"],
        "plain": times["plain"],
        "best_plain": times["best_plain"],
        "cause": cause,
    }


def report(times: dict, options: argparse.Namespace) -> None:
    """Print the tables."""
    print(f"{options.dataset}: {options.batch_size} pairs, {options.negatives} wrong answers each")
    rows = []
    for name, of_way in times.items():
        medians = [1000 * statistics.median(times) for times in of_way.values()]
        found = []
        for slow, fast in (("plain", "search"), ("best_plain", "search"), ("plain", "shared")):
            found.append(in_words(ratios(of_way[slow], of_way[fast])))
        rows.append([CATALOGUE[name].title, *medians, *found])
    titles = ["plain / search", "best / search", "plain / shared"]
    print_table(["model, ms/step", *WAYS, *titles], rows)


if __name__ == "__main__":
    run_command(main)
