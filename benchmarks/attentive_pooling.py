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
import resource
import statistics
import time
from pathlib import Path

from common import arguments, check_options, give_back, measured_by, write_figures

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError

MODELS = ("AP-CNN", "QA-CNN", "AP-BiLSTM", "QA-BiLSTM")
WAYS = ("plain", "search", "shared")


def main() -> None:
    """Measure by turns, print the tables, and write the figures."""
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["AP-CNN"], help="rankers to measure")
    parser.add_argument("--dataset", default="wikiqa", help="data set (default wikiqa; sample is bundled)")
    parser.add_argument("--size", type=int, help="filters, or units of a BiLSTM (default: the paper's)")
    parser.add_argument("--batch-size", type=int, default=20, help="pairs in a batch")
    parser.add_argument("--negatives", type=int, default=50, help="k, wrong answers scored per pair")
    parser.add_argument("--batches", type=int, default=3, help="batches timed in a round")
    parser.add_argument("--rounds", type=int, default=5, help="how often the ways take turns")
    parser.add_argument("--memory", type=int, nargs="*", default=[10, 50, 200], help="k, for the memory")
    parser.add_argument("--output", type=Path, help="also write the figures to this JSON file")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    check_options(
        options, "batch_size", "negatives", "batches", "rounds", "size", "memory", output=options.output
    )
    if options.peak:
        way, negatives = options.peak
        give_back(peak(way, int(negatives), options))
        return
    # First the memory: a process starts with the peak of the one that starts it.
    memory = {
        name: {way: [child(name, way, k, options) for k in options.memory] for way in WAYS}
        for name in options.models
    }
    figures = {
        "options": {k: v for k, v in vars(options).items() if k not in ("peak", "output")},
        "seconds": {name: measure(name, options) for name in options.models},
        "memory_mib": memory,
    }
    report(figures, options)
    if options.output:
        write_figures(options.output, figures)


def prepare(name: str, negatives: int, options: argparse.Namespace):
    """Build a ranker, and a step and batches for every way."""
    import keras
    import numpy as np
    import tensorflow as tf

    from answer_ranking.data_prep import encode_dataset, load_dataset
    from answer_ranking.models import ap_bilstm, ap_cnn, qa_bilstm, qa_cnn
    from answer_ranking.training import HardestNegative, HardestNegativeOptions
    from answer_ranking.training.batch_stream import BatchStream

    encoded = encode_dataset(load_dataset(options.dataset))
    vectors = np.float32(0.1 * np.random.default_rng(0).normal(size=(len(encoded.vocabulary), 300)))
    build, margin = {
        "AP-CNN": (ap_cnn, 0.5),
        "QA-CNN": (qa_cnn, 0.009),
        "AP-BiLSTM": (ap_bilstm, 0.2),
        "QA-BiLSTM": (qa_bilstm, 0.1),
    }[name]
    ranker = build(vectors, *([options.size] if options.size else []))
    batches, searched = {}, {}
    for way, share in (("search", False), ("shared", True)):
        settings = HardestNegativeOptions(
            margin=margin,
            sampled_negatives=negatives,
            share_negatives=share,
            batch_size=options.batch_size,
        )
        hardest = HardestNegative(encoded.train, settings)
        trainer = hardest.trainer(ranker)
        trainer.compile(optimizer=keras.optimizers.SGD(0.0), jit_compile=False)
        trainer.optimizer.build(ranker.trainable_variables)
        source = BatchStream(hardest, trainer)
        searched[way] = _step(trainer, source.dataset().element_spec)
        stream = iter(source)
        batches[way] = [next(stream) for _ in range(min(options.batches, len(source)))]
    batches["plain"] = [rectangles(batch) for batch in batches["search"]]

    matrix = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[matrix, matrix, tf.TensorSpec((None, None, None), tf.int32)])
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

    return {"plain": lambda batch: float(plain(*batch)[0]), **searched}, batches


def _step(trainer, signature):
    """Trace a trainer's step; give the function that takes it and returns the loss."""
    import tensorflow as tf

    step = tf.function(trainer.train_step, input_signature=[signature])

    def take(batch):
        trainer.loss_mean.reset_state()
        return float(step(batch)["loss"])

    return take


def rectangles(batch) -> list:
    """Lay out the wrong answers of a batch as the plain way takes them: one padded text for every pair."""
    import numpy as np

    question, correct, sampled, pair_text, choice = (
        batch[name][0] for name in ("question", "correct", "sampled", "pair_text", "choice")
    )
    if (choice < 0).any():
        raise UserError("the data set has too few answers for so many negatives: name a larger one.")
    wrong = sampled[pair_text[choice]]
    return [question, correct, np.ascontiguousarray(wrong)]


def measure(name: str, options: argparse.Namespace) -> dict:
    """Time the ways by turns; give each way's seconds per batch in every round."""
    steps, batches = prepare(name, options.negatives, options)
    losses = {way: [steps[way](batch) for batch in batches[way]] for way in WAYS}
    for one, other in zip(losses["plain"], losses["search"], strict=True):
        if abs(one - other) > 1e-4 * max(1.0, abs(one)):
            raise RuntimeError(f"the losses differ: plain {one}, search {other}")
    seconds = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way in WAYS:
            start = time.perf_counter()
            for batch in batches[way]:
                steps[way](batch)
            seconds[way].append((time.perf_counter() - start) / len(batches[way]))
    return seconds


def child(name: str, way: str, negatives: int, options: argparse.Namespace) -> float:
    """Measure the peak memory of a model and a way in a process of its own."""
    words = ["--peak", way, str(negatives), "--models", name]
    words += ["--dataset", options.dataset, "--batch-size", str(options.batch_size), "--batches", "1"]
    words += ["--size", str(options.size)] if options.size else []
    return measured_by(__file__, words)


def peak(way: str, negatives: int, options: argparse.Namespace) -> float:
    """Measure the peak memory of one step, in MiB."""
    steps, batches = prepare(options.models[0], negatives, options)
    steps[way](batches[way][0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(figures: dict, options: argparse.Namespace) -> None:
    """Print the tables."""
    from answer_ranking.evaluation.tables import text_table

    rows = []
    for name, seconds in figures["seconds"].items():
        cells = [f"{1000 * statistics.median(seconds[way]):.0f}" for way in WAYS]
        for way in WAYS[1:]:
            ratios = [a / b for a, b in zip(seconds["plain"], seconds[way], strict=True)]
            cells.append(f"{statistics.median(ratios):.1f} ({min(ratios):.1f}-{max(ratios):.1f})")
        rows.append([name, *cells])
    print(
        f"{options.dataset}: {options.batch_size} pairs, {options.negatives} wrong answers each; "
        "milliseconds per step (median of rounds), and ratios (median, least and greatest of the rounds)"
    )
    print(text_table(["model", *WAYS, "plain / search", "plain / shared"], rows))
    if options.memory:
        print("\nPeak memory (MiB) of a process that does one step, by wrong answers per pair")
        rows = [
            [name, way, *(f"{mib:.0f}" for mib in figures["memory_mib"][name][way])]
            for name in options.models
            for way in WAYS
        ]
        print(text_table(["model", "way", *map(str, options.memory)], rows))


if __name__ == "__main__":
    run_command(main)
