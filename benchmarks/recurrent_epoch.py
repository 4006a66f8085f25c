"""Seconds per epoch of LSTM, AP-BiLSTM, QRNN and CTRN: Figure 3 of the CTRN paper, as ratios in one run.

    python benchmarks/recurrent_epoch.py

All models see the same batches of TRAIN-ALL's pairs, drawn at random and padded to the longest text of the
batch, with 300-dimensional random word vectors. A step is forward and backward (cross entropy, without
dropout and without the update); --batches of them are timed and extrapolated to the epoch. The models take
turns, and the median over the rounds counts. AP-BiLSTM is a bidirectional Keras LSTM for both texts with
attentive pooling (dos Santos et al., 2016) and cosine. No step is compiled by XLA.

Memory is the peak of a process of its own for each model and length, both texts being that long, TensorFlow
itself included.
"""

import argparse
import resource
import statistics
import time
from pathlib import Path

from common import arguments, check_options, give_back, measured_by, write_figures

from answer_ranking.base.command import run_command

MODELS = ("LSTM", "AP-BiLSTM", "QRNN", "CTRN")
RATIOS = (("LSTM", "CTRN"), ("AP-BiLSTM", "CTRN"), ("CTRN", "QRNN"))
LENGTHS = (50, 100, 200, 400, 800)
_STEPS_OF_A_LENGTH = 5


def main() -> None:
    """Measure by turns, print the tables, and write figures and chart."""
    parser = arguments(__doc__)
    parser.add_argument("--dataset", default="trecqa", help="data set (default trecqa; sample is bundled)")
    parser.add_argument("--variant", default=None, help="its training set (default: its first, TRAIN-ALL)")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[800, 512], help="sizes d of the models")
    parser.add_argument("--batch-size", type=int, default=128, help="pairs in a batch")
    parser.add_argument("--batches", type=int, default=4, help="batches timed in a round")
    parser.add_argument("--rounds", type=int, default=5, help="how often the models take turns")
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS, help="lengths for the memory")
    parser.add_argument("--output", type=Path, help="folder for the figures (JSON) and the chart (PNG)")
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        name, dimension, length = options.peak
        give_back(find_data(dimension) if name == "data" else peak(name, int(dimension), int(length)))
        return
    output = options.output and options.output / "recurrent_epoch.json"
    check_options(options, "batch_size", "batches", "rounds", "dimensions", "lengths", output=output)
    # In a process of its own, as all that takes memory.
    measured_by(__file__, ["--peak", "data", options.dataset, ""])
    # First the memory: a process starts with the peak of the one that starts it.
    memory = {
        name: [child(name, min(options.dimensions), length) for length in options.lengths] for name in MODELS
    }
    speed = {d: measure(d, options) for d in options.dimensions}
    figures = report(speed, memory, options)
    if options.output:
        write_figures(output, figures)
        chart(figures, options.output / "recurrent_epoch.png")


def find_data(dataset: str) -> None:
    """Find or download a data set before anything is measured."""
    from answer_ranking.data_prep import load_dataset

    load_dataset(dataset)


def child(name: str, dimension: int, length: int) -> dict:
    """Measure the peak memory of a model in a process of its own."""
    return measured_by(__file__, ["--peak", name, str(dimension), str(length)])


def build(name: str, word_vectors, dimension: int):
    """Build one of the models."""
    from answer_ranking.models import ap_bilstm, ctrn, lstm, qrnn

    builders = {"LSTM": lstm, "AP-BiLSTM": ap_bilstm, "QRNN": qrnn, "CTRN": ctrn}
    return builders[name](word_vectors, dimension)


def step_of(model):
    """Make the step, forward and backward, as a graph for batches of any size."""
    import tensorflow as tf

    text = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[text, text, tf.TensorSpec((None,), tf.float32)])
    def step(question, answer, labels):
        weights = [variable.value for variable in model.trainable_variables]
        with tf.GradientTape() as tape:
            scores = model([question, answer], training=False)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(logits=scores, labels=labels)
            loss = tf.reduce_mean(losses)
        # One number of each gradient keeps them all from being pruned.
        return loss, [tf.reshape(gradient, (-1,))[0] for gradient in tape.gradient(loss, weights)]

    return step


