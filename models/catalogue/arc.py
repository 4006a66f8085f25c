"""ARC-I and ARC-II (Hu et al., NIPS 2014): options and entries."""

from dataclasses import dataclass
from typing import Any

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordMlpOptions


@dataclass(frozen=True, kw_only=True)
class ARCI(WordMlpOptions):
    """ARC-I."""

    filters: int = 200
    """Feature maps of each convolution."""
    layers: int = 2
    """Number of convolutions, each with its pooling."""
    hidden: tuple[int, ...] = (200,)
    """Sizes of the layers of the MLP."""


@dataclass(frozen=True, kw_only=True)
class ARCII(WordMlpOptions):
    """ARC-II."""

    filters: int = 64
    """Feature maps of each convolution."""
    layers: int = 3
    """Number of convolutions, each with its pooling."""
    hidden: tuple[int, ...] = (64,)
    """Sizes of the layers of the MLP."""


_COMMON: dict[str, Any] = {
    "paper": "field",
    "method": "pairwise_together",
    "space": {"filters": (64, 128, 200), "layers": (1, 2, 3), "negatives": (1, 4, 8)},
    "own_tables": {},
}

ENTRIES = (
    Entry(name="arc-i", title="ARC-I", network="arc.arc_i", options=ARCI, **_COMMON),
    Entry(name="arc-ii", title="ARC-II", network="arc.arc_ii", options=ARCII, **_COMMON),
)
