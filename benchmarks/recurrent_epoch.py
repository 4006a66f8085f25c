"""Seconds per epoch of LSTM, AP-BiLSTM, QRNN and CTRN: Figure 3 of the CTRN paper, as ratios in one run.

    python benchmarks/recurrent_epoch.py

All models see the same batches of TRAIN-ALL's pairs, padded to the longest text of the batch, with
300-dimensional random word vectors: drawn at random, as the plain way has them, and of like length, as
training has them. A step is forward and backward (cross entropy, with dropout, without the update); of each
kind --batches are timed, those of like length spread over all lengths, and extrapolated to the epoch. All
take turns, and the median over the rounds counts. AP-BiLSTM is a bidirectional Keras LSTM for both texts with
attentive pooling (dos Santos et al., 2016) and cosine. No step is compiled by XLA, which takes half a minute
to compile the LSTM for one length.

Memory is the peak of a process of its own for each model and length, both texts being that long, TensorFlow
itself included.
"""

import argparse
import statistics
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    COUNT,
    add_counts,
    by_turns,
    chosen,
    gradient_ends,
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
from answer_ranking.evaluation.environment import peak_memory
from answer_ranking.models.catalogue import CATALOGUE

MODELS = {"LSTM": "lstm", "AP-BiLSTM": "ap-bilstm", "QRNN": "qrnn", "CTRN": "ctrn"}
"""The models' names in the paper's figure and in the catalogue."""
RATIOS = (("LSTM", "CTRN"), ("AP-BiLSTM", "CTRN"), ("CTRN", "QRNN"))
LENGTHS = (50, 100, 200, 400, 800)
KINDS = ("random", "like length")
"""The kinds of batches; training has those of like length."""
ROWS = {"CTRN against LSTM, d = 512": "LSTM", "CTRN against QRNN, d = 512": "QRNN"}
"""The rows of the page's table of speed, and whom CTRN is compared with there."""
_PRODUCTS = "products"
_STEPS_OF_A_LENGTH = 2


def main() -> None:
    """Measure by turns, print the tables, and write figures and chart."""
    parser = model_arguments(__doc__, dataset="trecqa", rounds=3)
    about = "its training set (default: its first, TRAIN-ALL)"
    parser.add_argument("--variant", default=None, help=about)
    about = "sizes d of the models"
    parser.add_argument("--dimensions", type=COUNT, nargs="+", default=[800, 512], help=about)
    add_counts(parser, batch_size=(128, "pairs in a batch"), batches=(4, "batches timed in a round"))
    about = "lengths for the memory"
    parser.add_argument("--lengths", type=COUNT, nargs="*", default=LENGTHS, help=about)
    parser.add_argument("--draw", type=Path, help="where to draw the chart (default: nowhere)")
    options = parse(parser)
    speed = {dimension: measure(dimension, options) for dimension in options.dimensions}
    memory: dict[str, list] = {}
    for name in MODELS:
        memory[name] = []
        for length in options.lengths:
            memory[name].append(in_own_process(peak, name, min(options.dimensions), length))
    figures = {"options": chosen(options), **collected(speed), "memory": memory}
    report(figures, speed)
    write_figures(options.output, figures)
    if options.draw:
        chart(figures, options.draw)


def peak(name: str, dimension: int, length: int) -> dict[str, Any]:
    """Measure the peak memory of a step on texts of one length, and the median of its times."""
    import numpy as np

    rng = np.random.default_rng(0)
    step = step_of(build(name, np.float32(rng.normal(size=(1000, 300))), dimension))
    words = [rng.integers(1, 1000, (32, length), dtype=np.int32) for _ in range(2)]
    long = [(*words, np.zeros(32, np.float32))]
    run(step, long)
    times = [seconds(partial(run, step, long)) for _ in range(_STEPS_OF_A_LENGTH)]
    return {"mib": peak_memory(), "seconds": statistics.median(times)}


