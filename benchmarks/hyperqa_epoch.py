"""Seconds per epoch of HyperQA: the packed way of this project against plain Keras `fit` on padded texts.

    python benchmarks/hyperqa_epoch.py --dataset wikiqa

Both ways train the same model from the same first weights on the same question-answer pairs in the same
batches, and must arrive at the same loss. Plain: (question, correct, wrong) triples, padded to the longest
text of the batch, through `keras.Model.fit`.
Packed: every distinct word of a batch projected once, every text encoded once, a question's answers scored
together. The ways take turns, each in a process of its own.
"""

import argparse
import resource
import statistics
import time

from common import arguments, check_options, give_back, measured_by, write_figures

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError


def main() -> None:
    """Measure both ways by turns and print the table."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--dataset", default="wikiqa", help="data set (default wikiqa; sample needs no download)"
    )
    parser.add_argument("--epochs", type=int, default=6, help="epochs per run; the first is not counted")
    parser.add_argument("--rounds", type=int, default=3, help="how often the ways take turns")
    parser.add_argument("--batch-size", type=int, default=32, help="questions in a batch")
    parser.add_argument("--inputs", type=int, default=300, help="dimensions of the word vectors, at least 50")
    parser.add_argument("--dimension", type=int, default=300, help="dimensions of the text vectors")
    parser.add_argument(
        "--dropout", type=float, default=0.1, help="dropout of words and texts in the timed runs"
    )
    parser.add_argument("--output", help="also write the figures to this JSON file")
    parser.add_argument("--way", choices=("plain", "packed"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        give_back(measure(options.way, options))
        return
    check_options(options, "rounds", "batch_size", "dimension", output=options.output)
    # The first epoch is not counted; 50 dimensions are those of the smallest word vectors.
    for name, least in (("epochs", 2), ("inputs", 50)):
        if (value := getattr(options, name)) < least:
            raise UserError(f"--{name} must be at least {least}. Received: {value}")
    runs = {"plain": [], "packed": []}
    without_dropout = {way: child(way, options, dropout=0.0) for way in runs}
    for _ in range(options.rounds):
        for way in runs:
            runs[way].append(child(way, options))
    report(runs, without_dropout, options)


def child(way: str, options: argparse.Namespace, dropout: float | None = None) -> dict:
    """Run one way in a process of its own."""
    dropout = options.dropout if dropout is None else dropout
    words = [f"--way={way}", f"--dataset={options.dataset}", f"--epochs={options.epochs}"]
    words += [f"--batch-size={options.batch_size}", f"--dropout={dropout}"]
    words += [f"--inputs={options.inputs}", f"--dimension={options.dimension}"]
    return measured_by(__file__, words)


def measure(way: str, options: argparse.Namespace) -> dict:
    """Train one way."""
    import keras
    import numpy as np
    import tensorflow as tf

    from answer_ranking.data_prep import encode_dataset, load_dataset, load_word_vectors
    from answer_ranking.models import hyperqa
    from answer_ranking.training import Pairwise, PairwiseOptions, score
    from answer_ranking.training.batch_stream import BatchStream

    encoded = encode_dataset(load_dataset(options.dataset))
    vectors = load_word_vectors(["glove-6b-50d"], encoded.vocabulary, identity_dimensions=options.inputs - 50)
    train = encoded.train.keep_questions(encoded.train.counts_under("clean"))
    model = hyperqa(
        vectors.matrix,
        options.dimension,
        max_norm=0.99,
        embedding_dropout=options.dropout,
        dropout=options.dropout,
    )
    settings = PairwiseOptions(
        margin=0.5, clip_norm=1.0, foreign_negatives=0, batch_size=options.batch_size, l2=0.0
    )
    pairwise = Pairwise(train, settings)
    trainer = pairwise.trainer(model)
    batches = BatchStream(pairwise, trainer)
    clock = _Clock(batches)
    if way == "packed":
        trainer.compile(optimizer=keras.optimizers.Adagrad(0.1), steps_per_execution=min(len(batches), 32))
        trainer.fit(batches.dataset(), epochs=options.epochs, callbacks=[clock], shuffle=False, verbose=0)
    else:
        triples = _triples(batches, tf)
        plain = _plain_trainer(model)
        plain.fit(triples, epochs=options.epochs, callbacks=[clock], shuffle=False, verbose=0)
    words = tokens = pairs = 0
    for batch in batches:
        words += batch["words"].shape[1]
        tokens += batch["word_of_token"].shape[1]
        pairs += batch["weight"].shape[1]
    return {
        "seconds": clock.seconds,
        "loss": _hinge(train, score(model, train), np),
        "pairs": pairs,
        "tokens_per_word": tokens / words,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _plain_trainer(model):
    import keras

    inputs = [keras.Input((None,), dtype="int32", name=name) for name in ("question", "correct", "wrong")]
    question, correct, wrong = (model.get_layer("encoder")(x) for x in inputs)
    matcher = model.get_layer("matcher")
    gap = keras.ops.subtract(matcher([question, correct]), matcher([question, wrong]))
    trainer = keras.Model(inputs, gap)
    trainer.compile(
        optimizer=keras.optimizers.Adagrad(0.1, global_clipnorm=1.0),
        loss=lambda _, gap: keras.ops.sum(keras.ops.relu(0.5 - gap)),
    )
    return trainer


def _triples(batches, tf):
    """The same pairs in the same batches, as padded triples."""
    import numpy as np

    sampler, size = batches.method.sampler, batches.method.options.batch_size
    split = sampler.split

    def generate():
        drawn = sampler.draw(batches.epoch)
        for start in range(0, len(drawn.questions), size):
            questions, correct, wrong = [], [], []
            for i in range(start, min(start + size, len(drawn.questions))):
                rows = drawn.rows[drawn.offsets[i] : drawn.offsets[i + 1]]
                n = drawn.n_correct[i]
                correct.append(np.repeat(rows[:n], len(rows) - n))
                wrong.append(np.tile(rows[n:], n))
                questions.append(np.full(len(correct[-1]), drawn.questions[i]))
            texts = (split.questions, split.candidates, split.candidates)
            chosen = (np.concatenate(x) for x in (questions, correct, wrong))
            padded = tuple(t.take(c).padded() for t, c in zip(texts, chosen, strict=True))
            yield padded, np.zeros(len(padded[0]), np.float32)

    matrix = tf.TensorSpec((None, None), tf.int32)
    signature = ((matrix, matrix, matrix), tf.TensorSpec((None,), tf.float32))
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    return dataset.apply(tf.data.experimental.assert_cardinality(len(batches))).prefetch(4)


def _hinge(split, scores, np) -> float:
    """The mean hinge loss over all pairs of all questions."""
    total = count = 0
    for start, stop in zip(split.candidate_offsets, split.candidate_offsets[1:], strict=False):
        s, correct = scores[start:stop], split.labels[start:stop] == 1
        losses = np.maximum(0, 0.5 - s[correct][:, None] + s[~correct][None])
        total, count = total + losses.sum(), count + losses.size
    return float(total / count)


def _Clock(batches):  # noqa: N802  (Keras is imported only in the processes that train)
    import keras

    class Clock(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.seconds = []

        def on_epoch_begin(self, epoch, logs=None):
            batches.epoch = epoch
            self.began = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            self.seconds.append(time.perf_counter() - self.began)

    return Clock()


def report(runs: dict, without_dropout: dict, options: argparse.Namespace) -> None:
    """Print what was measured, as ratios of this one run."""
    rows = {}
    for way, results in runs.items():
        seconds = [statistics.median(r["seconds"][1:]) for r in results]
        rows[way] = {
            "seconds": statistics.median(seconds),
            "best": min(seconds),
            "seconds_without_dropout": statistics.median(without_dropout[way]["seconds"][1:]),
            "loss_without_dropout": without_dropout[way]["loss"],
            "peak_mib": max(r["peak_mib"] for r in results),
        }
    first = runs["packed"][0]
    print(
        f"{options.dataset}: {first['pairs']:,} pairs an epoch, "
        f"{first['tokens_per_word']:.1f} words per distinct word"
    )
    print(f"{'way':8}{'s/epoch':>9}{'best':>8}{'no dropout':>12}{'loss':>9}{'peak MiB':>10}")
    for way, row in rows.items():
        print(
            f"{way:8}{row['seconds']:9.3f}{row['best']:8.3f}{row['seconds_without_dropout']:12.3f}"
            f"{row['loss_without_dropout']:9.5f}{row['peak_mib']:10.0f}"
        )
    ratios = [
        statistics.median(a["seconds"][1:]) / statistics.median(b["seconds"][1:])
        for a, b in zip(runs["plain"], runs["packed"], strict=True)
    ]
    without = rows["plain"]["seconds_without_dropout"] / rows["packed"]["seconds_without_dropout"]
    print(
        f"packed is {statistics.median(ratios):.1f} times as fast with dropout {options.dropout} "
        f"(rounds: {', '.join(f'{r:.1f}' for r in ratios)}), {without:.1f} times without"
    )
    if options.output:
        write_figures(options.output, {"ways": rows, "ratios": ratios})


if __name__ == "__main__":
    run_command(main)
