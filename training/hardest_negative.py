"""Training against the wrong answer that the current model scores highest of those drawn (dos Santos)."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit, UserError
from answer_ranking.data_prep.encoded_split import chunks, offsets_of
from answer_ranking.models.encodings import encoding_of
from answer_ranking.models.networks.matchers import broadcast_scores, project_questions
from answer_ranking.training.batch_stream import NO_PAIRS, TrainingMethod
from answer_ranking.training.options import HardestNegativeOptions
from answer_ranking.training.ranker_trainer import RankerTrainer, encoder_of

# How many words, padding included, the drawn texts of a chunk may have, which bounds the memory.
_WORDS_PER_CHUNK = 8192

_MATRIX, _ROW = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)


class HardestNegative(TrainingMethod):
    """Trains as dos Santos et al. (2016) do: one hinge per question and correct answer.

    [Attentive Pooling Networks](https://arxiv.org/abs/1602.03609), Eq. 12:

    ```
    loss = sum over pairs of weight * max(0, margin - s(q, a+) + s(q, a-))
    a-   = the one of the drawn answers with the highest s(q, a) under the current weights
    ```

    plus `l2` times the squares of all weights but biases. Order and draws depend on seed and epoch.

    Args:
        split: the training questions.
        options: the options.
        seed: seeds order and draws; the ranker's initial weights and dropout have their own seed.

    Raises:
        UserError: no question has both a correct and a wrong answer to train on.

    Example:
        >>> method = HardestNegative(data.train, HardestNegativeOptions(epochs=5))  # doctest: +SKIP
        >>> fit(ap_cnn(vectors), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: HardestNegativeOptions, seed: int = 0):
        self.sampler = AnswerSampler(
            split, options.sampled_negatives, options.negatives_from, options.share_negatives
        )
        super().__init__(split, options, seed, len(self.sampler))
        # Epochs count from 1 in the paper and from 0 here.
        rate = keras.callbacks.LearningRateScheduler(lambda epoch: options.learning_rate / (epoch + 1))
        self.callbacks = [rate] if options.learning_rate_decay else []

    def trainer(self, ranker: keras.Model) -> "HardestNegativeTrainer":
        return HardestNegativeTrainer(ranker, self.options)

    def signature(self, trainer: "HardestNegativeTrainer") -> dict[str, tf.TensorSpec]:
        """Return types and shapes of a batch's arrays.

        ```
        question, correct  (n, words)    the texts of n pairs, 0 being padding
        weight             (n,)          what a pair counts in the loss
        sampled            (texts, words) the drawn answers, each once, the shortest first
        pair_text          (scored,)     the pairs of question and drawn answer that are scored,
        pair_question      (scored,)     by rising number of the drawn answer
        choice             (n, k)        which of them belong to a pair; -1 for none
        chunk_texts        (chunks + 1,) chunk c has the texts chunk_texts[c] to chunk_texts[c + 1] - 1,
        chunk_pairs        (chunks + 1,) the scored pairs chunk_pairs[c] to chunk_pairs[c + 1] - 1,
        chunk_widths       (chunks,)     and its longest text has so many words
        ```
        """
        rows = ("pair_text", "pair_question", "chunk_texts", "chunk_pairs", "chunk_widths")
        matrices = ("question", "correct", "sampled", "choice")
        weight = {"weight": tf.TensorSpec((None,), tf.float32)}
        return dict.fromkeys(matrices, _MATRIX) | dict.fromkeys(rows, _ROW) | weight

    def batches(self, trainer: "HardestNegativeTrainer", epoch: int) -> Iterator[dict[str, np.ndarray]]:
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.sampler))
        for number, start in enumerate(range(0, len(order), self.options.batch_size)):
            pairs = order[start : start + self.options.batch_size]
            drawn = self.sampler.draw(pairs, np.random.default_rng([self.seed, epoch, number]))
            weight = 1 / len(pairs) if self.options.reduction == "mean" else 1.0
            yield self._batch(pairs, drawn, weight)

    def _batch(self, pairs: np.ndarray, drawn: np.ndarray, weight: float) -> dict[str, np.ndarray]:
        texts = self.sampler.texts
        owner, column = np.nonzero(drawn >= 0)
        numbers, text_of_drawn = np.unique(drawn[owner, column], return_inverse=True)
        by_length = np.argsort(texts.lengths[numbers], kind="stable")
        place = np.empty(len(numbers), np.int64)
        place[by_length] = np.arange(len(numbers))
        numbers, text_of_drawn = numbers[by_length], place[text_of_drawn]
        by_text = np.argsort(text_of_drawn, kind="stable")
        choice = np.full(drawn.shape, -1)
        choice[owner[by_text], column[by_text]] = np.arange(len(by_text))
        pair_text, pair_question = text_of_drawn[by_text], owner[by_text]
        sampled, lengths = texts.padded(numbers), texts.lengths[numbers]
        if len(numbers) == 0:
            # An empty text and a score that no pair refers to: Keras takes no maximum of nothing.
            sampled, lengths, pair_text = np.zeros((1, 1)), np.array([1]), np.array([0])
            pair_question = pair_text
        n_scored = np.bincount(pair_text, minlength=len(lengths))
        first_pair = offsets_of(n_scored)

        def words(chunk):
            """The words of the texts; those of the scored pairs may be four times as many."""
            n_pairs = first_pair[1:][chunk] - first_pair[chunk.start]
            return np.maximum(np.arange(1, len(n_pairs) + 1), n_pairs / 4) * lengths[chunk]

        ends = [chunk.stop for chunk in chunks(len(lengths), _WORDS_PER_CHUNK, words)]
        chunk_texts = np.array([0, *ends])
        # A pair that drew none but correct answers has nothing to be set against.
        weights = np.where((drawn >= 0).any(axis=1), weight, 0.0)
        arrays = {
            "question": self.split.questions.padded(self.sampler.question_of_pair[pairs]),
            "correct": texts.padded(self.sampler.text_of_pair[pairs]),
            "sampled": sampled,
            "pair_text": pair_text,
            "pair_question": pair_question,
            "choice": choice,
            "chunk_texts": chunk_texts,
            "chunk_pairs": first_pair[chunk_texts],
            "chunk_widths": lengths[chunk_texts[1:] - 1],
        }
        return {k: x.astype(np.int32) for k, x in arrays.items()} | {"weight": weights.astype(np.float32)}


