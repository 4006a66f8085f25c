"""Compare-Aggregate with clipped attention (Bian et al., CIKM 2017): options and entry."""

from dataclasses import dataclass

from answer_ranking.models.catalogue.cosinet import CompareAggregate
from answer_ranking.models.catalogue.entry import Entry


@dataclass(frozen=True, kw_only=True)
class ClippedCompareAggregate(CompareAggregate):
    """Compare-Aggregate with clipped attention."""

    threshold: float = 0.08
    """The largest weight of attention that counts nothing."""


ENTRIES = (
    Entry(
        name="ca-clip",
        title="CA clip",
        paper="field",
        network="compare_aggregate.clipped_compare_aggregate",
        options=ClippedCompareAggregate,
        method="listwise",
        training={"epochs": 10, "learning_rate": 1e-3, "batch_size": 5},
        space={"threshold": (0.02, 0.04, 0.08)},
        own_tables={},
    ),
)
