"""CTRN, QRNN, the LSTM and the overlap features alone (Tay, Tuan and Hui, AAAI 2018): options and entries."""

from dataclasses import dataclass
from typing import Any, Literal

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import MlpOptions, WordMlpOptions


@dataclass(frozen=True, kw_only=True)
class OverlapFeatures(MlpOptions):
    """An MLP over the word-overlap features alone; 1 to 3 layers in the paper."""


@dataclass(frozen=True, kw_only=True)
class _Recurrent(WordMlpOptions):
    filters: int = 128
    """d, the filters of each convolution (the size of the LSTM's state)."""
    projection: int | None = None
    """m, the size to which word vectors are projected; None leaves them as they are."""


@dataclass(frozen=True, kw_only=True)
class LSTM(_Recurrent):
    """The LSTM baseline."""

    def arguments(self) -> dict[str, Any]:
        arguments = super().arguments()
        return arguments | {"units": arguments.pop("filters")}


@dataclass(frozen=True, kw_only=True)
class _Convolution(_Recurrent):
    kernel_size: int = 2
    """k, the words in the window of the convolutions."""


@dataclass(frozen=True, kw_only=True)
class QRNN(_Convolution):
    """QRNN: CTRN without crossing."""

    pooling: Literal["f", "fo", "ifo"] = "fo"
    """The gates: forget and output in the paper, forget alone, or input, forget and output."""


@dataclass(frozen=True, kw_only=True)
class CTRN(_Convolution):
    """CTRN."""

    alignment: Literal["index", "scaled"] = "index"
    """Whose gates CTRN lends: the partner's at the same step, or at the step t* of the paper."""


_COMMON: dict[str, Any] = {
    "paper": "ctrn",
    "takes_features": True,
    "method": "pointwise",
    # The paper's grid (1 to 3 hidden layers, d from 128) as far as it fits two cores.
    "space": {
        "filters": (128, 256),
        "hidden": ((64,), (128,), (128, 128)),
        "kernel_size": (1, 2, 3),
    },
}

ENTRIES = (
    Entry(
        name="ctrn",
        title="CTRN",
        network="ctrn.ctrn",
        options=CTRN,
        reason="gates",
        own_tables={},
        **_COMMON,
    ),
    Entry(name="qrnn", title="QRNN", network="ctrn.qrnn", options=QRNN, reason="gates", **_COMMON),
    Entry(name="lstm", title="LSTM", network="ctrn.lstm", options=LSTM, **_COMMON),
    Entry(
        name="features",
        title="Overlap features alone",
        network="ctrn.features_alone",
        options=OverlapFeatures,
        hidden=("overlap_features",),
        reads="features",
        **_COMMON,
    ),
)
