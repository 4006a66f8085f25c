"""How the explanations of the rankers are computed."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import EncodedSplit, EncodedTexts, SharedTexts
from answer_ranking.data_prep.encoded_split import offsets_of
from answer_ranking.ranking.explanation import Explanation

if TYPE_CHECKING:
    import keras

METHODS = ("own", "occlusion")
_MOST_WORDS = 2_000  # of both texts, since time and memory grow with their square


def explain(
    words: list[list[str]],
    encoded: EncodedTexts,
    method: str,
    reason: str,
    score: Callable[[EncodedSplit], np.ndarray],
    model: "keras.Model | None" = None,
) -> Explanation:
    """See `Ranker.explain`: of two texts, their words and numbers; `reason` is that of the catalogue.

    `model` is what scores, None where it is no Keras model.
    """
    if method not in METHODS:
        raise UserError(f"method must be one of {', '.join(METHODS)}. Received: {method!r}")
    for name, own in zip(("question", "answer"), words, strict=True):
        if not own:
            raise UserError(f"the {name} has no words that could be explained. Write some.")
    if len(encoded.words) > _MOST_WORDS:
        raise UserError(
            f"at most {_MOST_WORDS:,} words of both texts can be explained. Received: {len(encoded.words):,}"
        )
    texts = [encoded.words[: encoded.offsets[1]], encoded.words[encoded.offsets[1] :]]
    reason = reason if method == "own" else "occlusion"
    if model is not None and reason in _REASONS:
        found = _REASONS[reason](model, words, texts)
        if found is not None:
            return found
    losses = _losses(score, texts[0], texts[1], encoded.vectors)
    kind = "shares" if reason == "shares" else "occlusion"
    return Explanation(words[0], losses[: len(texts[0])], words[1], losses[len(texts[0]) :], kind)


def _losses(
    score: Callable[[EncodedSplit], np.ndarray],
    question: np.ndarray,
    answer: np.ndarray,
    vectors: np.ndarray | None,
) -> np.ndarray:
    """Compute the score minus that without each word, first those of the question, then of the answer."""
    n, m = len(question), len(answer)
    questions = [question, *(np.delete(question, i) for i in range(n)), *[question] * m]
    answers = [answer, *[answer] * n, *(np.delete(answer, i) for i in range(m))]
    rows = 1 + n + m
    split = EncodedSplit(
        questions=_texts(questions, vectors),
        candidates=SharedTexts(_texts(answers, vectors), np.arange(rows, dtype=np.int32)),
        candidate_offsets=np.arange(rows + 1),
        labels=np.zeros(rows, np.int8),
        question_ids=[f"q{i}" for i in range(rows)],
        candidate_ids=[f"c{i}" for i in range(rows)],
    )
    scores = score(split)
    return scores[0] - scores[1:]


def _texts(lists: list[np.ndarray], vectors: np.ndarray | None) -> EncodedTexts:
    offsets = offsets_of(list(map(len, lists)))
    return EncodedTexts(np.concatenate(lists).astype(np.int32), offsets, vectors)


def _relatedness(model: "keras.Model", words: list[list[str]], texts: list[np.ndarray]) -> Explanation:
    """Compute the cosines of all pairs of words, as `layers.WordRelatedness` does, and their maxima."""
    vectors = [np.asarray(model.get_layer("word_vectors")(text), np.float64) for text in texts]
    units = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in vectors]
    cosines = units[0] @ units[1].T
    of_question, of_answer = cosines.max(axis=1), cosines.max(axis=0)
    return Explanation(words[0], of_question, words[1], of_answer, "relatedness", matrix=cosines)


def _matches(model: "keras.Model", words: list[list[str]], texts: list[np.ndarray]) -> Explanation:
    """Compute aNMM's attention to the question's words, and the cosines of all pairs."""
    cosines = _relatedness(model, words, texts)
    vectors = np.asarray(model.get_layer("word_vectors")(texts[0]), np.float64)
    logits = vectors @ np.asarray(model.get_layer("attention").kernel, np.float64)[:, 0]
    powers = np.exp(logits - logits.max())
    return replace(cosines, question_weights=powers / powers.sum(), kind="matches")


def _attention(model: "keras.Model", words: list[list[str]], texts: list[np.ndarray]) -> Explanation:
    """Compute the attention of AP-CNN or AP-BiLSTM to each word."""
    from answer_ranking.models.networks.attentive_pooling import attention_weights

    weights = attention_weights(model, *(text[None] for text in texts))
    return Explanation(words[0], weights[0][0], words[1], weights[1][0])


def _gates(model: "keras.Model", words: list[list[str]], texts: list[np.ndarray]) -> Explanation | None:
    """Compute the output gates of the words of CTRN or QRNN, means over the features, and those lent.

    f-pooling has no output gate: None.
    """
    encoder, layers = model.get_layer("encoder"), {layer.name: layer for layer in model.layers}
    if encoder.pooling == "f":
        return None
    own = []
    for text in texts:
        vectors = model.get_layer("word_vectors")(text[None])
        if "projection" in layers:
            vectors = layers["projection"](vectors)
        own.append(np.asarray(encoder.gates(vectors)[2], np.float64)[0].mean(axis=1))
    if encoder.crossing is None:
        return Explanation(words[0], own[0], words[1], own[1], "gates")
    longer, shorter = max(map(len, texts)), min(map(len, texts))
    factor = 1 if encoder.crossing == "index" else -(-longer // shorter)
    lent = [
        partner[np.minimum((np.arange(len(gates)) + 1) * factor, len(partner)) - 1]
        for gates, partner in zip(own, own[::-1], strict=True)
    ]
    return Explanation(words[0], own[0], words[1], own[1], "gates", lent=(lent[0], lent[1]))


_REASONS: dict[str, Callable[..., Explanation | None]] = {
    "attention": _attention,
    "gates": _gates,
    "matches": _matches,
    "relatedness": _relatedness,
}
