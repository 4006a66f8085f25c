"""Cosinet and Compare-Aggregate (Bonadiman and Moschitti, COLING 2020): options and entries."""

from dataclasses import dataclass
from typing import Any, Literal

from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import ModelOptions


@dataclass(frozen=True, kw_only=True)
class _Network(ModelOptions):
    filters: int = 300
    """Filters of each convolution."""
    activation: Literal["relu", "tanh", "sigmoid", "linear"] = "relu"
    """Activation of the convolutions, which the paper does not name."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops; the paper names no dropout."""
    dropout: float = 0.0
    """Share of the entries of pair vectors that training drops."""


@dataclass(frozen=True, kw_only=True)
class Cosinet(_Network):
    """Cosinet."""

    width: int = 5
    """Words that the convolutions see at once."""
    unit_words: bool = True
    """Divide each word's vector by its length; the paper's (Numberbatch) have length 1."""


@dataclass(frozen=True, kw_only=True)
class CompareAggregate(_Network):
    """Compare-Aggregate."""

    dimension: int = 300
    """Size of the preprocessed words."""


@dataclass(frozen=True, kw_only=True)
class _Across:
    hidden: int | None = None
    """Size of the result of the network across candidates, both directions together; None for the size of a
    text vector, which fits the printed numbers of parameters."""


@dataclass(frozen=True, kw_only=True)
class CosinetAcross(_Across, Cosinet):
    """Cosinet with a network over a question's candidates in the document's order."""


@dataclass(frozen=True, kw_only=True)
class CompareAggregateAcross(_Across, CompareAggregate):
    """Compare-Aggregate with a network over a question's candidates in the document's order."""


ACROSS = {"rnn": "RNN", "birnn": "BiRNN", "lstm": "LSTM", "bilstm": "BiLSTM"}
"""The networks over the candidates of a list, and their names in print."""

# The paper has 3 epochs.
_SPACE = {
    "epochs": (3, 5),
    "activation": ("relu", "tanh"),
    "unit_words": (True, False),
}


def _entries(prefix: str, title: str, alone: type, across: type, **common: Any) -> list[Entry]:
    """State a network's pointwise form, its list-wise form, and those with a network over the list."""
    common |= {"paper": "cosinet", "space": _SPACE}
    pointwise = Entry(
        name=prefix,
        title=title,
        options=alone,
        fixed={"objective": "pointwise"},
        method="answerable_pointwise",
        own_tables={"learning_rate": 6e-3} if prefix == "cosinet" else None,
        **common,
    )
    listwise = Entry(
        name=f"{prefix}-list",
        title=f"{title} list",
        options=alone,
        fixed={"objective": "listwise"},
        method="listwise",
        **common,
    )
    entries = [pointwise, listwise]
    for network, printed in ACROSS.items():
        name = f"{prefix}-list-{network}"
        entry = Entry(
            name=name,
            title=f"{title} list {printed}",
            options=across,
            fixed={"objective": "listwise", "across": network},
            method="listwise",
            own_tables=_CHOSEN if name == "ca-list-birnn" else None,
            **common,
        )
        entries.append(entry)
    return entries


# What the search at equal budgets chose on WikiQA's dev.
_CHOSEN = {
    "activation": "tanh",
    "dropout": 0.1,
    "epochs": 5,
    "learning_rate": 8e-4,
    "l2": 1e-6,
    "batch_size": 4,
}

ENTRIES = (
    *_entries("cosinet", "Cosinet", Cosinet, CosinetAcross, network="cosinet.cosinet", reason="relatedness"),
    *_entries(
        "ca", "CA", CompareAggregate, CompareAggregateAcross, network="compare_aggregate.compare_aggregate"
    ),
)
