"""HyperQA and CosineQA in use, in NumPy alone: a text is a sum of rows, brought onto the ball."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from answer_ranking.data_prep.encoded_split import EncodedSplit, EncodedTexts, chunks, offsets_of

# What is computed at a time, which bounds the memory: some ten megabytes at 400 dimensions.
_TOKENS_AT_ONCE = 1 << 16
_PAIRS_AT_ONCE = 1 << 11
# The constants of `layers.poincare` for float32.
_GRID, _ROUNDED_BELOW = np.float32(2.0**11), 1e-2
_SMALLEST_FACTOR, _TINY = np.float32(1e-5), np.float32(1e-30)
_RELEASED_EPSILON = np.float32(1e-6)


@dataclass(frozen=True)
class NumpyHyperQA:
    """The weights of `models.hyperqa`, float32, and its equations without TensorFlow.

    HyperQA (https://arxiv.org/abs/1707.07847): a word's projection is relu(W_p z + b_p) (Eq. 1), a text the
    sum of its words (Eq. 2) on the ball, the score w_f d(q, a) + b_f (Eq. 6) with the Poincare distance
    (Eq. 4), or the cosine. The steps are those of the Keras layers, in their order and precision.

    Attributes:
        word_vectors: float32 (words, n), row 0 belonging to padding.
        kernel, bias: float32 (n, d) and (d,), W_p and b_p; None for a model without Eq. 1.
        score_weight, score_bias: float32, w_f and b_f.
        text_weights: float32 (2 d,), w_q and w_a of `raw_embeddings`, or None.
        max_norm, projection: of the ball, see `layers.UnitBall`.
        distance: "asinh" or "released", the form of the Poincare distance; or "cosine".
        pooling: "sum" or "mean" of the words.

    Example:
        >>> one = np.ones((3, 2), np.float32)
        >>> small = NumpyHyperQA(one, one[:2], one[0], *np.float32([-1, 0]), None, 0.5, "clip", "asinh")
        >>> points = small.encode(EncodedTexts(np.array([1, 2], np.int32), np.array([0, 2])), one[:0])
        >>> round(float(np.linalg.norm(points)), 6), small.score_points(points, points).tolist()
        (0.5, [0.0])
    """

    word_vectors: np.ndarray
    kernel: np.ndarray | None
    bias: np.ndarray | None
    score_weight: np.float32
    score_bias: np.float32
    text_weights: np.ndarray | None
    max_norm: float
    projection: str
    distance: str
    pooling: str = "sum"
    is_frozen = encodes_apart = True
    needs_features = reads_lists = False

    @property
    def n_words(self) -> int:
        """How many words have vectors."""
        return len(self.word_vectors)

    @property
    def similarity(self) -> str:
        """What compares points: "hyperbolic" (the Poincare distance) or "cosine"."""
        return "cosine" if self.distance == "cosine" else "hyperbolic"

    def vectors_of(self, numbers: np.ndarray) -> np.ndarray:
        """Give the vectors of words by their numbers, float32 (words, n)."""
        return self.word_vectors[numbers]

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], weights: Mapping[str, list[np.ndarray]]
    ) -> "NumpyHyperQA | None":
        """Make it of what Keras saves of a model: the config, and the weights of each layer by its name.

        Returns None for a model of mixed precision. A ValueError says that weights do not
        fit.
        """
        if not _computes_in_float32(config):
            return None
        layers = layer_configs(config)
        n_words = layers["word_vectors"].get("input_dim")
        if n_words is None:
            # Contextual words: the model has the vectors of padding and unknown alone.
            n_words = 2
            weights = {
                **weights,
                "word_vectors": [np.zeros((2, layers["word_vectors"]["output_dim"]), np.float32)],
            }
        (word_vectors,), (score_weight, score_bias) = weights["word_vectors"], weights["score"]
        raw = weights["score_of_texts"][0][:, 0] if "score_of_texts" in layers else None
        n = d = layers["word_vectors"]["output_dim"]
        found = [x.shape for x in (word_vectors, score_weight, score_bias)]
        expected: list[tuple[int, ...]] = [(n_words, n), (1, 1), (1,)]
        kernel = bias = None
        if "projection" in layers:
            (kernel, bias), d = weights["projection"], layers["projection"]["units"]
            found += [kernel.shape, bias.shape]
            expected += [(n, d), (d,)]
        if found != expected or (raw is not None and raw.shape != (2 * d,)):
            raise ValueError("its weights do not fit its layers")
        ball = layers["ball"]
        distance = layers["distance"]["form"] if "distance" in layers else "cosine"
        if distance not in ("asinh", "released", "cosine") or ball["projection"] not in ("clip", "smooth"):
            raise ValueError("it has an option that no HyperQA has")
        scalars = score_weight[0, 0], score_bias[0]
        pooling = "mean" if "mean_of_words" in layers else "sum"
        on_ball = ball["max_norm"], ball["projection"]
        return cls(word_vectors, kernel, bias, *scalars, raw, *on_ball, distance, pooling)

    def encode(self, texts: EncodedTexts, added: np.ndarray) -> np.ndarray:
        """Compute the points of texts, float32 (n_texts, d); a text without words is the origin.

        `added` float32 (k, n) are the vectors of words whose numbers follow those of `word_vectors`.
        """
        size = self.word_vectors.shape[1] if self.kernel is None else self.kernel.shape[1]
        points = np.empty((len(texts), size), np.float32)
        lengths = texts.lengths
        for chunk in chunks(len(texts), _TOKENS_AT_ONCE, lambda chunk: np.cumsum(lengths[chunk] + 1)):
            first, last = texts.offsets[chunk.start], texts.offsets[chunk.stop]
            points[chunk] = self._points(texts.words[first:last], lengths[chunk], added)
        return points

    def _points(self, words: np.ndarray, lengths: np.ndarray, added: np.ndarray) -> np.ndarray:
        # Not by sorting, which takes as long as the sums: word numbers are small.
        distinct = np.flatnonzero(np.bincount(words))
        place_of_word = np.empty(distinct[-1] + 1 if len(distinct) else 0, np.int32)
        place_of_word[distinct] = np.arange(len(distinct), dtype=np.int32)
        place = place_of_word[words]
        n_own = len(self.word_vectors)
        vectors = np.empty((len(distinct), self.word_vectors.shape[1]), np.float32)
        own = int(np.searchsorted(distinct, n_own))
        vectors[:own] = self.word_vectors[distinct[:own]]
        if own < len(distinct):
            vectors[own:] = added[distinct[own:] - n_own]
        if self.kernel is not None:
            # In place: each further array of this size takes as long as the arithmetic.
            vectors = vectors @ self.kernel
            vectors += self.bias
            np.maximum(vectors, 0, out=vectors)
        # A sparse matrix of counts: many times faster than adding up copies of the rows.
        begins = offsets_of(lengths)
        counts = csr_matrix((np.ones(len(words), np.float32), place, begins), (len(lengths), len(distinct)))
        sums = counts @ vectors
        if self.pooling == "mean":
            sums /= np.maximum(lengths, 1)[:, None].astype(np.float32)
        return self._on_ball(sums)

    def _on_ball(self, x: np.ndarray) -> np.ndarray:
        """As `layers.poincare.project_to_ball`."""
        largest = np.maximum(np.abs(x).max(-1, keepdims=True), 1)
        scaled = x / largest
        length = np.sqrt(np.maximum(np.square(scaled).sum(-1, keepdims=True), _TINY))
        max_norm = np.float32(self.max_norm)
        if self.projection == "clip":
            points = scaled * np.minimum(largest, max_norm / length)
            if 1 - self.max_norm**2 < _ROUNDED_BELOW:
                is_cut = (largest * length > max_norm)[:, 0]
                points[is_cut] += _rounding(points[is_cut], self.max_norm)
            return points
        return scaled * (max_norm * np.tanh(largest * length) / length)

    def score_points(self, questions: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """Score points (..., d) of questions and answers, whose leading dimensions broadcast; float32."""
        if self.distance == "cosine":
            similarity = cosine(questions, answers)
        else:
            similarity = poincare_distance(questions, answers, self.distance)
        scores = self.score_weight * similarity + self.score_bias
        if self.text_weights is not None:
            of_question, of_answer = np.split(self.text_weights, 2)
            scores = scores + questions @ of_question + answers @ of_answer
        return scores

    @property
    def nearest_is_best(self) -> bool:
        """Whether the scores fall with the distance, or rise with the cosine."""
        sign = 1 if self.distance == "cosine" else -1
        return self.text_weights is None and bool(sign * self.score_weight > 0)

    def score(self, split: EncodedSplit, added: np.ndarray) -> np.ndarray:
        """Score every candidate of a split, float32 (rows,); no more than some texts are encoded at once."""
        scores = np.empty(split.n_rows, np.float32)
        owner = split.question_of_row
        # Rows of the same text follow each other, so that it is encoded once.
        order = np.argsort(split.candidates.index, kind="stable")
        for start in range(0, len(order), _PAIRS_AT_ONCE):
            rows = order[start : start + _PAIRS_AT_ONCE]
            questions, of_question = np.unique(owner[rows], return_inverse=True)
            texts, of_text = np.unique(split.candidates.index[rows], return_inverse=True)
            asked = self.encode(split.questions.take(questions), added)
            given = self.encode(split.candidates.texts.take(texts), added)
            if len(asked) > 1:
                asked = asked[of_question]
            scores[rows] = self.score_points(asked, given[of_text])
        return scores


def _computes_in_float32(config: Mapping[str, Any]) -> bool:
    layers = layer_configs(config)
    names = set()
    for name in {"word_vectors", "projection"} & layers.keys():
        dtype = layers[name]["dtype"]
        names.add(dtype if isinstance(dtype, str) else dtype["config"]["name"])
    activation = layers["projection"]["activation"] if "projection" in layers else "relu"
    return names == {"float32"} and activation == "relu"


def layer_configs(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the configs of the layers of a model's parts by the layers' names."""
    found = {}
    for part in config["config"]["layers"]:
        if part["config"]["name"] in ("encoder", "matcher"):
            for layer in part["config"]["layers"]:
                found[layer["config"]["name"]] = layer["config"]
    return found


def cosine(questions: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Compute the cosine of vectors (..., d), 0 for the zero vector."""
    units = []
    for x in (questions, answers):
        length = np.sqrt(np.square(x).sum(-1, keepdims=True))
        units.append(x / np.maximum(length, np.float32(1e-7)))
    return (units[0] * units[1]).sum(-1)


def poincare_distance(questions: np.ndarray, answers: np.ndarray, form: str) -> np.ndarray:
    """Compute HyperQA's Eq. 4 as `layers.poincare.poincare_distance` does, in the vectors' precision."""
    squared = np.square(questions - answers).sum(-1)
    lower = _SMALLEST_FACTOR if form == "asinh" else np.float32(0)
    factors = np.maximum(_one_minus_squared_norm(questions), lower) * np.maximum(
        _one_minus_squared_norm(answers), lower
    )
    if form == "released":
        excess = 2 * squared / (factors + _RELEASED_EPSILON)
        return np.log(1 + excess + np.sqrt(excess * (excess + 2) + _RELEASED_EPSILON))
    return np.where(squared <= _TINY, np.float32(0), 2 * np.arcsinh(np.sqrt(squared / factors)))


def _rounding(x: np.ndarray, max_norm: float) -> np.ndarray:
    """As in `layers.poincare`."""
    too_far_in = _one_minus_squared_norm(x)[:, None] - np.float32(1 - max_norm**2)
    sizes = np.abs(x)
    largest = sizes.max(-1, keepdims=True)
    signs = np.where(sizes == largest, np.sign(x), np.float32(0))
    return signs * too_far_in / (2 * largest * np.abs(signs).sum(-1, keepdims=True))


def _one_minus_squared_norm(x: np.ndarray) -> np.ndarray:
    coarse = np.round(x * _GRID) / _GRID
    return (1 - np.square(coarse).sum(-1)) - ((x - coarse) * (x + coarse)).sum(-1)
