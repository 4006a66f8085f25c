"""The CNNs of Severyn and Moschitti (2015), Yang et al. (2015) and CTRN's tables: options and entries."""

from dataclasses import dataclass
from typing import Any

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordMlpOptions, WordOptions


@dataclass(frozen=True, kw_only=True)
class SeverynMoschitti(WordMlpOptions):
    """The CNN of Severyn and Moschitti."""

    filters: int = 100
    """Feature maps of each convolution."""
    hidden: tuple[int, ...] = (205,)
    """Sizes of the layers of the MLP."""


@dataclass(frozen=True, kw_only=True)
class CNNCnt(WordOptions):
    """CNN + Cnt."""

    filters: int = 100
    """Size of a text's vector."""
    dropout: float = 0.0
    """Share of the entries of the texts' vectors that training drops."""


@dataclass(frozen=True, kw_only=True)
class CNN(WordMlpOptions):
    """The plain CNN of CTRN's and HyperQA's tables."""

    filters: int = 128
    """Feature maps of the convolution."""
    window: int = 3
    """Words in the window of the convolution."""


_COMMON: dict[str, Any] = {
    "paper": "field",
    "takes_features": True,
    "method": "pointwise",
    "space": {"filters": (50, 100, 200)},
    "own_tables": {},
}

ENTRIES = (
    Entry(
        name="severyn-moschitti",
        title="CNN (Severyn & Moschitti)",
        network="overlap_cnn.severyn_moschitti",
        options=SeverynMoschitti,
        training={"batch_size": 50, "l2": 1e-5},
        **_COMMON,
    ),
    Entry(name="cnn", title="CNN", network="overlap_cnn.cnn", options=CNN, **_COMMON),
    Entry(name="cnn-cnt", title="CNN + Cnt", network="overlap_cnn.cnn_cnt", options=CNNCnt, **_COMMON),
)