def measure(dimension: int, options: argparse.Namespace) -> dict:
    """Time all models by turns on the same batches."""
    import numpy as np

    from answer_ranking.data_prep import encode_dataset, load_dataset

    encoded = encode_dataset(load_dataset(options.dataset, options.variant))
    train, rng = encoded.train, np.random.default_rng(0)
    size = min(options.batch_size, train.n_rows)
    word_vectors = np.float32(0.1 * rng.normal(size=(len(encoded.vocabulary), 300)))
    batches = []
    for _ in range(options.batches):
        rows = rng.choice(train.n_rows, size, replace=False)
        texts = train.questions.padded(train.question_of_row[rows]), train.candidates.padded(rows)
        batches.append((*texts, np.float32(train.labels[rows])))
    steps = {name: step_of(build(name, word_vectors, dimension)) for name in MODELS}
    for step in steps.values():
        run(step, batches[:1])
    seconds = {name: [] for name in MODELS}
    for _ in range(options.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            run(step, batches)
            seconds[name].append((time.perf_counter() - start) / len(batches) * train.n_rows / size)
    cells = sum(batch[i].size for batch in batches for i in (0, 1))
    words = sum(np.count_nonzero(batch[i]) for batch in batches for i in (0, 1))
    return {"seconds": seconds, "pairs": train.n_rows, "real_words": words / cells}


def run(step, batches) -> None:
    """Run steps and wait for them."""
    import numpy as np

    for batch in batches:
        if not np.isfinite(step(*batch)[0].numpy()):
            raise RuntimeError("the loss is not finite")


def peak(name: str, dimension: int, length: int) -> dict:
    """Measure the peak memory of a step on texts of one length, and the median of its times."""
    import numpy as np

    rng = np.random.default_rng(0)
    step = step_of(build(name, np.float32(rng.normal(size=(1000, 300))), dimension))
    words = [rng.integers(1, 1000, (32, length), dtype=np.int32) for _ in range(2)]
    long = (*words, np.zeros(32, np.float32))
    run(step, [long])
    seconds = []
    for _ in range(_STEPS_OF_A_LENGTH):
        start = time.perf_counter()
        run(step, [long])
        seconds.append(time.perf_counter() - start)
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"mib": mib, "seconds": statistics.median(seconds)}


def report(speed: dict, memory: dict, options: argparse.Namespace) -> dict:
    """Print the tables; give the figures."""
    from answer_ranking.evaluation.tables import text_table

    figures = {"options": {k: v for k, v in vars(options).items() if k not in ("peak", "output")}}
    figures |= {"real_words": {}, "speed": {}, "ratios": {}, "memory": memory}
    for dimension, measured in speed.items():
        seconds = measured["seconds"]
        figures["real_words"][dimension] = measured["real_words"]
        figures["speed"][dimension] = {name: statistics.median(seconds[name]) for name in MODELS}
        figures["ratios"][dimension] = {
            f"{slow} / {fast}": [a / b for a, b in zip(seconds[slow], seconds[fast], strict=True)]
            for slow, fast in RATIOS
        }
        words = f"{measured['real_words']:.0%} of the padded texts are words"
        print(f"d={dimension}: an epoch of {measured['pairs']:,} pairs; {words}")
        rows = [
            [name, f"{statistics.median(seconds[name]):.1f}", f"{min(seconds[name]):.1f}"] for name in MODELS
        ]
        print(text_table(["model", "s/epoch (median)", "best"], rows))
        for title, ratios in figures["ratios"][dimension].items():
            rounds = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"{title}: {statistics.median(ratios):.2f} (rounds: {rounds})")
        print()
    if options.lengths:
        print(
            f"Peak memory (MiB) of a step on 32 pairs, d={min(options.dimensions)}; in brackets its seconds"
        )
        rows = [[name, *(f"{x['mib']:.0f} ({x['seconds']:.2f})" for x in memory[name])] for name in MODELS]
        print(text_table(["words in each text", *map(str, options.lengths)], rows))
    return figures


def chart(figures: dict, path: Path) -> None:
    """Draw seconds per epoch, as the paper's Figure 3 does, and peak memory against length."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    places, width = np.arange(len(MODELS)), 0.8 / len(figures["speed"])
    for number, (dimension, seconds) in enumerate(figures["speed"].items()):
        bars = left.bar(
            places + number * width, [seconds[name] for name in MODELS], width, label=f"d={dimension}"
        )
        left.bar_label(bars, fmt="%.0f")
    left.set_xticks(places + width * (len(figures["speed"]) - 1) / 2, MODELS)
    left.set_ylabel("seconds per epoch")
    left.legend()
    lengths = figures["options"]["lengths"]
    for name in MODELS:
        right.plot(lengths, [x["mib"] for x in figures["memory"][name]], marker="o", label=name)
    right.set_xlabel("words in each text")
    right.set_ylabel("peak memory of a step, MiB")
    right.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    run_command(main)
