"""BLSTM (Wang and Nyberg, ACL 2015): options and entry."""

from dataclasses import dataclass

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordMlpOptions


@dataclass(frozen=True, kw_only=True)
class BLSTM(WordMlpOptions):
    """BLSTM."""

    units: int = 64
    """Size of a state of each direction."""
    layers: int = 3
    """How many bidirectional LSTMs lie one upon another."""
    hidden: tuple[int, ...] = ()
    """Sizes of the layers of the MLP."""


ENTRIES = (
    Entry(
        name="blstm",
        title="BLSTM + BM25",
        paper="field",
        network="blstm.blstm",
        options=BLSTM,
        takes_features=True,
        method="pointwise",
        space={"units": (32, 64, 128), "layers": (1, 2, 3)},
        own_tables={},
    ),
)
