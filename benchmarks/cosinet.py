"""A whole training of Cosinet in seconds, beside Compare-Aggregate, and questions ranked per second.

    python benchmarks/cosinet.py

Each model is trained as in the paper (3 epochs), with dev scored after every epoch, on two cores or what
there is; then it ranks the test split. Every round runs each model once, in a process of its own, so that
drifting machines and peak memory do not blur the ratios. BM25 ranks the same questions from the same words.
"""

import argparse
import itertools
import statistics
import time
from functools import partial
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
from answer_ranking.models.catalogue import CATALOGUE

COMPARED = {
    "cosinet": "ca",
    "cosinet-list": "ca-list",
    "cosinet-list-birnn": "ca-list-birnn",
}
"""Models of the catalogue, and those that they are compared with."""
BM25 = "BM25"


def main() -> None:
    """Measure all models by turns and print the table."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=2)
    parser.add_argument("--embeddings", nargs="+", default=["glove-6b-50d"], help="word vectors")
    about = "random dimensions beside them; 300 in all"
    parser.add_argument("--identity-dimensions", type=int, default=250, help=about)
    parser.add_argument("--epochs", type=int, default=3, help="passes over the training data")
    options = parser.parse_args()
    if options.part:
        (name,) = options.part
        give_back(rank_by_bm25(options) if name == BM25 else train_and_rank(name, options))
        return
    check_options(options, "rounds", "epochs", output=options.output)
    names = (*COMPARED, *COMPARED.values(), BM25)
    children = {name: partial(in_own_process, options, name) for name in names}
    report(by_turns(options.rounds, children), options)


def train_and_rank(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train one model and rank the test split, in seconds."""
    from answer_ranking.data_prep import load_dataset
    from answer_ranking.engine import Seed, encode, options_of, train
    from answer_ranking.training import make_scorer

    data = encode(
        load_dataset(options.dataset),
        options.embeddings,
        identity_dimensions=options.identity_dimensions,
    )
    entry = CATALOGUE[name]
    model, training = options_of(entry, {**entry.training, "epochs": options.epochs})
    start = time.perf_counter()
    ranker, fitted = train(entry, model, training, data, Seed(0))
    spent = time.perf_counter() - start
    score = make_scorer(ranker, data.test, data.order_seed)
    score()
    return {
        "training": spent,
        "epochs": statistics.median(epoch["seconds"] for epoch in fitted.history),
        "dev_map": fitted.history[fitted.best_epoch]["dev_map"],
        "questions_per_second": data.test.n_questions / seconds(score),
        "parameters": sum(v.shape.num_elements() for v in ranker.trainable_variables),
        "peak_mib": peak_mib(),
    }


def rank_by_bm25(options: argparse.Namespace) -> dict[str, Any]:
    """Rank the test split by BM25, in questions per second; the tokens are given."""
    import numpy as np

    from answer_ranking.data_prep import encode_dataset, load_dataset
    from answer_ranking.evaluation.rules import bm25

    encoded = encode_dataset(load_dataset(options.dataset))
    words, test = np.array(encoded.vocabulary.words, object), encoded.test

    def tokens(texts):
        return [words[texts.words[a:b]].tolist() for a, b in itertools.pairwise(texts.offsets)]

    candidates = test.candidates.take(np.arange(test.n_rows))
    rank = partial(bm25, tokens(test.questions), tokens(candidates), test.candidate_offsets)
    rank()
    return {"questions_per_second": test.n_questions / seconds(rank), "peak_mib": peak_mib()}


def report(runs: dict[str, list[dict]], options: argparse.Namespace) -> None:
    """Print medians over the rounds, and the ratios within rounds."""
    measures = ("parameters", "training", "epochs", "peak_mib", "questions_per_second")
    rows = []
    for name, results in runs.items():
        title = CATALOGUE[name].title if name in CATALOGUE else name
        rows.append([title, *(median_of(results, measure) for measure in measures)])
    print_table(["model", "parameters", "training, s", "s/epoch", "peak MiB", "questions/s"], rows)
    found = {}
    for ours, theirs in COMPARED.items():
        found[ours] = ratios(values(runs[theirs], "training"), values(runs[ours], "training"))
        title, other = CATALOGUE[ours].title, CATALOGUE[theirs].title
        print(f"training {other} / {title}: {in_words(found[ours])}")
    figures = {"options": chosen(options), "runs": runs, "training_ratios": found}
    write_figures(options.output, figures)


def values(results: list[dict], measure: str) -> list[float]:
    """Give a measure of every round, where a model has it."""
    return [result[measure] for result in results if measure in result]


def median_of(results: list[dict], measure: str) -> float | str:
    """Give the median of a measure over the rounds; "" where a model does not have it."""
    known = values(results, measure)
    return statistics.median(known) if known else ""


if __name__ == "__main__":
    run_command(main)
