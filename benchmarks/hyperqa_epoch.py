"""Seconds per epoch of HyperQA: the packed way of this project against plain Keras `fit`.

    python benchmarks/hyperqa_epoch.py --dataset wikiqa

All ways train the same model from the same first weights on the same question-answer pairs, dropout included,
and must arrive at the same loss.

plain       (question, correct, wrong) triples, padded to the longest text of the batch;
best_plain  questions of like length together, and every text of a batch encoded once: the best of plain Keras
            that we know (triples of like length take longer);
packed      what training does: every distinct word of a batch projected once, every text encoded once;
products    no training: the matrix products of packed alone, which no way of encoding words once goes below.

The ways take turns, each in a process of its own. XLA compiles none of them: it would compile every length
anew.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from common import (
    add_counts,
    at_least,
    by_turns,
    changed,
    in_own_process,
    in_words,
    model_arguments,
    parse,
    print_table,
    products_alone,
    ratios,
    seconds,
    write_figures,
)

from answer_ranking.base.command import run_command
from answer_ranking.models.catalogue import CATALOGUE

WAYS = ("packed", "plain", "best_plain")
PRODUCTS = "products"
ROW = "HyperQA epoch, WikiQA 450 -> 400"
MARGIN, RATE, LARGEST_GRADIENT = 0.5, 0.1, 1.0


def main() -> None:
    """Measure both ways by turns and print the table."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=3)
    about = "epochs per run, at least 2; the first is not counted"
    parser.add_argument("--epochs", type=at_least(2), default=3, help=about)
    add_counts(
        parser,
        batch_size=(32, "questions in a batch"),
        dimension=(300, "dimensions of the text vectors"),
    )
    about = "dimensions of the word vectors, at least 50"
    parser.add_argument("--inputs", type=at_least(50), default=300, help=about)
    about = "dropout of words and texts in the timed runs"
    parser.add_argument("--dropout", type=float, default=0.1, help=about)
    options = parse(parser)
    no_dropout = changed(options, dropout=0.0)
    without_dropout = {way: in_own_process(measure, way, no_dropout) for way in WAYS}
    ways = {way: partial(in_own_process, measure, way, options) for way in (*WAYS, PRODUCTS)}
    report(by_turns(options.rounds, ways), without_dropout, options)


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
    if way == PRODUCTS:
        return {"seconds": time_products(batches, model), **sizes(batches)}
    train_way = {"packed": train_packed, "plain": train_plain, "best_plain": train_best_plain}[way]
    spent = train_way(model, trainer, batches)
    return {
        "seconds": spent,
        "loss": mean_hinge(train, score(model, train)),
        **sizes(batches),
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
    return timed_fit(compiled_plain(inputs, gap), as_dataset(padded_triples, 3, 0, batches), batches)


def train_best_plain(model, _, batches) -> list[float]:
    """Train by Keras on batches of like length, every text encoded once; give the seconds of every epoch."""
    import keras

    texts = [keras.Input((None,), dtype="int32", name=name) for name in ("question", "answer")]
    places = [keras.Input((), dtype="int32", name=name) for name in ("owner", "correct", "wrong")]
    questions, answers = map(model.get_layer("encoder"), texts)
    owner, correct, wrong = places
    scores = model.get_layer("matcher")([keras.ops.take(questions, owner, axis=0), answers])
    gap = keras.ops.take(scores, correct, axis=0) - keras.ops.take(scores, wrong, axis=0)
    trainer = compiled_plain([*texts, *places], gap)
    return timed_fit(trainer, as_dataset(texts_once, 2, 3, batches), batches)


def compiled_plain(inputs, gap):
    """Compile a plain Keras model that trains by the hinge of the gaps of its pairs."""
    import keras

    trainer = keras.Model(inputs, gap)
    trainer.compile(
        optimizer=keras.optimizers.Adagrad(RATE, global_clipnorm=LARGEST_GRADIENT),
        loss=lambda _, gap: keras.ops.sum(keras.ops.relu(MARGIN - gap)),
        jit_compile=False,
    )
    return trainer


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


def as_dataset(arrays_of, n_matrices: int, n_rows: int, batches):
    """Feed what a function makes of an epoch's draw to Keras, with a target that counts the pairs."""
    import numpy as np
    import tensorflow as tf

    def generate() -> Iterator[tuple]:
        drawn = batches.method.sampler.draw(batches.epoch)
        for arrays, n_pairs in arrays_of(drawn, batches):
            yield tuple(arrays), np.zeros(n_pairs, np.float32)

    specs = [tf.TensorSpec((None, None), tf.int32)] * n_matrices + [tf.TensorSpec((None,), tf.int32)] * n_rows
    signature = (tuple(specs), tf.TensorSpec((None,), tf.float32))
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    return dataset.apply(tf.data.experimental.assert_cardinality(len(batches))).prefetch(4)


def padded_triples(drawn, batches) -> Iterator[tuple]:
    """Give the same pairs in the same batches as training has, as padded triples."""
    split, size = batches.method.split, batches.method.options.batch_size
    for start in range(0, len(drawn.questions), size):
        questions, correct, wrong = pairs(drawn, range(start, min(start + size, len(drawn.questions))))
        padded = [
            split.questions.padded(questions),
            split.candidates.padded(correct),
            split.candidates.padded(wrong),
        ]
        yield padded, len(questions)


def texts_once(drawn, batches) -> Iterator[tuple]:
    """Give batches of questions of like length: their texts, each once, and the places of the pairs."""
    import numpy as np

    from answer_ranking.training.batch_stream import batches_of_like_length

    split, size = batches.method.split, batches.method.options.batch_size
    longest = np.maximum.reduceat(split.candidates.lengths[drawn.rows], drawn.offsets[:-1])
    rng = np.random.default_rng(batches.epoch)
    for group in batches_of_like_length(rng, size, (longest, len(batches))):
        _, correct, wrong = pairs(drawn, group)
        rows = np.concatenate([drawn.rows[drawn.offsets[i] : drawn.offsets[i + 1]] for i in group])
        n_answers = np.diff(drawn.offsets)[group]
        # A row stands in one question: its place tells the pair.
        place = np.zeros(split.n_rows, np.int32)
        place[rows] = np.arange(len(rows))
        owner = np.repeat(np.arange(len(group), dtype=np.int32), n_answers)
        texts = [split.questions.padded(drawn.questions[group]), split.candidates.padded(rows)]
        yield [*texts, owner, place[correct], place[wrong]], len(correct)


def pairs(drawn, numbers) -> list:
    """Set each correct answer of some questions against each wrong one: questions, correct and wrong rows."""
    import numpy as np

    triples = []
    for i in numbers:
        rows, n_correct = drawn.rows[drawn.offsets[i] : drawn.offsets[i + 1]], drawn.n_correct[i]
        correct, wrong = rows[:n_correct], rows[n_correct:]
        question = np.full(len(correct) * len(wrong), drawn.questions[i])
        triples.append((question, np.repeat(correct, len(wrong)), np.tile(wrong, len(correct))))
    return list(map(np.concatenate, zip(*triples, strict=True)))


def time_products(batches, model) -> list[float]:
    """Multiply as many words as an epoch's batches have, forward and for the kernel's gradient."""
    words = [len(batch["words"]) for batch in batches]
    multiply = products_alone(words, *model.get_layer("encoder").get_layer("projection").kernel.shape)
    return [seconds(multiply) for _ in range(batches.method.options.epochs)]


def sizes(batches) -> dict[str, float]:
    """Count the pairs of an epoch, and how often a word occurs in a batch."""
    words = tokens = n_pairs = 0
    for batch in batches:
        words += len(batch["words"])
        tokens += len(batch["word_of_token"])
        n_pairs += len(batch["correct"])
    return {"pairs": n_pairs, "words": words, "tokens_per_word": tokens / words}


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
    per_epoch = {}
    for way, of_way in runs.items():
        # The first epoch traces the steps.
        per_epoch[way] = [statistics.median(each["seconds"][1:]) for each in of_way]
    ways = {}
    for way in WAYS:
        ways[way] = {
            "seconds": statistics.median(per_epoch[way]),
            "best": min(per_epoch[way]),
            "seconds_without_dropout": statistics.median(without_dropout[way]["seconds"][1:]),
            "loss_without_dropout": without_dropout[way]["loss"],
        }
    first = runs["packed"][0]
    n_pairs, repeated = first["pairs"], first["tokens_per_word"]
    print(f"{options.dataset}: {n_pairs:,} pairs an epoch, {repeated:.1f} words per distinct word")
    rows = [[way, *row.values()] for way, row in ways.items()]
    print_table(["way", "s/epoch", "best", "without dropout", "loss then"], rows)
    found = {way: ratios(per_epoch[way], per_epoch["packed"]) for way in ("plain", "best_plain")}
    for way, of_way in found.items():
        print(f"{way} / packed with dropout {options.dropout}: {in_words(of_way)}")
    cause = cause_of(per_epoch, first["words"], options)
    print(cause)
    row = {
        "ours": per_epoch["packed"],
        "plain": per_epoch["plain"],
        "best_plain": per_epoch["best_plain"],
        "cause": cause,
    }
    write_figures(options.output, {"ways": ways, "ratios": found, "table": {ROW: row}})


def cause_of(per_epoch: dict[str, list[float]], n_words: int, options: argparse.Namespace) -> str:
    """Say how much of an epoch the matrix products take that no order of work can spare."""
    alone = statistics.median(per_epoch[PRODUCTS])
    share = alone / statistics.median(per_epoch["packed"])
    speed = 4e-9 * n_words * options.inputs * options.dimension / alone
    return (
        f"the two matrix products of every distinct word alone take {alone:.2f} s, "
        f"{share:.0%} of the epoch, at {speed:.0f} GFLOP/s"
    )


if __name__ == "__main__":
    run_command(main)
