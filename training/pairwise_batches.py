"""The stream of question batches that pairwise training runs over."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from data_prep import EncodedTexts
from training.batch_stream import batch_dataset
from training.negative_sampling import EpochEntries, NegativeSampler

REDUCTIONS = ("sum", "mean", "question_mean")


class TextEncoding(Protocol):
    """How the texts of a batch become arrays (`pack`, `stack`) and then what stands for a text.

    What stands for a text is one tensor, or a list of tensors, with the texts along the first axis.
    """

    signature: dict[str, tf.TensorSpec]

    def pack(self, *groups: EncodedTexts, rng: np.random.Generator | None = None) -> dict[str, np.ndarray]:
        """Turn the texts into arrays; `rng` is given for training and draws what dropout needs."""

    def stack(self, parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Stack the arrays of several replicas along a new first axis."""

    def __call__(self, packed: dict[str, tf.Tensor]) -> Any:
        """Encode the texts, without dropout."""

    def with_pull_back(self, packed: dict[str, tf.Tensor]) -> tuple[Any, Callable[[Any], list[tf.Tensor]]]:
        """Encode the texts under dropout; the function takes gradients at them back to the weights."""


class PairwiseBatches:
    """Batches of whole questions, each with its correct and its drawn wrong answers, as a `tf.data.Dataset`.

    A batch holds its questions' texts followed by their answers' texts, each once, and the hinge loss's
    pairs as indices of answers. Every array has a leading axis of the length `replicas`: the questions of a
    batch are dealt out to the replicas of a `tf.distribute.MirroredStrategy`, which splits along it.

    Set `epoch` before an epoch starts (`KeepEpoch` does in `fit`); order and draws depend on it and on the
    sampler's seed alone.

    Args:
        sampler: draws the answers; its split holds the texts.
        encoding: how texts become arrays.
        batch_size: questions in a batch.
        reduction: how the pairs weigh in the loss: "sum" over all pairs of the batch (Eq. 7 of HyperQA),
            their "mean", or "question_mean": the mean over a question's pairs, summed over questions, so
            that long lists do not outweigh short ones.
        replicas: how many replicas share a batch.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> batches = PairwiseBatches(sampler, encoding, batch_size=32)  # doctest: +SKIP
        >>> trainer.fit(batches.dataset(), epochs=25)  # doctest: +SKIP
    """

    def __init__(
        self,
        sampler: NegativeSampler,
        encoding: TextEncoding,
        batch_size: int,
        *,
        reduction: str = "sum",
        replicas: int = 1,
    ):
        if reduction not in REDUCTIONS:
            raise ValueError(f"`reduction` must be one of {REDUCTIONS}. Received: reduction={reduction!r}")
        if batch_size < 1:
            raise ValueError(f"`batch_size` must be at least 1. Received: batch_size={batch_size}")
        self.sampler = sampler
        self.encoding = encoding
        self.batch_size = batch_size
        self.reduction = reduction
        self.replicas = replicas
        self.epoch = 0
        self.scores: Callable[[], np.ndarray] | None = None
        """Gives the current model's scores of the training candidates; asked once an epoch, if the sampler
        needs them."""

    def __len__(self) -> int:
        return -(-len(self.sampler.questions) // self.batch_size)

    def dataset(self) -> tf.data.Dataset:
        """Return one epoch's batches; iterating them again gives the epoch that `epoch` then names."""
        scalar, vector = tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.int32)
        signature = {
            **self.encoding.signature,
            "n_questions": scalar,
            "n_answers": scalar,
            "n_pairs": scalar,
            "question_of_answer": vector,
            "correct": vector,
            "wrong": vector,
            "weight": tf.TensorSpec((None,), tf.float32),
        }
        signature = {k: tf.TensorSpec([self.replicas, *s.shape], s.dtype) for k, s in signature.items()}
        return batch_dataset(self, signature)

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Draw the epoch's answers and make its batches."""
        scores = self.scores() if self.sampler.needs_scores else None
        entries = self.sampler.draw(self.epoch, scores)
        for number, start in enumerate(range(0, len(entries.questions), self.batch_size)):
            stop = min(start + self.batch_size, len(entries.questions))
            # A replica without a question gets an empty share of the batch.
            bounds = np.linspace(start, stop, self.replicas + 1).round().astype(int)
            parts = [
                self._part(entries, a, b, np.random.default_rng([self.sampler.seed, self.epoch, number, r]))
                for r, (a, b) in enumerate(itertools.pairwise(bounds))
            ]
            if self.reduction == "mean":
                n_pairs = sum(len(pairs["weight"]) for _, pairs in parts)
                for _, pairs in parts:
                    pairs["weight"] /= n_pairs
            yield self.encoding.stack([texts for texts, _ in parts]) | _stack_pairs([p for _, p in parts])

    def _part(
        self, entries: EpochEntries, start: int, stop: int, rng: np.random.Generator
    ) -> tuple[dict, dict]:
        split = self.sampler.split
        first, last = entries.offsets[start], entries.offsets[stop]
        texts = self.encoding.pack(
            split.questions.take(entries.questions[start:stop]),
            split.candidates.take(entries.rows[first:last]),
            rng=rng,
        )
        begin = entries.offsets[start:stop] - first
        n_answers = np.diff(entries.offsets[start : stop + 1])
        n_correct = entries.n_correct[start:stop]
        n_wrong = n_answers - n_correct
        n_pairs = n_correct * n_wrong
        # The pairs of question i count through its correct answers (outer) and wrong ones (inner).
        within = np.arange(n_pairs.sum()) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
        base, correct, wrong = (np.repeat(x, n_pairs) for x in (begin, n_correct, n_wrong))
        weight = np.ones(len(within), np.float32)
        if self.reduction == "question_mean":
            weight /= np.repeat(n_pairs, n_pairs).astype(np.float32)
        return texts, {
            "n_questions": np.int32(stop - start),
            "n_answers": np.int32(last - first),
            "n_pairs": np.int32(len(within)),
            "question_of_answer": np.repeat(np.arange(stop - start), n_answers).astype(np.int32),
            "correct": (base + within // np.maximum(wrong, 1)).astype(np.int32),
            "wrong": (base + correct + within % np.maximum(wrong, 1)).astype(np.int32),
            "weight": weight,
        }


def _stack_pairs(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Stack the replicas' pairs; the shorter ones are filled up with answers and pairs of weight 0."""
    stacked = {}
    for name, value in parts[0].items():
        values = [part[name] for part in parts]
        if value.ndim:
            longest = max(map(len, values))
            values = [np.pad(v, (0, longest - len(v))) for v in values]
        stacked[name] = np.stack(values)
    return stacked
