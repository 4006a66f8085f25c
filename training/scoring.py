"""Scoring every candidate of a split, in the way that suits the ranker."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit
from answer_ranking.data_prep.encoded_split import chunks
from answer_ranking.models.encodings import encoding_of
from answer_ranking.training.listwise import list_rows, list_sizes, padded_lists, real_candidates
from answer_ranking.training.options import NegativesBy
from answer_ranking.training.pointwise import check_reads_pairs, pair_arrays
from answer_ranking.training.ranker_trainer import reads_apart
from answer_ranking.training.shared_texts import SharedTextScorer, trace_once

# How much is scored at a time, which bounds the memory.
_WORDS_PER_CHUNK = 16384
_TOKENS_PER_CHUNK = 1 << 17


def score(ranker: keras.Model, split: EncodedSplit) -> np.ndarray:
    """Score every candidate of a split with a ranker.

    - A ranker of lists (input `answers`) sees all candidates of a question at once, in the order that
      `training.listwise.list_rows` gives them.
    - A ranker with the parts `encoder` and `matcher` (HyperQA, Attentive Pooling) encodes each text once.
    - Every other ranker scores pairs (inputs `question`, `answer` and, if it has any, `features`), those of
      like length together.

    Args:
        ranker: a model that `models` builds, or one like it.
        split: the questions and candidates.

    Returns:
        float32 `(rows,)`, in the split's order; higher is better.

    Raises:
        ValueError: the ranker wants features that the split does not have.

    Example:
        >>> scores = score(model, data.test)  # doctest: +SKIP
    """
    return make_scorer(ranker, split)()


def make_scorer(ranker: keras.Model, split: EncodedSplit) -> Callable[[], np.ndarray]:
    """Make the function that scores a split, under the ranker's current weights, as often as wanted.

    The texts are laid out once. Arguments, scores and errors are those of `score`.

    Example:
        >>> score_dev = make_scorer(model, data.dev)  # doctest: +SKIP
        >>> before = score_dev()  # doctest: +SKIP
    """
    if "answers" in _input_names(ranker):
        return ListScorer(ranker, split)
    if not reads_apart(ranker):
        return PairScorer(ranker, split)
    if encoding := encoding_of(ranker, "packed"):
        return TextScorer(ranker, split, encoding)
    return SharedTextScorer(ranker, split, encoding_of(ranker, "wordwise"))


class HardestWrong:
    """How many of the wrong answers to train on are those that the ranker of the moment scores highest.

    All of them ("max"), half of them ("mix"; Rao et al., CIKM 2016) or none ("random").
    """

    def __init__(self, split: EncodedSplit, by: NegativesBy, wanted: int):
        self.number = {"random": 0, "mix": -(-wanted // 2), "max": wanted}[by]
        self._split = split
        self._ranker: keras.Model | None = None
        self._score: Callable[[], np.ndarray] = lambda: np.empty(0, np.float32)

    def scores(self, trainer: Any) -> np.ndarray | None:
        """Score all candidates by the ranker that is trained; None where no hardest one is wanted."""
        if not self.number or trainer is None:
            return None
        if self._ranker is not trainer.ranker:
            self._ranker, self._score = trainer.ranker, make_scorer(trainer.ranker, self._split)
        return self._score()


class TextScorer:
    """Encodes candidates, `_TOKENS_PER_CHUNK` words at a time, with the questions to which they belong."""

    def __init__(self, ranker: keras.Model, split: EncodedSplit, encoding: Any):
        matcher, owner = ranker.get_layer("matcher"), split.question_of_row
        # Of contextual words nearly every one has a vector of its own.
        tokens = split.candidates.lengths + 1
        first_rows = np.flatnonzero(np.diff(owner, prepend=-1))
        tokens[first_rows] += split.questions.lengths[owner[first_rows]]
        self._chunks = []
        for chunk in chunks(split.n_rows, _TOKENS_PER_CHUNK, lambda chunk: np.cumsum(tokens[chunk])):
            owners = owner[chunk]
            questions = np.arange(owners[0], owners[-1] + 1)
            rows = np.arange(chunk.start, chunk.stop)
            texts = encoding.pack(split.questions.take(questions), split.candidates.take(rows))
            of_chunk = (owners - owners[0]).astype(np.int32)
            self._chunks.append((texts, of_chunk, np.int32(len(questions))))

        def score(texts, owner, n_questions):
            questions, answers = [], []
            for x in tf.nest.flatten(encoding(texts)):
                questions.append(tf.gather(x[:n_questions], owner))
                answers.append(x[n_questions:])
            return matcher([*questions, *answers])

        # Traced once and for all: every new shape of a chunk would be a new trace. There is no Python control
        # flow over tensors, for which AutoGraph would first rewrite the source, which takes up to a second.
        self._score = tf.function(score, autograph=False).get_concrete_function(
            encoding.signature, tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int32)
        )

    def __call__(self) -> np.ndarray:
        scores = [np.empty(0, np.float32)]
        for chunk in self._chunks:
            tensors = tf.nest.map_structure(tf.convert_to_tensor, chunk)
            scores.append(self._score(*tensors).numpy())
        return np.concatenate(scores)


class PairScorer:
    """Scores pairs, those of like length together."""

    def __init__(self, ranker: keras.Model, split: EncodedSplit):
        check_reads_pairs(ranker, split)
        names = _input_names(ranker)
        lengths = np.maximum(split.candidates.lengths, 1)
        order = np.argsort(lengths, kind="stable")
        lengths, owner = lengths[order], split.question_of_row[order]
        question_lengths = np.maximum(split.questions.lengths, 1)[owner]

        def words(chunk):
            # As the lengths rise, the last answer is the widest.
            widths = lengths[chunk] + np.maximum.accumulate(question_lengths[chunk])
            return widths * np.arange(1, len(widths) + 1)

        self._n_rows, self._chunks = split.n_rows, []
        for chunk in chunks(len(order), _WORDS_PER_CHUNK, words):
            rows = order[chunk]
            arrays = pair_arrays(split, rows)
            self._chunks.append((rows, [arrays[name] for name in names]))
        self._score = _traced(ranker)

    def __call__(self) -> np.ndarray:
        scores = np.empty(self._n_rows, np.float32)
        for rows, inputs in self._chunks:
            scores[rows] = self._score(*map(tf.convert_to_tensor, inputs)).numpy()
        return scores


class ListScorer:
    """Scores lists, those of like length together; a question with too many words by itself."""

    def __init__(self, ranker: keras.Model, split: EncodedSplit):
        self._split = split
        self._lists = list_rows(split)
        counts, longest = list_sizes(self._lists, np.maximum(split.candidates.lengths, 1))
        order = np.lexsort((counts, longest))
        longest, counts = longest[order], counts[order]

        # As the lengths rise, the last question of a chunk says how wide it is.
        def words(chunk):
            return longest[chunk] * np.cumsum(counts[chunk])

        self._chunks = [order[chunk] for chunk in chunks(len(order), _WORDS_PER_CHUNK, words)]
        self._score = _traced(ranker)

    def __call__(self) -> np.ndarray:
        scores = np.empty(self._split.n_rows, np.float32)
        for questions in self._chunks:
            rows = [self._lists[i] for i in questions]
            inputs = (self._split.questions.padded(questions), padded_lists(self._split, rows))
            padded = self._score(*map(tf.convert_to_tensor, inputs)).numpy()
            scores[np.concatenate(rows)] = padded[real_candidates(rows)]
        return scores


def _input_names(ranker: keras.Model) -> list[str]:
    return [x.name for x in ranker.inputs]


def _traced(ranker: keras.Model) -> tf.types.experimental.ConcreteFunction:
    def trace():
        signature = [tf.TensorSpec(x.shape, x.dtype) for x in ranker.inputs]
        score = tf.function(lambda *inputs: ranker(list(inputs)), autograph=False)
        return score.get_concrete_function(*signature)

    return trace_once(ranker, "_traced_scores", trace)
