"""Texts a second of the frozen encoder of contextual words.

    python benchmarks/encoder.py

Answers of a data set with 15 to 25 tokens are encoded in two ways, which take turns in one process, with one
encoder:

ours   what training and ranking do: texts of like length together;
plain  texts in their order, 32 at a time, padded to the longest of the batch.

Both must give the same vectors to 0.01, the precision of float16. Memory is the peak of the process,
TensorFlow and the benchmark's texts included. Nothing is read from the cache of vectors.
"""

import statistics

import numpy as np
from common import (
    add_counts,
    by_turns,
    chosen,
    in_words,
    model_arguments,
    parse,
    print_table,
    ratios,
    seconds,
    write_figures,
)

from answer_ranking.base.command import run_command
from answer_ranking.data_prep import load_dataset
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.evaluation.environment import peak_memory

ROW = "encoder: texts a second"
BATCH = 32


def main() -> None:
    """Measure both ways by turns, print the table, and write the figures."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=3, record="encoder.json")
    parser.add_argument("--embeddings", default="minilm", help="the encoder (default: minilm)")
    add_counts(parser, texts=(1000, "texts, at most"))
    options = parse(parser)
    encoder = ContextualEncoder(options.embeddings)
    answers = load_dataset(options.dataset).test["candidate"].drop_duplicates().tolist()
    texts = [text for text in answers if 15 <= len(encoder.tokens(text)) <= 25][: options.texts]
    tokens = sum(map(len, check_equal(encoder, texts)))

    ways = {
        "ours": lambda: seconds(lambda: encoder.encode(texts)),
        "plain": lambda: seconds(lambda: encode_in_order(encoder, texts)),
    }
    times = by_turns(options.rounds, ways)
    rates, rows = {}, []
    for way, rounds in times.items():
        rates[way] = [len(texts) / each for each in rounds]
        rows.append([way, statistics.median(rates[way])])
    print_table(["way", "texts/s"], rows)
    print(f"plain / ours, seconds: {in_words(ratios(times['plain'], times['ours']))}")

    peak = peak_memory()
    print(f"peak memory of the process: {peak} MiB")
    figures = {"texts": len(texts), "tokens": tokens, "peak_mib": peak, "table": {ROW: rates}}
    write_figures(options.output, {**chosen(options), "sha256": encoder.sha256, **figures})


def check_equal(encoder: ContextualEncoder, texts: list[str]) -> list[np.ndarray]:
    """Encode in both ways, which also compiles them; give the vectors."""
    ours, plain = encoder.encode(texts), encode_in_order(encoder, texts)
    for one, other in zip(ours, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=0.01)
    return ours


def encode_in_order(encoder: ContextualEncoder, texts: list[str]) -> list[np.ndarray]:
    """Encode batches of texts as they come."""
    vectors = []
    for start in range(0, len(texts), BATCH):
        # One window a text: the texts are short.
        windows = [encoder._windows(text)[0] for text in texts[start : start + BATCH]]
        lengths = np.array(list(map(len, windows)))
        padded = np.zeros((len(windows), lengths.max()), np.int32)
        for row, window in zip(padded, windows, strict=True):
            row[: len(window)] = window
        states = encoder._states(padded, lengths).astype(np.float16)
        vectors += [state[:length] for state, length in zip(states, lengths, strict=True)]
    return vectors


if __name__ == "__main__":
    run_command(main)
