"""AP-CNN, QA-CNN, AP-BiLSTM and QA-BiLSTM (dos Santos et al. 2016): options and entries."""

from dataclasses import dataclass
from typing import Any

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import WordOptions


@dataclass(frozen=True, kw_only=True)
class _Network(WordOptions):
    filters: int = 141
    """c, the size of each direction of the BiLSTM, or the filters of the convolution."""
    train_word_vectors: bool = False
    """Train the word vectors, too; the paper does not say whether it does."""


@dataclass(frozen=True, kw_only=True)
class QABiLSTM(_Network):
    """The maximum over the steps of a BiLSTM."""

    def arguments(self) -> dict[str, Any]:
        arguments = super().arguments()
        return arguments | {"units": arguments.pop("filters")}


@dataclass(frozen=True, kw_only=True)
class APBiLSTM(QABiLSTM):
    """Attention to the other text over the steps of a BiLSTM."""


@dataclass(frozen=True, kw_only=True)
class QACNN(_Network):
    """The maximum over the words of a convolution."""

    filters: int = 4000
    """c, the filters of the convolution."""
    window: int = 2
    """k, the words in the window of the convolution."""


@dataclass(frozen=True, kw_only=True)
class APCNN(QACNN):
    """Attention to the other text over the words of a convolution."""

    filters: int = 400
    """c, the filters of the convolution."""
    window: int = 4
    """k, the words in the window of the convolution; on InsuranceQA 3."""


_COMMON: dict[str, Any] = {
    "paper": "attentive_pooling",
    "method": "hardest_negative",
    "scales_word_vectors": True,
    # Around the paper's values (Table 2).
    "space": {
        "learning_rate_decay": (True, False),
        "margin": (0.01, 0.05, 0.1, 0.2, 0.5),
        "sampled_negatives": (10, 50, 100),
    },
}

# Table 2 of the paper; the sizes are the defaults above.
ENTRIES = (
    Entry(
        name="ap-cnn",
        title="AP-CNN",
        network="attentive_pooling.ap_cnn",
        options=APCNN,
        reason="attention",
        training={"margin": 0.5},
        # Without shared negatives a short table takes many times as long.
        own_tables={"share_negatives": True},
        **_COMMON,
    ),
    Entry(
        name="qa-cnn",
        title="QA-CNN",
        network="attentive_pooling.qa_cnn",
        options=QACNN,
        encodes_apart=True,
        training={"margin": 0.009, "batch_size": 1, "learning_rate": 0.05, "learning_rate_decay": False},
        **_COMMON,
    ),
    Entry(
        name="ap-bilstm",
        title="AP-BiLSTM",
        network="attentive_pooling.ap_bilstm",
        options=APBiLSTM,
        reason="attention",
        training={"margin": 0.2},
        **_COMMON,
    ),
    Entry(
        name="qa-bilstm",
        title="QA-BiLSTM",
        network="attentive_pooling.qa_bilstm",
        options=QABiLSTM,
        encodes_apart=True,
        training={"margin": 0.1},
        **_COMMON,
    ),
)
