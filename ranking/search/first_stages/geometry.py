"""Points of the ball or the sphere as vectors of which the largest inner product is the nearest.

The Poincare distance is `arccosh` of minus a Lorentz product: with the lift `(a v, a)` of a point v,
`a = 1 / (1 - |v|^2)`, and `(2 u, -(1 + |u|^2))` of a question u, the largest inner product is the nearest
point. Cosine is the inner product of unit vectors. A similarity is "hyperbolic" or "cosine".
"""

import numpy as np

_SMALLEST_FACTOR = 1e-5  # of 1 - |x|^2, as in `layers.poincare`


def lifted(points: np.ndarray, similarity: str) -> np.ndarray:
    """Map answers' points, float32 `(n, d)`, to vectors: of `d + 1` numbers from the ball, else of `d`."""
    return lift(points) if similarity == "hyperbolic" else unit(points)


def asked(questions: np.ndarray, similarity: str) -> np.ndarray:
    """Map questions' points to vectors whose inner products with the lifted ones fall with the distance."""
    if similarity == "cosine":
        return in_place(questions, similarity)
    last = -(1 + np.square(questions.astype(np.float64)).sum(axis=1, keepdims=True))
    return np.concatenate([2 * questions, last], axis=1).astype(np.float32)


def products(question: np.ndarray, points: np.ndarray, similarity: str) -> np.ndarray:
    """Compute the inner products of `asked` and `lifted` for one question, `(d,)`: float64 `(n,)`.

    Lifting a thousand points would copy them twice, which takes ten times as long as the products.
    """
    if similarity == "cosine":
        lengths = np.linalg.norm(points, axis=1)
        return (points @ question).astype(np.float64) / np.where(lengths > 0, lengths, 1)
    inner = (points @ question).astype(np.float64)
    return _factors(points) * (2 * inner - (1 + np.square(question.astype(np.float64)).sum()))


def in_place(points: np.ndarray, similarity: str) -> np.ndarray:
    """Give points of the ball as they are, others as unit vectors: what can be quantised."""
    return np.ascontiguousarray(points if similarity == "hyperbolic" else unit(points), np.float32)


def lift(points: np.ndarray) -> np.ndarray:
    """Map points of the ball, float32 `(n, d)`, to `(a v, a)` with `a = 1 / (1 - |v|^2)`, `(n, d + 1)`."""
    factor = _factors(points).astype(np.float32)[:, None]
    return np.concatenate([points * factor, factor], axis=1)


def _factors(points: np.ndarray) -> np.ndarray:
    """Compute `1 / (1 - |v|^2)`, float64 `(n,)`."""
    # Near the edge of the ball, float32 would leave no digit of the difference.
    squared = np.einsum("nd,nd->n", points, points, dtype=np.float64)
    return 1 / np.maximum(1 - squared, _SMALLEST_FACTOR)


def unit(points: np.ndarray) -> np.ndarray:
    """Divide vectors, float32 `(n, d)`, by their lengths; zero stays zero."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0, lengths, 1)
