"""aNMM-1 and aNMM-2 (Yang et al., CIKM 2016): options and entries."""

from dataclasses import dataclass
from typing import Any

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import ModelOptions


@dataclass(frozen=True, kw_only=True)
class ANMM1(ModelOptions):
    """aNMM-1."""

    bins: int = 600
    """The number of ranges of cosines below 1."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops, for the attention alone."""


@dataclass(frozen=True, kw_only=True)
class ANMM2(ANMM1):
    """aNMM-2."""

    units: int = 4
    """T, the nodes with value-shared weights of their own."""


_COMMON: dict[str, Any] = {
    "paper": "field",
    "network": "anmm.anmm",
    "method": "pairwise_together",
    "training": {"learning_rate": 0.01},
    # Few weights that read hundreds of counts overfit without an L2 far above that of the other networks.
    "space": {"l2": (0.0, 1e-4, 1e-3, 1e-2), "bins": (50, 200, 600), "negatives": (1, 4, 8)},
    "own_tables": {},
    "reason": "matches",
}

ENTRIES = (
    Entry(name="anmm-1", title="aNMM-1", options=ANMM1, **_COMMON),
    Entry(name="anmm-2", title="aNMM-2", options=ANMM2, **_COMMON),
)
