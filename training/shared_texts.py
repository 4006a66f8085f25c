"""Scoring every candidate of a split whose rows share texts, each distinct text encoded once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit
from answer_ranking.data_prep.encoded_split import chunks_of_padded
from answer_ranking.models.networks.matchers import broadcast_scores, project_questions

# How many words, padding included, are encoded or scored at a time.
_WORDS_PER_CHUNK = 8192


class SharedTextScorer:
    """Scores a split with any ranker `matcher([*encoder(question), *encoder(answer)])`.

    The distinct texts are encoded in chunks, the shortest first; the rows of a chunk's texts are scored
    before the next chunk is encoded. Questions of like length that meet the same text are scored against it
    together; the models of `models.networks.attentive_pooling` need no copy of its encoding for each.

    The encodings of a chunk, and those of the pairs that are scored together, are at most `_WORDS_PER_CHUNK`
    words, but for a text or a pair that is longer by itself. The encodings of all questions are kept: 280 MB
    for InsuranceQA's 2,000 dev questions with AP-CNN, where all answers' would take 4.9 GB.
    """

    def __init__(self, ranker: keras.Model, split: EncodedSplit, encoding: Any = None):
        # A list of states and mask has the steps along the second axis, a vector has none.
        self._sequences = len(ranker.get_layer("encoder").outputs) > 1
        self._split = split
        texts = split.candidates.texts
        numbers = np.unique(split.candidates.index)
        self._numbers = numbers[np.argsort(texts.lengths[numbers], kind="stable")]
        self._question_lengths = np.maximum(split.questions.lengths, 1)
        lengths = np.maximum(texts.lengths[self._numbers], 1)
        place = np.empty(len(texts), np.int64)
        place[self._numbers] = np.arange(len(numbers))
        place = place[split.candidates.index]
        self._chunks = list(chunks_of_padded(lengths, _WORDS_PER_CHUNK))
        self._grids: list[list[_Grid]] = [[] for _ in self._chunks]
        n_steps = self._question_lengths if self._sequences else np.ones(split.n_questions, np.int64)
        answer_steps = [int(lengths[chunk.stop - 1]) if self._sequences else 1 for chunk in self._chunks]
        for grid in _grids(place, self._chunks, split.question_of_row, n_steps, answer_steps):
            words_of_line = answer_steps[grid.chunk] + grid.questions.shape[1] * grid.steps
            for lines in chunks_of_padded(np.full(len(grid.place), words_of_line), _WORDS_PER_CHUNK):
                self._grids[grid.chunk].append(grid.part(lines))
        self._encode, self._score, self._project = _traced(ranker, encoding)

    def __call__(self) -> np.ndarray:
        """Return the float32 scores `(rows,)` under the ranker's current weights."""
        scores = np.empty(len(self._split.candidates), np.float32)
        if len(scores) == 0:
            return scores
        questions = self._encoded_questions()
        texts = self._split.candidates.texts
        for chunk, grids in zip(self._chunks, self._grids, strict=True):
            answers = self._encode(tf.constant(texts.padded(self._numbers[chunk])))
            for grid in grids:
                of_question = tf.constant(grid.questions, tf.int32)
                of_answer = tf.constant(grid.place - chunk.start, tf.int32)
                steps = tf.constant(grid.steps, tf.int32)
                found = self._score(questions, answers, of_question, of_answer, steps).numpy()
                real = grid.rows >= 0
                scores[grid.rows[real]] = found[real]
        return scores

    def _encoded_questions(self) -> list[tf.Tensor]:
        """Encode all questions, the states filled up with zeros to the longest one's."""
        longest = int(self._question_lengths.max(initial=1))
        order = np.argsort(self._question_lengths, kind="stable")
        parts = []
        for chunk in chunks_of_padded(self._question_lengths[order], _WORDS_PER_CHUNK):
            encoded = self._encode(tf.constant(self._split.questions.padded(order[chunk])))
            parts.append([self._with_steps(x, longest) for x in encoded])
        back = np.argsort(order)
        encoded = [tf.gather(tf.concat(each, 0), back) for each in zip(*parts, strict=True)]
        return self._project(*encoded)

    def _with_steps(self, encoded: tf.Tensor, steps: int) -> tf.Tensor:
        if not self._sequences:
            return encoded
        missing = steps - encoded.shape[1]
        return tf.pad(encoded, [[0, 0], [0, missing]] + [[0, 0]] * (encoded.ndim - 2))


