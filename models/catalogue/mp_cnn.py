"""MP-CNN (He et al. 2015) and Rank MP-CNN (Rao et al. 2016): options and entries."""

from dataclasses import dataclass
from typing import Any

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordMlpOptions


@dataclass(frozen=True, kw_only=True)
class MPCNN(WordMlpOptions):
    """MP-CNN."""

    filters: int = 525
    """Holistic filters of each width."""
    dimension_filters: int = 20
    """Filters of each dimension of the word vectors and each width."""
    hidden: tuple[int, ...] = (150,)
    """Sizes of the hidden layers."""
    dropout: float = 0.0
    """Share of the entries of the comparisons and of the hidden layers that training drops."""


_COMMON: dict[str, Any] = {
    "paper": "field",
    "network": "mp_cnn.mp_cnn",
    "options": MPCNN,
    "space": {"filters": (50, 100, 200), "dimension_filters": (1, 4)},
    "own_tables": {"filters": 100, "dimension_filters": 4},
}

# 16,000 comparisons feed one layer of tanh: steps of Adam's usual 1e-3 saturate it, and it learns nothing.
_TRAINING = {"learning_rate": 1e-4}

ENTRIES = (
    Entry(name="mp-cnn", title="MP-CNN", method="pointwise", training=_TRAINING, **_COMMON),
    Entry(
        name="rank-mp-cnn",
        title="Rank MP-CNN",
        method="pairwise_together",
        training={**_TRAINING, "negatives_by": "mix"},
        **_COMMON,
    ),
)
