"""CTRN, QRNN, the LSTM and the overlap features alone (Tay, Tuan and Hui, AAAI 2018): options and entries."""

from dataclasses import dataclass
from typing import Any, Literal

from answer_ranking.base.errors import UserError
from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import ModelOptions


@dataclass(frozen=True, kw_only=True)
class OverlapFeatures(ModelOptions):
    """An MLP over the word-overlap features alone."""

    hidden: tuple[int, ...] = (128,)
    """Sizes of the layers of the MLP; 1 to 3 layers in the paper."""
    dropout: float = 0.5
    """Share of the entries of text vectors and hidden layers that training drops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.hidden, default=1) < 1:
            raise UserError(f"hidden sizes must be at least 1. Received: {self.hidden}")


@dataclass(frozen=True, kw_only=True)
class _Recurrent(OverlapFeatures):
    filters: int = 128
    """d, the filters of each convolution (the size of the LSTM's state)."""
    projection: int | None = None
    """m, the size to which word vectors are projected; None leaves them as they are."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""


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
        network="ctrn",
        options=CTRN,
        reason="gates",
        own_tables={},
        **_COMMON,
    ),
    Entry(name="qrnn", title="QRNN", network="qrnn", options=QRNN, reason="gates", **_COMMON),
    Entry(name="lstm", title="LSTM", network="lstm", options=LSTM, **_COMMON),
    Entry(
        name="features",
        title="Overlap features alone",
        network="features_alone",
        options=OverlapFeatures,
        hidden=("overlap_features",),
        reads_words=False,
        **_COMMON,
    ),
)
