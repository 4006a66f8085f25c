"""HyperQA and CosineQA (Tay, Tuan and Hui, WSDM 2018): options and entries."""

from dataclasses import dataclass
from typing import Any, Literal

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordOptions


@dataclass(frozen=True, kw_only=True)
class CosineQA(WordOptions):
    """CosineQA: the cosine in place of the hyperbolic distance.

    The cosine does not see how long a vector is: without `raw_embeddings`, `max_norm`, `projection` and
    `pooling` change nothing.
    """

    dimension: int = 400
    """d, the size of projected words and of text vectors."""
    max_norm: float = 0.7
    """Largest norm of a text vector in the ball."""
    projection: Literal["clip", "smooth"] = "clip"
    """How texts come onto the ball: cut off at max_norm as in the paper, or by a smooth map."""
    pooling: Literal["sum", "mean"] = "sum"
    """A text is the sum of its words as in the paper, or their mean, which lies inside the ball."""
    dropout: float = 0.0
    """Share of the entries of text vectors that training drops."""
    raw_embeddings: bool = False
    """Show the last layer the text vectors beside their distance, as the paper does on SemEvalCQA."""


@dataclass(frozen=True, kw_only=True)
class HyperQA(CosineQA):
    """HyperQA."""

    distance_form: Literal["asinh", "released"] = "asinh"
    """The exact distance, or the formula of the authors' code."""


@dataclass(frozen=True, kw_only=True)
class CosineQAList(CosineQA):
    """CosineQA trained list-wise; the defaults are those for contextual words."""

    dimension: int = 300
    """d, the size of projected words and of text vectors."""
    max_norm: float = 0.9
    """Largest norm of a text vector in the ball."""
    embedding_dropout: float = 0.3
    """Share of the entries of word vectors that training drops."""
    start: Literal["glorot", "mirrored"] = "glorot"
    """The first projection: random, or one that leaves the cosine of the texts nearly as it is."""


@dataclass(frozen=True, kw_only=True)
class HyperQAList(CosineQAList, HyperQA):
    """HyperQA trained list-wise; the defaults are those for contextual words."""


# The paper's grid (d 100-400, margin 1-20, 2-8 negatives), widened.
_SPACE = {
    "dimension": (100, 200, 300, 400),
    "margin": (0.1, 0.25, 0.5, 1.0, 2.0, 5.0),
    "max_norm": (0.3, 0.5, 0.7, 0.9, 0.99),
    "clip_norm": (0.3, 1.0, 5.0, None),
    "own_negatives": (None, 4, 8),
    "foreign_negatives": (0, 2, 4, 8, 16),
}

# A softmax over a question's candidates in the place of the hinge; in none of the papers.
_LIST_TRAINING = {"epochs": 6, "learning_rate": 1e-3, "batch_size": 8}
_LIST_SPACE = {
    "dimension": (100, 200, 300, 400),
    "max_norm": (0.3, 0.5, 0.7, 0.9, 0.99),
    "embedding_dropout": (0.0, 0.1, 0.3, 0.5),
    "learning_rate": (1e-4, 3e-4, 1e-3, 3e-3),
    "epochs": (3, 6, 12),
}

_COMMON: dict[str, Any] = {
    "paper": "hyperqa",
    "network": "hyperqa.hyperqa",
    "seed_step": 1,
    "encodes_apart": True,
    "by_numpy": True,
    "reason": "shares",
}
_LIST: dict[str, Any] = {
    **_COMMON,
    "printed": False,
    "method": "listwise_apart",
    "training": _LIST_TRAINING,
    "space": _LIST_SPACE,
}

ENTRIES = (
    Entry(
        name="hyperqa",
        title="HyperQA",
        options=HyperQA,
        fixed={"similarity": "hyperbolic"},
        method="pairwise",
        training={"eq9": "parameters"},
        space=_SPACE,
        own_tables={},
        **_COMMON,
    ),
    Entry(
        name="cosineqa",
        title="CosineQA",
        options=CosineQA,
        fixed={"similarity": "cosine"},
        hidden=("eq9",),  # the cosine is no distance on the ball
        method="pairwise",
        space=_SPACE,
        **_COMMON,
    ),
    Entry(
        name="hyperqa-list",
        title="HyperQA list",
        options=HyperQAList,
        fixed={"similarity": "hyperbolic"},
        own_tables={},
        **_LIST,
    ),
    Entry(
        name="cosineqa-list",
        title="CosineQA list",
        options=CosineQAList,
        fixed={"similarity": "cosine"},
        **_LIST,
    ),
)
