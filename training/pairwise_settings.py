"""The options of pairwise training."""

from dataclasses import dataclass
from typing import Literal

from data_prep.errors import UserError
from training.fit_settings import FitSettings
from training.option_ranges import check_range

Eq9 = Literal["points", "parameters", "released_code", "none"]
"""The readings of HyperQA's Eq. 9, see `training.riemannian`."""


@dataclass(frozen=True, kw_only=True)
class PairwiseSettings(FitSettings):
    """The options of pairwise hinge training, for any ranker; where there is a choice of numbers the defaults
    are those that served HyperQA best on dev.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> PairwiseSettings(learning_rate=0.05).optimizer
        'adagrad'
    """

    batch_size: int = 32
    """Questions in a batch, each with all its answers of the epoch."""
    optimizer: str = "adagrad"
    """Name of a Keras optimizer."""
    learning_rate: float = 0.05
    """Learning rate of the optimizer."""
    margin: float = 0.25
    """Margin of the hinge loss (Eq. 7)."""
    eq9: Eq9 = "none"
    """Reading of HyperQA's Eq. 9, the conversion of gradients to the ball; none leaves them as they are."""
    sampling: Literal["random", "hard", "mix"] = "random"
    """Which own wrong answers to take: random, the hardest for the model, or half of each."""
    own_negatives: int | None = None
    """How many of a question's own wrong answers to take per epoch; None takes all."""
    foreign_negatives: int = 8
    """How many answers of other questions to add per question and epoch."""
    reduction: Literal["sum", "mean", "question_mean"] = "sum"
    """How pairs make a batch's loss: their sum (Eq. 7), their mean, or the sum of the questions' means."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        super().__post_init__()
        for name in ("foreign_negatives", "own_negatives"):
            check_range(self, name, at_least=0)
        check_range(self, "batch_size", at_least=1)
        check_range(self, "margin", above=0)
        if self.sampling != "random" and self.own_negatives is None:
            raise UserError(
                f"sampling={self.sampling} chooses among a question's own wrong answers: say how many with "
                "own_negatives (it is None, which takes them all)."
            )
        if self.own_negatives == 0 and self.foreign_negatives == 0:
            raise UserError("own_negatives and foreign_negatives must not both be 0. Received: 0 and 0")
