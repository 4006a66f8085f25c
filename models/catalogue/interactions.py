"""MV-LSTM (Wan et al. 2016), QA-LSTM/CNN (Tan et al. 2016) and AI-CNN (Zhang et al. 2017)."""

from dataclasses import dataclass

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordMlpOptions, WordOptions


@dataclass(frozen=True, kw_only=True)
class MVLSTM(WordMlpOptions):
    """MV-LSTM."""

    units: int = 50
    """d, the size of a direction's state."""
    slices: int = 4
    """c, the slices of the tensor."""
    largest: int = 10
    """k, how many matches of a slice are kept."""
    hidden: tuple[int, ...] = (64,)
    """Sizes of the layers of the MLP."""


@dataclass(frozen=True, kw_only=True)
class QALSTMCNN(WordOptions):
    """QA-LSTM/CNN."""

    filters: int = 400
    """c, the feature maps of the convolution."""
    units: int = 141
    """d, the size of a direction's state."""


@dataclass(frozen=True, kw_only=True)
class AICNN(WordMlpOptions):
    """AI-CNN."""

    filters: int = 100
    """f, the size of a segment and of an interaction."""
    hidden: tuple[int, ...] = (64,)
    """Sizes of the layers of the MLP."""


ENTRIES = (
    Entry(
        name="mv-lstm",
        title="MV-LSTM",
        paper="field",
        network="mv_lstm.mv_lstm",
        options=MVLSTM,
        method="pairwise_together",
        space={"units": (50, 100), "slices": (1, 4), "negatives": (1, 4, 8)},
        own_tables={},
    ),
    Entry(
        name="qa-lstm-cnn",
        title="QA-LSTM / CNN",
        paper="field",
        network="qa_lstm_cnn.qa_lstm_cnn",
        options=QALSTMCNN,
        encodes_apart=True,
        method="hardest_negative",
        training={"margin": 0.2, "patience": 5, "share_negatives": True},
        space={"filters": (200, 400), "margin": (0.05, 0.1, 0.2, 0.5)},
        own_tables={},
    ),
    Entry(
        name="ai-cnn",
        title="AI-CNN",
        paper="field",
        network="ai_cnn.ai_cnn",
        options=AICNN,
        method="pointwise",
        space={"filters": (50, 100, 200)},
        own_tables={},
    ),
)
