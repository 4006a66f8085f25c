"""A whole training of Cosinet over lists in seconds, beside Compare-Aggregate and the plain ways.

    python benchmarks/cosinet.py

Each model is trained as in the paper (3 epochs), with dev scored after every epoch, on two cores or what
there is. Every round trains each once, in a process of its own, so that a drifting machine does not blur the
ratios.

The plain ways of training Cosinet pad lists to their longest one and its longest candidate, in random batches
(plain), or in batches of like length (best plain). XLA compiles none of them: it would compile every length
anew.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from common import (
    add_counts,
    by_turns,
    chosen,
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

LISTS, CA = "cosinet-list-birnn", "ca-list-birnn"
PLAIN = {f"{LISTS}, padded, random": "plain", f"{LISTS}, padded": "best_plain"}
"""The plain ways of training Cosinet over lists, and their places in the page's table of speed."""
WHOLE, AGAINST_CA = "Cosinet list BiRNN, whole training", "Cosinet list BiRNN against CA list BiRNN"


def main() -> None:
    """Measure all ways by turns and print the table."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=2)
    parser.add_argument("--embeddings", nargs="+", default=["glove-6b-50d"], help="word vectors")
    about = "random dimensions beside them; 300 in all"
    parser.add_argument("--identity-dimensions", type=int, default=250, help=about)
    add_counts(parser, epochs=(3, "passes over the training data"))
    options = parse(parser)
    ways = {name: partial(in_own_process, train_once, name, options) for name in (LISTS, CA, *PLAIN)}
    report(by_turns(options.rounds, ways), options)


def train_once(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train a model, or train it in a plain way: seconds in all and of each epoch."""
    from answer_ranking.data_prep import load_dataset
    from answer_ranking.engine import Seed, encode, options_of, train

    data = encode(
        load_dataset(options.dataset),
        options.embeddings,
        identity_dimensions=options.identity_dimensions,
    )
    if name in PLAIN:
        train_plainly(at_random=PLAIN[name] == "plain")
    entry = CATALOGUE[name.partition(",")[0]]
    model, training = options_of(entry, {**entry.training, "epochs": options.epochs})
    start = time.perf_counter()
    ranker, fitted = train(entry, model, training, data, Seed(0))
    spent = time.perf_counter() - start
    further = {}
    if name == LISTS:
        multiply = products(data.train, training, ranker.get_layer("answer_convolution").kernel.shape)
        multiply()
        further = {"products": options.epochs * seconds(multiply)}
    return {
        **further,
        "training": spent,
        "epochs": [epoch["seconds"] for epoch in fitted.history],
        "dev_map": fitted.history[fitted.best_epoch]["dev_map"],
    }


def products(split: Any, training: Any, kernel_shape: tuple[int, int, int]) -> Callable[[], None]:
    """Make the function that does the convolutions' matrix products of an epoch alone, of the real words."""
    import numpy as np

    from answer_ranking.training import Listwise

    width, features, filters = kernel_shape
    words = []
    for batch in Listwise(split, training).batches(None, 0):
        words.append(np.count_nonzero(batch["answers"]) + np.count_nonzero(batch["question"]))
    return products_alone(words, width * features, filters)


def train_plainly(at_random: bool) -> None:
    """Let Cosinet read padded lists as they are, in random batches if wanted."""
    from keras import ops

    from answer_ranking.layers import BucketByLength
    from answer_ranking.models.networks import pair_ranking
    from answer_ranking.training import listwise
    from answer_ranking.training.batch_stream import batches_of_like_length

    class PaddedLists(BucketByLength):
        def call(self, inputs: Any) -> tuple[list[Any], list[Any], Any]:
            batch, candidates, length = ops.shape(inputs)
            places = ops.arange(batch * candidates, dtype="int32")
            texts, rows = ops.reshape(inputs, (-1, length)), places // candidates
            return [texts], [rows], ops.reshape(places, (batch, candidates))

    pair_ranking.BucketByLength = partial(PaddedLists, buckets=1)
    if at_random:
        # Sorted by nothing.
        listwise.batches_of_like_length = lambda rng, batch_size, sorting, *_: batches_of_like_length(
            rng, batch_size, (0 * sorting[0], 1)
        )


def report(runs: dict[str, list[dict]], options: argparse.Namespace) -> None:
    """Print medians over the rounds, and the ratios within rounds."""
    rows, found = [], {}
    ours = values(runs[LISTS], "training")
    for name, results in runs.items():
        training = values(results, "training")
        epochs = [statistics.median(each) for each in values(results, "epochs")]
        rows.append([name, statistics.median(training), statistics.median(epochs)])
        if name != LISTS:
            found[name] = ratios(training, ours)
    print_table(["way", "training, s", "s/epoch"], rows)
    for name, ratio in found.items():
        print(f"training {name} / {LISTS}: {in_words(ratio)}")
    figures = {"options": chosen(options), "runs": runs, "training_ratios": found}
    write_figures(options.output, {**figures, "table": rows_of_lists(runs)})


def rows_of_lists(runs: dict[str, list[dict]]) -> dict[str, dict[str, Any]]:
    """Give the rows of the page's table of speed."""
    ours, theirs = values(runs[LISTS], "training"), values(runs[CA], "training")
    plain = {way: values(runs[name], "training") for name, way in PLAIN.items()}
    tracing, epoch = [], []
    for first, *later in values(runs[LISTS], "epochs"):
        epoch.append(statistics.median(later or [first]))
        tracing.append(first - epoch[-1])
    alone = statistics.median(values(runs[LISTS], "products"))
    cause = (
        f"tracing the first step takes {statistics.median(tracing):.1f} s, and each epoch's steps "
        f"{statistics.median(epoch):.1f} s; of all steps the matrix products of the convolutions alone take "
        f"{alone:.1f} s; the rest is dev and making the model"
    )
    # CA reads batches of like length and candidates in buckets, too: there is no better plain way.
    against = {"ours": ours, "plain": theirs, "best_plain": theirs, "cause": cause}
    return {WHOLE: {"ours": ours, **plain, "cause": cause}, AGAINST_CA: against}


def values(results: list[dict], measure: str) -> list[Any]:
    """Give a measure of every round."""
    return [result[measure] for result in results]


if __name__ == "__main__":
    run_command(main)