def trace_once(ranker: keras.Model, name: str, trace: Callable[[], Any]) -> Any:
    """Trace once: every new shape of a chunk, or split, would be a new trace.

    A ranker keeps its trace, by its name, for as long as it has the same variables (LoRA adds some).
    """
    variables = list(map(id, ranker.variables))
    if getattr(ranker, name, (None,))[0] != variables:
        setattr(ranker, name, (variables, trace()))
    return getattr(ranker, name)[1]


def _traced(ranker: keras.Model, encoding: Any) -> tuple[Any, Any, Any]:
    def trace():
        encoder, matcher = ranker.get_layer("encoder"), ranker.get_layer("matcher")

        def encode(words):
            return encoding(*encoding.project(words)) if encoding else keras.tree.flatten(encoder(words))

        def score(questions, answers, of_question, of_answer, steps):
            if len(encoder.outputs) > 1:
                # Only the steps that are there, out of all questions' steps one below the other.
                of_question = of_question[..., None] * tf.shape(questions[0])[1] + tf.range(steps)
                questions = list(map(_joined_steps, questions))
            questions = [tf.gather(x, of_question) for x in questions]
            answers = [tf.gather(x, of_answer)[:, None] for x in answers]
            return broadcast_scores(matcher, questions, answers)

        def project(*questions):
            return project_questions(matcher, questions)

        words = tf.TensorSpec((None, None), tf.int32)
        encoded = _specs(encoder.outputs)
        projected = _specs(project_questions(matcher, encoder.outputs))
        line, whole = tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int32)
        return (
            tf.function(encode, autograph=False).get_concrete_function(words),
            tf.function(score, autograph=False).get_concrete_function(projected, encoded, words, line, whole),
            tf.function(project, autograph=False).get_concrete_function(*encoded),
        )

    return trace_once(ranker, "_traced_parts", trace)


def _specs(tensors: list[Any]) -> list[tf.TensorSpec]:
    return [tf.TensorSpec(x.shape, x.dtype) for x in tensors]


def _joined_steps(states: tf.Tensor) -> tf.Tensor:
    """Put the steps of all texts one below the other."""
    return tf.reshape(states, tf.concat([[-1], tf.shape(states)[2:]], 0))


@dataclass(frozen=True)
class _Grid:
    """Rows that are scored together: on every line one text, and the questions that meet it."""

    chunk: int  # the number of the chunk that has the texts
    place: np.ndarray  # the texts' places, (lines,)
    # Numbers of questions, (lines, columns); where a line has fewer, one is there twice.
    questions: np.ndarray
    rows: np.ndarray  # the rows' numbers, (lines, columns); -1 for none
    steps: int  # of the longest question

    def part(self, lines: slice) -> "_Grid":
        return replace(self, place=self.place[lines], questions=self.questions[lines], rows=self.rows[lines])


def _grids(
    place: np.ndarray,
    chunks: list[slice],
    question: np.ndarray,
    n_steps: np.ndarray,
    answer_steps: list[int],
) -> Iterator[_Grid]:
    """Lay out rows, each of a text's place and a question, in one grid per chunk and kind of length."""
    chunk = np.searchsorted([each.stop for each in chunks], place, side="right")
    # Of one kind are questions of which none is longer than another by more than half.
    kind = np.ceil(np.log(n_steps) / np.log(1.5)).astype(np.int64)[question]
    order = np.lexsort((place, kind, chunk))
    ends = np.flatnonzero(np.diff(chunk[order]) | np.diff(kind[order])) + 1
    for rows in np.split(order, ends) if len(order) else ():
        _, first, counts = np.unique(place[rows], return_index=True, return_counts=True)
        steps = int(n_steps[question[rows]].max())
        # As wide as the mean: a text of more rows has several lines.
        number_of_chunk = int(chunk[rows[0]])
        fitting = (_WORDS_PER_CHUNK - answer_steps[number_of_chunk]) // steps
        columns = max(1, min(round(counts.mean()), fitting))
        number = np.arange(len(rows)) - np.repeat(first, counts)
        column = number % columns
        line = np.cumsum(column == 0) - 1
        of_line = rows[column == 0]
        grid = np.full((len(of_line), columns), -1)
        grid[line, column] = rows
        filled = np.where(grid < 0, of_line[:, None], grid)
        yield _Grid(number_of_chunk, place[of_line], question[filled], grid, steps)
