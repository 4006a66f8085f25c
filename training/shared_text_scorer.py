"""Scoring every candidate of a split whose rows share texts, each distinct text encoded once."""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit


class SharedTextScorer:
    """Scores the candidates of one split as often as wanted, whatever an encoder makes of a text.

    The distinct texts are encoded in chunks, the shortest first; the rows of a chunk's texts are scored
    before the next chunk is encoded. So a text is encoded once, though a thousand questions may have it in
    their pools, and what is held at a time is bounded: the encodings of one chunk and of the pairs that are
    scored together, either of them at most `words_per_chunk` words (steps of one sequence of states, or
    vectors) but for a text that is longer by itself; and the encodings of all questions. InsuranceQA's 2,000
    dev questions take 140 MB with AP-CNN's 400 filters, where its 27,000 answers would take 59 GB if they
    were padded to the longest, and 4.9 GB without padding.

    Args:
        ranker: `matcher([*encoder(question), *encoder(answer)])`, such as `models.attentive_pooling` builds:
            its layer `encoder` gives a vector for a text, or a list of its states and their mask.
        split: the questions and candidates.
        words_per_chunk: how many words, padding included, are encoded or scored at a time.

    Raises:
        ValueError: `words_per_chunk` is less than 1.

    Example:
        >>> scores = SharedTextScorer(model, dataset.dev)()  # doctest: +SKIP
    """

    def __init__(self, ranker: keras.Model, split: EncodedSplit, words_per_chunk: int = 8192):
        if words_per_chunk < 1:
            raise ValueError(
                f"`words_per_chunk` must be at least 1. Received: words_per_chunk={words_per_chunk}"
            )
        encoder, matcher = ranker.get_layer("encoder"), ranker.get_layer("matcher")
        # A list of states and mask has the steps along the second axis, a vector has none.
        self._sequences = len(encoder.outputs) > 1
        self._split = split
        self._words_per_chunk = words_per_chunk
        texts = split.candidates.texts
        numbers = np.unique(split.candidates.index)
        self._numbers = numbers[np.argsort(texts.lengths[numbers], kind="stable")]
        self._lengths = np.maximum(texts.lengths[self._numbers], 1)
        self._question_lengths = np.maximum(split.questions.lengths, 1)
        place = np.empty(len(texts), np.int64)
        place[self._numbers] = np.arange(len(numbers))
        place = place[split.candidates.index]
        # The rows by the place of their text, and among those of one chunk by the question's length.
        self._chunks = list(_cut(self._lengths, words_per_chunk))
        chunk = np.repeat(np.arange(len(self._chunks)), [b - a for a, b in self._chunks])[place]
        question = split.question_of_row
        self._rows = np.lexsort((place, self._question_lengths[question], chunk)).astype(np.int64)
        self._row_offsets = np.searchsorted(chunk[self._rows], np.arange(len(self._chunks) + 1))
        self._places = place[self._rows].astype(np.int32)
        self._questions = question[self._rows].astype(np.int32)

        # Traced once and for all: chunks differ in shape, and every new shape would be a new trace.
        self._encode = tf.function(lambda words: keras.tree.flatten(encoder(words))).get_concrete_function(
            tf.TensorSpec((None, None), tf.int32)
        )
        encoded = [tf.TensorSpec(x.shape, x.dtype) for x in encoder.outputs]
        row = tf.TensorSpec((None,), tf.int32)

        def score(questions, answers, of_question, of_answer, width):
            if self._sequences:
                questions = [x[:, :width] for x in questions]
            sides = ((questions, of_question), (answers, of_answer))
            return matcher([tf.gather(x, numbers) for encoded, numbers in sides for x in encoded])

        self._score = tf.function(score).get_concrete_function(
            encoded, encoded, row, row, tf.TensorSpec((), tf.int32)
        )

    def __call__(self) -> np.ndarray:
        """Return the float32 scores `(rows,)` under the ranker's current weights."""
        scores = np.empty(len(self._rows), np.float32)
        questions = self._encoded_questions()
        texts = self._split.candidates.texts
        for (start, stop), first, last in zip(
            self._chunks, self._row_offsets[:-1], self._row_offsets[1:], strict=True
        ):
            answers = self._encode(tf.constant(texts.padded(self._numbers[start:stop])))
            widths = self._question_lengths[self._questions[first:last]]
            each = widths + self._lengths[stop - 1] if self._sequences else np.full(last - first, 2)
            for begin, end in _cut(each, self._words_per_chunk):
                part = slice(first + begin, first + end)
                scores[self._rows[part]] = self._score(
                    questions,
                    answers,
                    tf.constant(self._questions[part]),
                    tf.constant(self._places[part] - np.int32(start)),
                    tf.constant(int(widths[end - 1]), tf.int32),
                ).numpy()
        return scores

    def _encoded_questions(self) -> list[tf.Tensor]:
        """Encode all questions, the states filled up with zeros to the longest one's."""
        longest = int(self._question_lengths.max(initial=1))
        order = np.argsort(self._question_lengths, kind="stable")
        parts = []
        for start, stop in _cut(self._question_lengths[order], self._words_per_chunk):
            encoded = self._encode(tf.constant(self._split.questions.padded(order[start:stop])))
            if self._sequences:
                missing = longest - encoded[0].shape[1]
                encoded = [tf.pad(x, [[0, 0], [0, missing]] + [[0, 0]] * (x.ndim - 2)) for x in encoded]
            parts.append(encoded)
        back = np.argsort(order)
        return [tf.gather(tf.concat(each, 0), back) for each in zip(*parts, strict=True)]


def _cut(lengths: np.ndarray, limit: int) -> Iterator[tuple[int, int]]:
    """Cut items of rising length into runs whose number times their longest length is at most `limit`."""
    start = 0
    while start < len(lengths):
        # No run is longer than `limit` items, so that not all that follow need be looked at.
        ahead = lengths[start : start + limit]
        fits = np.searchsorted(ahead * np.arange(1, len(ahead) + 1), limit, side="right")
        yield start, start + max(1, int(fits))
        start += max(1, int(fits))
