"""A whole training of Cosinet in seconds, beside Compare-Aggregate, and questions ranked per second.

    python benchmarks/cosinet.py

Each model is trained for 3 epochs as in the paper, with dev scored after every epoch, on two cores or what
there is; then it ranks the test split. Every round runs each model once, in a process of its own, so that
drifting machines and peak memory do not blur the ratios. BM25 ranks the same questions from the same words.
"""

import argparse
import itertools
import resource
import statistics
import sys
import time

from common import arguments, check_options, give_back, measured_by, write_figures

from answer_ranking.base.command import run_command

MODELS = ("Cosinet", "Cosinet list", "Cosinet list BiRNN", "CA", "CA list", "CA list BiRNN")
COMPARED = [("Cosinet", "CA"), ("Cosinet list", "CA list"), ("Cosinet list BiRNN", "CA list BiRNN")]


def main() -> None:
    """Measure all models by turns and print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--dataset", default="wikiqa", help="data set (default wikiqa; sample needs none)")
    parser.add_argument("--embeddings", nargs="+", default=["glove-6b-50d"], help="word vectors")
    parser.add_argument(
        "--identity-dimensions", type=int, default=250, help="random dimensions beside them; 300 in all"
    )
    parser.add_argument("--epochs", type=int, default=3, help="passes over the training data")
    parser.add_argument("--rounds", type=int, default=2, help="how often the models take turns")
    parser.add_argument("--output", help="also write the figures to this JSON file")
    parser.add_argument("--model", choices=(*MODELS, "BM25"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.model:
        figures = rank_by_bm25(options) if options.model == "BM25" else train_and_rank(options)
        give_back(figures)
        return
    check_options(options, "rounds", "epochs", output=options.output)
    runs: dict[str, list[dict]] = {name: [] for name in (*MODELS, "BM25")}
    for _ in range(options.rounds):
        for name, results in runs.items():
            results.append(child(name, options))
            print(f"{name}: {results[-1]}", file=sys.stderr, flush=True)
    report(runs, options)


def child(name: str, options: argparse.Namespace) -> dict:
    """Run one model in a process of its own."""
    words = [f"--model={name}", f"--dataset={options.dataset}", f"--epochs={options.epochs}"]
    words += [f"--identity-dimensions={options.identity_dimensions}", "--embeddings", *options.embeddings]
    return measured_by(__file__, words)


def train_and_rank(options: argparse.Namespace) -> dict:
    """Train one model and rank the test split, in seconds."""
    from answer_ranking.data_prep import encode_dataset, load_dataset, load_word_vectors
    from answer_ranking.models import compare_aggregate, cosinet
    from answer_ranking.training import (
        Listwise,
        ListwiseOptions,
        Pointwise,
        PointwiseOptions,
        fit,
        make_scorer,
    )
    from answer_ranking.training.callbacks import SlantedTriangularRate

    data = encode_dataset(load_dataset(options.dataset))
    vectors = load_word_vectors(
        options.embeddings, data.vocabulary, identity_dimensions=options.identity_dimensions
    )
    encoder, *listwise = options.model.split()
    train = data.train.keep_questions(data.train.counts_under("answerable"))
    # The paper's highest rates and three epochs.
    if listwise:
        rate = 2e-4
        method = Listwise(train, ListwiseOptions(epochs=options.epochs, learning_rate=rate))
    else:
        rate, without = 2e-3, {"l2": 0.0, "patience": None}
        method = Pointwise(train, PointwiseOptions(epochs=options.epochs, learning_rate=rate, **without))
    start = time.perf_counter()
    ranker = (cosinet if encoder == "Cosinet" else compare_aggregate)(
        vectors.matrix,
        objective="listwise" if listwise else "pointwise",
        across=listwise[1].lower() if len(listwise) > 1 else "none",
    )
    result = fit(ranker, method, dev=data.dev, callbacks=[SlantedTriangularRate(rate)])
    training = time.perf_counter() - start
    score = make_scorer(ranker, data.test)
    score()
    start = time.perf_counter()
    score()
    return {
        "training": training,
        "epochs": [epoch["seconds"] for epoch in result.history],
        "dev_map": max(epoch["dev_map"] for epoch in result.history),
        "questions_per_second": data.test.n_questions / (time.perf_counter() - start),
        "parameters": sum(v.shape.num_elements() for v in ranker.trainable_variables),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def rank_by_bm25(options: argparse.Namespace) -> dict:
    """Rank the test split by BM25, in questions per second; the tokens are given."""
    import numpy as np

    from answer_ranking.data_prep import encode_dataset, load_dataset
    from answer_ranking.evaluation.rules import bm25

    encoded = encode_dataset(load_dataset(options.dataset))
    words, test = np.array(encoded.vocabulary.words, object), encoded.test

    def tokens(texts):
        return [words[texts.words[a:b]].tolist() for a, b in itertools.pairwise(texts.offsets)]

    candidates = test.candidates.take(np.arange(test.n_rows))
    given = tokens(test.questions), tokens(candidates), test.candidate_offsets
    bm25(*given)
    start = time.perf_counter()
    bm25(*given)
    return {
        "questions_per_second": test.n_questions / (time.perf_counter() - start),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def report(runs: dict[str, list[dict]], options: argparse.Namespace) -> None:
    """Print medians over the rounds, and the ratios within rounds."""
    rows = {}
    for name, results in runs.items():
        rows[name] = {
            key: statistics.median(
                statistics.median(r[key]) if isinstance(r[key], list) else r[key] for r in results
            )
            for key in results[0]
        }
    print(
        f"{'model':20}{'parameters':>12}{'training, s':>13}{'s/epoch':>9}{'peak MiB':>10}{'questions/s':>13}"
    )
    for name, row in rows.items():
        if "training" in row:
            trained = f"{row['parameters']:>12,}{row['training']:13.1f}{row['epochs']:9.2f}"
        else:
            trained = " " * 34
        print(f"{name:20}{trained}{row['peak_mib']:10.0f}{row['questions_per_second']:13.0f}")
    ratios = {}
    for ours, theirs in COMPARED:
        each = [b["training"] / a["training"] for a, b in zip(runs[ours], runs[theirs], strict=True)]
        ratios[ours] = each
        epochs = rows[theirs]["epochs"] / rows[ours]["epochs"]
        print(
            f"{ours} trains {statistics.median(each):.1f} times as fast as {theirs} "
            f"(rounds: {', '.join(f'{r:.1f}' for r in each)}); {epochs:.1f} times without the model's "
            "construction and the scoring of dev"
        )
    if options.output:
        write_figures(options.output, {"options": vars(options), "runs": runs, "training_ratios": ratios})


if __name__ == "__main__":
    run_command(main)
