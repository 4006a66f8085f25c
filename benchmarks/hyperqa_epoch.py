"""Seconds per epoch of HyperQA: the packed way of this project against plain Keras `fit` on padded texts.

    python benchmarks/hyperqa_epoch.py --dataset wikiqa

Both ways train the same model from the same first weights on the same question-answer pairs in the same
batches, and must arrive at the same loss. Plain: (question, correct, wrong) triples, padded to the longest
text of the batch, through `keras.Model.fit`.
Packed: every distinct word of a batch projected once, every text encoded once, a question's answers scored
together. The ways take turns, each in a process of its own.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from common import (
    by_turns,
    check_least,
    check_options,
    give_back,
    in_own_process,
    in_words,
    model_arguments,
    peak_mib,
    print_table,
    ratios,
    write_figures,
)

from answer_ranking.base.command import run_command
from answer_ranking.models.catalogue import CATALOGUE

WAYS = ("plain", "packed")
MARGIN, RATE, LARGEST_GRADIENT = 0.5, 0.1, 1.0


def main() -> None:
    """Measure both ways by turns and print the table."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=3)
    about = "epochs per run; the first is not counted"
    parser.add_argument("--epochs", type=int, default=6, help=about)
    parser.add_argument("--batch-size", type=int, default=32, help="questions in a batch")
    about = "dimensions of the word vectors, at least 50"
    parser.add_argument("--inputs", type=int, default=300, help=about)
    parser.add_argument("--dimension", type=int, default=300, help="dimensions of the text vectors")
    about = "dropout of words and texts in the timed runs"
    parser.add_argument("--dropout", type=float, default=0.1, help=about)
    options = parser.parse_args()
    if options.part:
        give_back(measure(*options.part, options))
        return
    check_options(options, "rounds", "batch_size", "dimension", output=options.output)
    # The first epoch is not counted; 50 dimensions are those of the smallest word vectors.
    check_least(options, "epochs", 2)
    check_least(options, "inputs", 50)
    without_dropout = {way: in_own_process(options, way, dropout=0.0) for way in WAYS}
    children = {way: partial(in_own_process, options, way) for way in WAYS}
    report(by_turns(options.rounds, children), without_dropout, options)


