"""Texts a second of the frozen encoder of contextual words, and milliseconds of one question.

    python benchmarks/encoder.py

Answers of a data set with 15 to 25 tokens are encoded in two ways, which take turns in one process, with one
encoder:

ours   what training and ranking do: texts of like length together;
plain  texts in their order, 32 at a time, padded to the longest of the batch.

Then questions are encoded one at a time, as a search does, by ours and with the matrices as the encoder's
file has them, (outputs, inputs).

All must give the same vectors to 0.01, the precision of float16. Memory is the peak of the process,
TensorFlow and the benchmark's texts included. Nothing is read from the cache of vectors.
"""

import statistics
from collections.abc import Callable

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
from answer_ranking.data_prep.word_vectors.bert_states import BertStates
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.evaluation.environment import peak_memory

ROW, ROW_OF_ONE = "encoder: texts a second", "encoder: one question"
BATCH = 32
QUESTIONS = 100


def main() -> None:
    """Measure both ways by turns, print the table, and write the figures."""
    parser = model_arguments(__doc__, dataset="wikiqa", rounds=3, record="encoder.json")
    parser.add_argument("--embeddings", default="minilm", help="the encoder (default: minilm)")
    add_counts(parser, texts=(1000, "texts, at most"))
    options = parse(parser)
    encoder = ContextualEncoder(options.embeddings)
    data = load_dataset(options.dataset)
    answers = data.test["candidate"].drop_duplicates().tolist()
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
    questions = data.dev["question"].drop_duplicates().tolist()[:QUESTIONS]
    of_one = one_at_a_time(encoder, questions, options.rounds)
    figures = {"texts": len(texts), "tokens": tokens, "peak_mib": peak, "questions": len(questions)}
    figures["table"] = {ROW: rates, ROW_OF_ONE: of_one}
    write_figures(options.output, {**chosen(options), "sha256": encoder.sha256, **figures})


def one_at_a_time(encoder: ContextualEncoder, questions: list[str], rounds: int) -> dict[str, list[float]]:
    """Encode questions one by one in both ways, by turns; gives the median milliseconds of each round."""
    inputs = [(numbers[None], np.array([len(numbers)])) for numbers, *_ in map(encoder._windows, questions)]
    as_in_file = states_with_matrices_of_file(encoder)
    for question in inputs:
        np.testing.assert_allclose(encoder._states(*question), as_in_file(*question), atol=0.01)
    found: dict[str, list[float]] = {"ours": [], "plain": []}
    for _ in range(rounds):
        for way, states in (("ours", encoder._states), ("plain", as_in_file)):
            times = [seconds(lambda states=states, each=each: states(*each)) for each in inputs]
            found[way].append(1e3 * statistics.median(times))
    medians = [[way, statistics.median(times)] for way, times in found.items()]
    print_table(["way", "ms a question"], medians)
    return found


def states_with_matrices_of_file(encoder: ContextualEncoder) -> Callable[..., np.ndarray]:
    """Make the encoder's forward pass of weights as they come."""
    import tensorflow as tf

    files = encoder._files
    weights = {name: tf.constant(each) for name, each in files.config.join_projections(files.weights).items()}
    signature = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
    states = tf.function(BertStates(files.config, weights).__call__, input_signature=signature)
    return lambda pieces, lengths: states(pieces.astype(np.int32), lengths.astype(np.int32)).numpy()


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