def build(title: str, word_vectors, dimension: int):
    """Build one of the models in a size."""
    entry = CATALOGUE[MODELS[title]]
    return entry.build(word_vectors, entry.options(filters=dimension))


def step_of(model):
    """Make the step, forward and backward, as a graph for batches of any size."""
    import tensorflow as tf

    text = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[text, text, tf.TensorSpec((None,), tf.float32)])
    def step(question, answer, labels):
        weights = [variable.value for variable in model.trainable_variables]
        with tf.GradientTape() as tape:
            scores = model([question, answer], training=True)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(logits=scores, labels=labels)
            loss = tf.reduce_mean(losses)
        return loss, gradient_ends(tape, loss, weights)

    return step


def run(step, batches) -> None:
    """Run steps and wait for them."""
    import numpy as np

    for batch in batches:
        if not np.isfinite(step(*batch)[0].numpy()):
            raise RuntimeError("the loss is not finite")


def measure(dimension: int, options: argparse.Namespace) -> dict[str, Any]:
    """Time all models by turns on the same batches; seconds per epoch by kind of batch and model."""
    import numpy as np

    from answer_ranking.data_prep import encode_dataset, load_dataset

    encoded = encode_dataset(load_dataset(options.dataset, options.variant))
    train, rng = encoded.train, np.random.default_rng(0)
    word_vectors = np.float32(0.1 * rng.normal(size=(len(encoded.vocabulary), 300)))
    steps = {name: step_of(build(name, word_vectors, dimension)) for name in MODELS}
    ways, real_words = {}, {}
    for kind, groups in groups_of_rows(train, rng, options).items():
        batches = [batch_of(train, rows) for rows in groups]
        real_words[kind] = share_of_words(batches)
        epochs = train.n_rows / sum(map(len, groups))
        works = {name: partial(run, step, batches) for name, step in steps.items()}
        works[_PRODUCTS] = products(batches, dimension)
        for name, work in works.items():
            work()
            ways[kind, name] = partial(per_epoch, work, epochs)
    times = by_turns(options.rounds, ways)
    by_kind: dict[str, dict] = {kind: {} for kind in KINDS}
    for (kind, name), found in times.items():
        by_kind[kind][name] = found
    return {"seconds": by_kind, "pairs": train.n_rows, "real_words": real_words}


def per_epoch(work, epochs: float) -> float:
    """Time some batches, and extrapolate to an epoch."""
    return seconds(work) * epochs


def groups_of_rows(train, rng, options: argparse.Namespace) -> dict[str, list]:
    """Choose the rows of the batches of each kind; those of like length are quantiles of an epoch's."""
    import numpy as np

    from answer_ranking.training.batch_stream import batches_of_like_length

    size, n = min(options.batch_size, train.n_rows), options.batches
    lengths = train.candidates.lengths
    epoch = batches_of_like_length(rng, size, (lengths, 32))
    epoch.sort(key=lambda rows: lengths[rows].max())
    places = (np.arange(n) + 0.5) * len(epoch) / n
    at_random = [rng.choice(train.n_rows, size, replace=False) for _ in range(n)]
    return {"random": at_random, "like length": [epoch[int(place)] for place in places]}


def batch_of(train, rows) -> tuple:
    """Lay out a batch of pairs: questions, answers and labels."""
    import numpy as np

    question = train.questions.padded(train.question_of_row[rows])
    return question, train.candidates.padded(rows), np.float32(train.labels[rows])


def share_of_words(batches) -> float:
    """Tell how much of the padded texts is words."""
    import numpy as np

    words, padded = 0, 0
    for *texts, _ in batches:
        words += sum(map(np.count_nonzero, texts))
        padded += sum(text.size for text in texts)
    return words / padded