def measure(way: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train one way."""
    from answer_ranking.data_prep import encode_dataset, load_dataset, load_word_vectors
    from answer_ranking.engine import options_of
    from answer_ranking.training import score
    from answer_ranking.training.batch_stream import BatchStream
    from answer_ranking.training.methods import make_method

    encoded = encode_dataset(load_dataset(options.dataset))
    further = options.inputs - 50
    vectors = load_word_vectors(["glove-6b-50d"], encoded.vocabulary, identity_dimensions=further)
    train = encoded.train.keep_questions(encoded.train.counts_under("clean"))
    entry = CATALOGUE["hyperqa"]
    model_options, settings = options_of(
        entry,
        {
            "dimension": options.dimension,
            "max_norm": 0.99,
            "embedding_dropout": options.dropout,
            "dropout": options.dropout,
            "margin": MARGIN,
            "learning_rate": RATE,
            "clip_norm": LARGEST_GRADIENT,
            "foreign_negatives": 0,
            "batch_size": options.batch_size,
            "epochs": options.epochs,
        },
    )
    model = entry.build(vectors.matrix, model_options)
    method = make_method(entry.method, train, settings)
    trainer = method.trainer(model)
    batches = BatchStream(method, trainer)
    spent = (train_packed if way == "packed" else train_plain)(model, trainer, batches)
    return {
        "seconds": spent,
        "loss": mean_hinge(train, score(model, train)),
        **sizes(batches),
        "peak_mib": peak_mib(),
    }


def train_packed(_, trainer, batches) -> list[float]:
    """Train as `training.fit` does; give the seconds of every epoch."""
    import keras

    steps = min(len(batches), 32)
    trainer.compile(keras.optimizers.Adagrad(RATE), steps_per_execution=steps, jit_compile=False)
    return timed_fit(trainer, batches.dataset(), batches)


def train_plain(model, _, batches) -> list[float]:
    """Train by Keras on padded triples; give the seconds of every epoch."""
    import keras

    names = ("question", "correct", "wrong")
    inputs = [keras.Input((None,), dtype="int32", name=name) for name in names]
    question, correct, wrong = map(model.get_layer("encoder"), inputs)
    matcher = model.get_layer("matcher")
    gap = keras.ops.subtract(matcher([question, correct]), matcher([question, wrong]))
    trainer = keras.Model(inputs, gap)
    trainer.compile(
        optimizer=keras.optimizers.Adagrad(RATE, global_clipnorm=LARGEST_GRADIENT),
        loss=lambda _, gap: keras.ops.sum(keras.ops.relu(MARGIN - gap)),
    )
    return timed_fit(trainer, padded_triples(batches), batches)


def timed_fit(trainer, dataset, batches) -> list[float]:
    """Train, and give the seconds of every epoch."""
    import keras

    marks: list[float] = []

    def begin(epoch: int, logs: Any) -> None:
        batches.start(epoch)
        marks.append(time.perf_counter())

    def end(epoch: int, logs: Any) -> None:
        marks[-1] = time.perf_counter() - marks[-1]

    clock = keras.callbacks.LambdaCallback(on_epoch_begin=begin, on_epoch_end=end)
    epochs = batches.method.options.epochs
    trainer.fit(dataset, epochs=epochs, callbacks=[clock], shuffle=False, verbose=0)
    return marks


def padded_triples(batches):
    """Give the same pairs in the same batches, as padded triples."""
    import numpy as np
    import tensorflow as tf

    split = batches.method.split

    def generate() -> Iterator[tuple]:
        drawn = batches.method.sampler.draw(batches.epoch)
        size = batches.method.options.batch_size
        for start in range(0, len(drawn.questions), size):
            questions, correct, wrong = pairs(drawn, start, start + size)
            padded = (
                split.questions.padded(questions),
                split.candidates.padded(correct),
                split.candidates.padded(wrong),
            )
            yield padded, np.zeros(len(questions), np.float32)

    matrix = tf.TensorSpec((None, None), tf.int32)
    signature = ((matrix, matrix, matrix), tf.TensorSpec((None,), tf.float32))
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    return dataset.apply(tf.data.experimental.assert_cardinality(len(batches))).prefetch(4)


def pairs(drawn, start: int, stop: int) -> list:
    """Set each correct answer of some questions against each wrong one: questions, correct and wrong rows."""
    import numpy as np

    triples = []
    for i in range(start, min(stop, len(drawn.questions))):
        rows, n_correct = drawn.rows[drawn.offsets[i] : drawn.offsets[i + 1]], drawn.n_correct[i]
        correct, wrong = rows[:n_correct], rows[n_correct:]
        question = np.full(len(correct) * len(wrong), drawn.questions[i])
        triples.append((question, np.repeat(correct, len(wrong)), np.tile(wrong, len(correct))))
    return list(map(np.concatenate, zip(*triples, strict=True)))


def sizes(batches) -> dict[str, float]:
    """Count the pairs of an epoch, and how often a word occurs in a batch."""
    words = tokens = n_pairs = 0
    for batch in batches:
        words += len(batch["words"])
        tokens += len(batch["word_of_token"])
        n_pairs += len(batch["correct"])
    return {"pairs": n_pairs, "tokens_per_word": tokens / words}


def mean_hinge(split, scores) -> float:
    """Average the hinge loss over all pairs of all questions."""
    import numpy as np

    losses = []
    for start, stop in zip(split.candidate_offsets, split.candidate_offsets[1:], strict=False):
        own, correct = scores[start:stop], split.labels[start:stop] == 1
        gaps = own[correct][:, None] - own[~correct][None]
        losses.append(np.maximum(0, MARGIN - gaps).ravel())
    return float(np.concatenate(losses).mean())


def report(runs: dict, without_dropout: dict, options: argparse.Namespace) -> None:
    """Print what was measured, as ratios of this one run."""
    ways, per_epoch = {}, {}
    for way, results in runs.items():
        # The first epoch traces the steps.
        per_epoch[way] = [statistics.median(each["seconds"][1:]) for each in results]
        ways[way] = {
            "seconds": statistics.median(per_epoch[way]),
            "best": min(per_epoch[way]),
            "seconds_without_dropout": statistics.median(without_dropout[way]["seconds"][1:]),
            "loss_without_dropout": without_dropout[way]["loss"],
            "peak_mib": max(each["peak_mib"] for each in results),
        }
    first = runs["packed"][0]
    n_pairs, repeated = first["pairs"], first["tokens_per_word"]
    print(f"{options.dataset}: {n_pairs:,} pairs an epoch, {repeated:.1f} words per distinct word")
    rows = [[way, *row.values()] for way, row in ways.items()]
    print_table(["way", "s/epoch", "best", "without dropout", "loss then", "peak MiB"], rows)
    found = ratios(per_epoch["plain"], per_epoch["packed"])
    plain, packed = (ways[way]["seconds_without_dropout"] for way in WAYS)
    print(f"plain / packed with dropout {options.dropout}: {in_words(found)}")
    print(f"plain / packed without dropout: {plain / packed:.2f}")
    write_figures(options.output, {"ways": ways, "ratios": found})


if __name__ == "__main__":
    run_command(main)
