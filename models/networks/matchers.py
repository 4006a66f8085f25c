"""The parts of rankers that compare encoded texts, and how many questions meet many answers at once."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from answer_ranking.layers import AttentivePooling, CosineSimilarity


@keras.saving.register_keras_serializable("answer_ranking")
class CosineMatcher(keras.Model):
    """A functional model of `cosine_matcher`: the cosine of two vectors."""

    def project(self, questions: Sequence[Any]) -> list[Any]:
        """Add to encoded questions what is the same for all answers, for `broadcast`."""
        return list(questions)

    def broadcast(self, questions: Sequence[Any], answers: Sequence[Any]) -> Any:
        """Score projected questions against encoded answers; leading dimensions broadcast."""
        return self.get_layer("cosine")([questions[0], answers[0]])


@keras.saving.register_keras_serializable("answer_ranking")
class AttentiveMatcher(CosineMatcher):
    """A functional model of `attentive_matcher`: the cosine of two texts that attend to each other."""

    def project(self, questions: Sequence[Any]) -> list[Any]:
        return [*questions, self.get_layer("attentive_pooling").project(questions[0])]

    def broadcast(self, questions: Sequence[Any], answers: Sequence[Any]) -> Any:
        states, masks = [questions[0], answers[0]], [questions[1], answers[1]]
        pooling = self.get_layer("attentive_pooling")
        pair = pooling(states, mask=masks, projected_question=questions[2])
        return self.get_layer("cosine")(pair)


def cosine_matcher(features: int) -> CosineMatcher:
    """Compare pairs of vectors `(batch, features)` by the cosine."""
    pair = [keras.Input((features,), name=f"{side}_vector") for side in ("question", "answer")]
    score = CosineSimilarity(name="cosine", dtype="float32")(pair)
    return CosineMatcher(pair, score, name="matcher")


def attentive_matcher(features: int, seed: int) -> AttentiveMatcher:
    """Compare pairs of states `(batch, length, features)`, each with its mask, pooled by attention."""
    inputs, texts, masks = [], [], []
    for side in ("question", "answer"):
        texts.append(keras.Input((None, features), name=f"{side}_states"))
        masks.append(keras.Input((None,), dtype="bool", name=f"{side}_mask"))
        inputs += [texts[-1], masks[-1]]
    pooling = AttentivePooling(
        kernel_initializer=keras.initializers.GlorotUniform(seed=seed + 1), name="attentive_pooling"
    )
    score = CosineSimilarity(name="cosine", dtype="float32")(pooling(texts, mask=masks))
    return AttentiveMatcher(inputs, score, name="matcher")


def project_questions(matcher: keras.Model, questions: Sequence[Any]) -> list[Any]:
    """Add to encoded questions what a matcher computes of them once, for `broadcast_scores`."""
    return matcher.project(questions) if isinstance(matcher, CosineMatcher) else list(questions)


def broadcast_scores(matcher: keras.Model, questions: Sequence[Any], answers: Sequence[Any]) -> Any:
    """Score questions (see `project_questions`) against encoded answers; leading dimensions broadcast.

    With `(1, n)` questions and `(m, 1)` answers all pairs are scored. A `CosineMatcher` copies no encoding
    for each pair; other matchers are called with such copies.
    """
    if isinstance(matcher, CosineMatcher):
        return matcher.broadcast(questions, answers)
    return _scores_of_copies(matcher, questions, answers)


def _scores_of_copies(matcher: keras.Model, questions: Sequence[Any], answers: Sequence[Any]) -> Any:
    n_leading = len(questions[0].shape) - len(matcher.inputs[0].shape) + 1
    leading = ops.shape(
        ops.add(*(ops.zeros(ops.shape(side[0])[:n_leading], "int32") for side in (questions, answers)))
    )
    copies = []
    for x in (*questions, *answers):
        shape = ops.shape(x)[n_leading:]
        copies.append(ops.reshape(ops.broadcast_to(x, (*leading, *shape)), (-1, *shape)))
    return ops.reshape(matcher(copies), leading)