def products(batches, dimension: int):
    """Make the function that does the products of CTRN's gates alone, over windows of two real words."""
    import numpy as np

    words = [np.count_nonzero(question) + np.count_nonzero(answer) for question, answer, _ in batches]
    return products_alone(words, 600, 3 * dimension)


def collected(speed: dict[int, dict]) -> dict[str, dict]:
    """Give medians and ratios by dimension and kind of batch, and the rows of the page's table."""
    figures: dict[str, dict] = {"real_words": {}, "speed": {}, "ratios": {}, "table": {}}
    for dimension, measured in speed.items():
        figures["real_words"][dimension] = measured["real_words"]
        figures["speed"][dimension], figures["ratios"][dimension] = {}, {}
        for kind, times in measured["seconds"].items():
            medians = {name: statistics.median(of_name) for name, of_name in times.items()}
            figures["speed"][dimension][kind] = medians
            found = {f"{slow} / {fast}": ratios(times[slow], times[fast]) for slow, fast in RATIOS}
            figures["ratios"][dimension][kind] = found
    for name, other in ROWS.items():
        if 512 in speed:
            figures["table"][name] = row_against(other, speed[512]["seconds"])
    return figures


def row_against(other: str, times: dict[str, dict]) -> dict[str, Any]:
    """Compare CTRN on batches of like length with a model on random batches, and on those of like length."""
    at_random, like_length = (times[kind] for kind in KINDS)
    ours = like_length["CTRN"]
    alone = statistics.median(like_length[_PRODUCTS])
    share = alone / statistics.median(ours)
    return {
        "ours": ours,
        "plain": at_random[other],
        "best_plain": like_length[other],
        "cause": f"the matrix products of CTRN's gates alone take {alone:.1f} s, {share:.0%} of its epoch",
    }


def report(figures: dict[str, Any], speed: dict[int, dict]) -> None:
    """Print the tables."""
    for dimension, measured in speed.items():
        print(f"d={dimension}: an epoch of {measured['pairs']:,} pairs")
        for kind, times in measured["seconds"].items():
            share = measured["real_words"][kind]
            rows = [[name, statistics.median(found), min(found)] for name, found in times.items()]
            print_table([f"{kind} ({share:.0%} words)", "s/epoch (median)", "best"], rows)
            for title, found in figures["ratios"][dimension][kind].items():
                print(f"{title}: {in_words(found)}")
        print()
    lengths = figures["options"]["lengths"]
    if lengths:
        print(f"Peak memory (MiB) of a step on 32 pairs, d={min(speed)}; in brackets its seconds")
        rows = []
        for name, of_lengths in figures["memory"].items():
            cells = [f"{each['mib']} ({each['seconds']:.2f})" for each in of_lengths]
            rows.append([name, *cells])
        print_table(["words in each text", *lengths], rows)


def chart(figures: dict[str, Any], path: Path) -> None:
    """Draw seconds per epoch, as the paper's Figure 3 does, and peak memory against length."""
    import numpy as np

    from answer_ranking.evaluation.figures import new_figure, save_figure

    figure, (left, right) = new_figure(2, 10, 4)
    places, width = np.arange(len(MODELS)), 0.8 / len(figures["speed"])
    for number, (dimension, of_kinds) in enumerate(figures["speed"].items()):
        heights = [of_kinds["like length"][name] for name in MODELS]
        bars = left.bar(places + number * width, heights, width, label=f"d={dimension}")
        left.bar_label(bars, fmt="%.0f")
    left.set_xticks(places + width * (len(figures["speed"]) - 1) / 2, MODELS)
    left.set_ylabel("seconds per epoch")
    left.legend()
    for name in MODELS:
        peaks = [each["mib"] for each in figures["memory"][name]]
        right.plot(figures["options"]["lengths"], peaks, marker="o", label=name)
    right.set_xlabel("words in each text")
    right.set_ylabel("peak memory of a step, MiB")
    right.legend()
    save_figure(figure, path)


if __name__ == "__main__":
    run_command(main)
