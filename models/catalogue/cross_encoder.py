"""A cross-encoder, in the place of the BERT-base that Cosinet's paper quotes: options and entries."""

from dataclasses import dataclass
from typing import Any, Literal

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import ModelOptions


@dataclass(frozen=True, kw_only=True)
class CrossEncoder(ModelOptions):
    """A BERT that reads question and answer together."""

    most_pieces: int = 128
    """Most word pieces of a pair, [CLS] and both [SEP] included; of a longer one the longer text loses its
    end."""
    dropout: float = 0.1
    """Share of the numbers inside of the encoder, and of the pair's state, that training drops."""
    pooling: Literal["cls", "mean"] = "cls"
    """What is scored: the state of [CLS], as in BERT's paper, or the mean of the states of all pieces, with
    which MiniLM was trained."""


# As BERT is fine-tuned; the rate rises over a tenth of the steps and then falls.
_TRAINING: dict[str, Any] = {
    "epochs": 2,
    "optimizer": "adamw",
    "weight_decay": 0.01,
    "clip_norm": 1.0,
}
_COMMON: dict[str, Any] = {
    "paper": "cosinet",
    "printed": False,
    "network": "cross_encoder.cross_encoder",
    "options": CrossEncoder,
    "reads": "pieces",
    # The encoder's tokenizer makes the pieces, and all of them have vectors.
    "hidden": ("identity_dimensions", "unknown_scale", "lowercase", "mask_numbers"),
    "space": {
        "pooling": ("cls", "mean"),
        "learning_rate": (2e-5, 5e-5, 1e-4, 2e-4),
        "epochs": (2, 3, 4),
        "batch_size": (16, 32),
    },
}

ENTRIES = (
    Entry(
        name="cross-encoder",
        title="Cross-encoder",
        fixed={"objective": "pointwise"},
        method="answerable_pointwise",
        # Of 5e-5, 1e-4 and 2e-4 that with the lowest loss on WikiQA's dev after 68 steps.
        training={**_TRAINING, "learning_rate": 1e-4, "batch_size": 32},
        **_COMMON,
    ),
    Entry(
        name="cross-encoder-list",
        title="Cross-encoder list",
        fixed={"objective": "listwise"},
        method="listwise",
        training={**_TRAINING, "learning_rate": 5e-5, "batch_size": 4},  # about as many pairs
        **{**_COMMON, "space": {**_COMMON["space"], "batch_size": (2, 4)}},
    ),
)
