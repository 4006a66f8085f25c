"""HD-LSTM and NTN-LSTM (Tay et al. 2017), and CNTN (Qiu and Huang 2015): options and entries."""

from dataclasses import dataclass
from typing import Any

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordMlpOptions, WordOptions


@dataclass(frozen=True, kw_only=True)
class HDLSTM(WordMlpOptions):
    """HD-LSTM."""

    units: int = 128
    """d, the size of each LSTM's state."""
    hidden: tuple[int, ...] = (64,)
    """Sizes of the hidden layers."""


@dataclass(frozen=True, kw_only=True)
class NTNLSTM(HDLSTM):
    """NTN-LSTM: the same with a neural tensor."""

    slices: int = 5
    """r, the slices of the tensor."""


@dataclass(frozen=True, kw_only=True)
class CNTN(WordOptions):
    """CNTN: a neural tensor over convolutions."""

    filters: int = 64
    """Feature maps of the convolution."""
    largest: int = 4
    """k, how many values of a feature map are kept."""
    slices: int = 5
    """r, the slices of the tensor."""
    dropout: float = 0.5
    """Share of the entries of the texts' vectors that training drops."""


_LSTM: dict[str, Any] = {
    "paper": "field",
    "takes_features": True,
    "method": "pointwise",
    "space": {"units": (64, 128, 256), "hidden": ((32,), (64,), (128,))},
    "own_tables": {},
}

ENTRIES = (
    Entry(name="hd-lstm", title="HD-LSTM", network="dual_lstm.hd_lstm", options=HDLSTM, **_LSTM),
    Entry(name="ntn-lstm", title="NTN-LSTM", network="dual_lstm.ntn_lstm", options=NTNLSTM, **_LSTM),
    Entry(
        name="cntn",
        title="CNTN",
        paper="field",
        network="dual_lstm.cntn",
        options=CNTN,
        takes_features=True,
        method="pairwise_together",
        space={"filters": (32, 64, 128), "slices": (2, 5)},
        own_tables={},
    ),
)