class HardestNegativeTrainer(RankerTrainer):
    """The step of `HardestNegative`: search, then the gradient of the pairs with the answers found.

    The search scores the drawn answers without gradient and dropout, chunk by chunk; each is encoded once,
    however many questions meet it. Of equal scores the first drawn wins. Only the answer that wins is encoded
    again. A ranker with a wordwise encoding multiplies each distinct word by the kernels once, in the search
    and, unless there is dropout on words that texts share, in training.
    """

    options: HardestNegativeOptions

    def __init__(self, ranker: keras.Model, options: HardestNegativeOptions):
        super().__init__(ranker, options)
        encoder_of(ranker)
        self._wordwise: Any = encoding_of(ranker, "wordwise")
        self._trains_wordwise = self._wordwise is not None and self._wordwise.trains
        self.active_share = keras.metrics.Mean(name="active_share")
        self.further_metrics = (self.active_share,)

    def losses_and_gradients(
        self, batch: dict[str, tf.Tensor], weights: list[tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        # Before the tape, which need not see the search.
        wrong = tf.gather(batch["sampled"], self.hardest(batch))
        return super().losses_and_gradients(batch | {"wrong": wrong}, weights)

    def losses(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        answers = _stack_texts(batch["correct"], batch["wrong"])
        questions, encoded = self._encode_for_training(batch["question"], answers)
        twice = [tf.concat([x, x], 0) for x in questions]
        scores = self.ranker.get_layer("matcher")([*twice, *encoded], training=True)
        correct, wrong = tf.split(scores, 2)
        hinge = tf.nn.relu(self.options.margin - correct + wrong)
        self.active_share.update_state(tf.cast(hinge > 0, tf.float32), sample_weight=batch["weight"])
        return hinge

    def hardest(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find the drawn answer of every pair that the model scores highest; 0 where none was drawn."""
        scores = tf.concat([self._scores(batch), [float("-inf")]], 0)
        pair_text = tf.concat([batch["pair_text"], [0]], 0)
        none = tf.shape(batch["pair_text"])[0]
        choice = tf.where(batch["choice"] < 0, none, batch["choice"])
        best = tf.argmax(tf.gather(scores, choice), axis=1, output_type=tf.int32)
        return tf.gather(pair_text, tf.gather(choice, best, batch_dims=1))

    def _scores(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        matcher = self.ranker.get_layer("matcher")
        encode = self._encode if self._wordwise is None else self._encode_wordwise
        questions = project_questions(matcher, encode(batch["question"]))
        texts, pairs, widths = batch["chunk_texts"], batch["chunk_pairs"], batch["chunk_widths"]
        n_chunks = tf.reduce_sum(tf.cast(texts[1:] > texts[:-1], tf.int32))

        def score(number: tf.Tensor, scores: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            first, end = texts[number], texts[number + 1]
            answers = encode(batch["sampled"][first:end, : widths[number]])
            scored = slice(pairs[number], pairs[number + 1])
            of_answer = batch["pair_text"][scored] - first
            of_question = batch["pair_question"][scored]
            found = self._scores_of_pairs(questions, of_question, answers, of_answer)
            return number + 1, scores.write(number, found)

        # One chunk after the other: two at a time would take twice the memory.
        _, scores = tf.while_loop(
            lambda number, _: number < n_chunks,
            score,
            (0, tf.TensorArray(tf.float32, n_chunks, infer_shape=False, element_shape=(None,))),
            parallel_iterations=1,
        )
        return scores.concat()

    def _scores_of_pairs(
        self,
        questions: list[tf.Tensor],
        of_question: tf.Tensor,
        answers: list[tf.Tensor],
        of_answer: tf.Tensor,
    ) -> tf.Tensor:
        """Score pairs of encoded texts, of which the rows are given."""
        matcher = self.ranker.get_layer("matcher")
        if not self.options.share_negatives:
            return broadcast_scores(matcher, _take(questions, of_question), _take(answers, of_answer))
        # Every question meets every answer: no encoding is copied for a pair.
        row = [x[None] for x in questions]
        column = [x[:, None] for x in answers]
        scores = broadcast_scores(matcher, row, column)
        return tf.gather_nd(scores, tf.stack([of_answer, of_question], 1))

    def _encode_for_training(
        self, questions: tf.Tensor, answers: tf.Tensor
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        if not self._trains_wordwise:
            return self._encode(questions, training=True), self._encode(answers, training=True)
        places, rows = self._wordwise.project(_stack_texts(questions, answers), training=True)
        n, width = tf.shape(questions)[0], _longest(questions)
        return self._wordwise(places[:n, :width], rows), self._wordwise(places[n:], rows)

    def _encode_wordwise(self, words: tf.Tensor) -> list[tf.Tensor]:
        return self._wordwise(*self._wordwise.project(words))

    def _encode(self, words: tf.Tensor, training: bool = False) -> list[tf.Tensor]:
        encoded = keras.tree.flatten(self.ranker.get_layer("encoder")(words, training=training))
        # As tensors of their own: Keras would warn that the matcher drops the mask of a BiLSTM's states.
        return list(map(tf.identity, encoded))


class AnswerSampler:
    """Draws wrong answers for the pairs of a question and a correct answer.

    An epoch has one pair per question and correct answer, as the paper's "1.5 million text segments" per
    epoch of InsuranceQA tell. A text that stands in several rows is one answer, and what is correct for a
    question anywhere is never wrong for it. An answer without words is left out. A draw that is shared by a
    batch leaves out what is correct for a question for that question alone.
    """

    def __init__(self, split: EncodedSplit, count: int = 50, source: str = "answers", share: bool = False):
        self.count = count
        self.share = share
        # The numbers of texts below refer to this table of distinct answers.
        self.texts = split.candidates.texts
        index = split.candidates.index.astype(np.int64)
        full = self.texts.lengths[index] > 0
        n_texts, pair = max(1, len(self.texts)), split.pair_of_row
        correct = np.unique(pair[full & (split.labels == 1)])
        questions, texts = correct // n_texts, correct % n_texts
        self._correct = np.split(texts, np.searchsorted(questions, np.arange(1, split.n_questions)))
        self._answers = np.unique(index[full])
        self._own = None
        n_wrong = len(self._answers) - np.bincount(questions, minlength=split.n_questions)
        if source == "own":
            wrong = np.setdiff1d(pair[full & (split.labels == 0)], correct)
            bounds = np.searchsorted(wrong // n_texts, np.arange(1, split.n_questions))
            self._own = np.split(wrong % n_texts, bounds)
            n_wrong = np.array(list(map(len, self._own)))
        # The place of a question's correct answers among all, to draw around them.
        self._places = [np.searchsorted(self._answers, texts) for texts in self._correct]
        kept = n_wrong[questions] > 0
        self.question_of_pair, self.text_of_pair = questions[kept], texts[kept]
        if not kept.any():
            raise UserError(
                f"{NO_PAIRS} Where its questions have no wrong answers of their own, draw them from all "
                "answers (negatives_from answers)."
            )

    def __len__(self) -> int:
        return len(self.question_of_pair)

    def draw(self, pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw numbers of texts, `(pairs, count)`, without replacement; -1 where a pair has fewer."""
        questions = self.question_of_pair[pairs]
        if self.share:
            shared = self._without_replacement(rng, len(self._answers))
            row = np.full(self.count, -1)
            row[: len(shared)] = self._answers[shared]
            drawn = np.tile(row, (len(pairs), 1))
            for own, question in zip(drawn, questions, strict=True):
                own[np.isin(own, self._correct[question])] = -1
            return drawn
        drawn = np.full((len(pairs), self.count), -1)
        for row, question in zip(drawn, questions, strict=True):
            found = self._draw(rng, question)
            row[: len(found)] = found
        return drawn

    def _draw(self, rng: np.random.Generator, question: int) -> np.ndarray:
        if self._own is not None:
            own = self._own[question]
            return own[self._without_replacement(rng, len(own))]
        drawn = self._without_replacement(rng, len(self._answers) - len(self._places[question]))
        # The numbers count the wrong answers alone; they step over the correct ones, from the first on.
        for place in self._places[question]:
            drawn += drawn >= place
        return self._answers[drawn]

    def _without_replacement(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice(n, min(self.count, n), replace=False)


def _take(encoded: list[tf.Tensor], rows: tf.Tensor) -> list[tf.Tensor]:
    return [tf.gather(x, rows) for x in encoded]


def _stack_texts(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """Put two groups of padded texts one below the other, as wide as the longest text."""
    width = tf.maximum(_longest(one), _longest(other))
    return tf.concat([_as_wide(one, width), _as_wide(other, width)], 0)


def _as_wide(words: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    words = words[:, :width]
    return tf.pad(words, [[0, 0], [0, width - tf.shape(words)[1]]])


def _longest(words: tf.Tensor) -> tf.Tensor:
    return tf.maximum(tf.reduce_max(tf.math.count_nonzero(words, axis=1, dtype=tf.int32)), 1)
