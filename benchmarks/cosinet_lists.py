"""Seconds per training step of Cosinet and Compare-Aggregate: lists against the same pairs one by one.

    python benchmarks/cosinet_lists.py

Both ways have the same weights and score the same question-answer pairs, which are drawn at random with
WikiQA's sizes: 10 questions of about 8 words, with lists of about 9 candidates of about 25 words each. As a
list, a question is looked up and read once; as pairs, the question is repeated for each candidate, and
there is no padded candidate. A step is the forward pass and the gradients of all weights, without the
optimizer. The ways run by turns in one process; their losses must agree.
"""

import argparse
import json
import statistics
import time


def main() -> None:
    """Measure both ways by turns and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10, help="how often the ways take turns")
    parser.add_argument("--questions", type=int, default=10, help="questions in a batch")
    parser.add_argument("--dimensions", type=int, default=300, help="size of the word vectors")
    parser.add_argument("--equal-sizes", action="store_true", help="no padding: all sizes are the means")
    parser.add_argument("--output", help="also write the figures to this JSON file")
    options = parser.parse_args()
    rows = measure(options)
    print("| model | across | list, ms | pairs, ms | pairs / list |\n| :--- | :--- | ---: | ---: | ---: |")
    for row in rows:
        pairs = f"{row['pairs_ms']:.1f} | {row['ratio']:.2f}" if "pairs_ms" in row else "- | -"
        print(f"| {row['model']} | {row['across']} | {row['list_ms']:.1f} | {pairs} |")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump({"options": vars(options), "rows": rows}, file, indent=2)


def measure(options: argparse.Namespace) -> list[dict]:
    """Time every model, medians over the rounds."""
    import numpy as np
    import tensorflow as tf

    from models.compare_aggregate import compare_aggregate
    from models.cosinet import cosinet

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5000, options.dimensions)).astype("float32")
    questions, lists = _texts(rng, options)
    owner, place = np.nonzero(lists.any(axis=-1))
    pairs = [questions[owner], lists[owner, place]]
    rows = []
    for builder in (cosinet, compare_aggregate):
        for across in ("none", "rnn", "birnn", "lstm", "bilstm"):
            steps = {"list": _step(builder(vectors, objective="listwise", across=across), tf)}
            inputs = {"list": [questions, lists], "pairs": pairs}
            if across == "none":
                steps["pairs"] = _step(builder(vectors), tf)
            losses = {way: float(step(*inputs[way])) for way, step in steps.items()}
            assert np.ptp(list(losses.values())) < 1e-3 * max(losses.values()), losses
            seconds = {way: [] for way in steps}
            for _ in range(options.rounds):
                for way, step in steps.items():
                    start = time.perf_counter()
                    float(step(*inputs[way]))
                    seconds[way].append(time.perf_counter() - start)
            row = {"model": builder.__name__, "across": across}
            row |= {f"{way}_ms": 1e3 * statistics.median(times) for way, times in seconds.items()}
            if "pairs" in seconds:
                row["ratio"] = row["pairs_ms"] / row["list_ms"]
            rows.append(row)
    return rows


def _texts(rng, options):
    """Draw padded questions and lists of candidates."""
    import numpy as np

    def size(mean, spread):
        return mean if options.equal_sizes else int(np.clip(rng.normal(mean, spread), 3, 3 * mean))

    def text(length):
        return rng.integers(1, 5000, size=length).tolist()

    questions = [text(size(8, 3)) for _ in range(options.questions)]
    lists = [[text(size(25, 10)) for _ in range(size(9, 4))] for _ in range(options.questions)]
    longest = max(len(answer) for answers in lists for answer in answers)
    padded = np.zeros((len(lists), max(map(len, lists)), longest), "int32")
    for i, answers in enumerate(lists):
        for j, answer in enumerate(answers):
            padded[i, j, : len(answer)] = answer
    width = max(map(len, questions))
    return np.array([question + [0] * (width - len(question)) for question in questions], "int32"), padded


def _step(model, tf):
    """Compile the forward pass and the gradients of all weights."""

    @tf.function(reduce_retracing=True)
    def step(questions, texts):
        with tf.GradientTape() as tape:
            # Padded candidates have the score 0 and add nothing.
            loss = tf.reduce_sum(tf.square(model([questions, texts])))
        gradients = tape.gradient(loss, model.trainable_variables)
        with tf.control_dependencies([tf.convert_to_tensor(gradient) for gradient in gradients]):
            return tf.identity(loss)

    return step


if __name__ == "__main__":
    main()
