"""What the options of all models have in common."""

from dataclasses import dataclass
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.ranges import check_range


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Base of the options of a model: dropouts and thresholds below 1, norms at most 1, sizes from 1."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.endswith(("dropout", "threshold")):
                check_range(self, name, at_least=0, below=1)
            elif name == "max_norm":
                check_range(self, name, above=0, at_most=1)
            elif type(value) is int:
                check_range(self, name, at_least=1)

    def arguments(self) -> dict[str, Any]:
        """Give the options as arguments of the network's function."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class MlpOptions(ModelOptions):
    """Options of a model that ends in an MLP."""

    hidden: tuple[int, ...] = (128,)
    """Sizes of the layers of the MLP."""
    dropout: float = 0.5
    """Share of the entries of text vectors and hidden layers that training drops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.hidden, default=1) < 1:
            raise UserError(f"hidden sizes must be at least 1. Received: {self.hidden}")


@dataclass(frozen=True, kw_only=True)
class WordOptions(ModelOptions):
    """Options of a model that reads word vectors."""

    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""


@dataclass(frozen=True, kw_only=True)
class WordMlpOptions(WordOptions, MlpOptions):
    """Options of a model that reads word vectors and ends in an MLP."""
