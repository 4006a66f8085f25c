"""The options of training against the hardest of sampled wrong answers."""

from dataclasses import dataclass
from typing import Literal

from data_prep.errors import UserError
from training.fit_settings import FitSettings
from training.option_ranges import check_range


@dataclass(frozen=True, kw_only=True)
class HardestNegativeSettings(FitSettings):
    """The options of hinge training against the hardest of sampled negatives; the defaults are AP-CNN's.

    Raises:
        UserError: an option is out of range, or two of them exclude each other.

    Example:
        >>> HardestNegativeSettings(optimizer="adam", learning_rate=1e-3, learning_rate_decay=False).margin
        0.5
    """

    batch_size: int = 20
    """Pairs of a question and a correct answer in a batch."""
    optimizer: str = "sgd"
    """Name of a Keras optimizer."""
    learning_rate: float = 1.1
    """Learning rate of the optimizer, in the first epoch."""
    learning_rate_decay: bool = True
    """Divide the learning rate by t in epoch t = 1, 2, ..."""
    margin: float = 0.5
    """Margin of the hinge loss (Eq. 12)."""
    sampled_negatives: int = 50
    """How many wrong answers to draw per pair; the one that scores highest is trained on."""
    negatives_from: Literal["answers", "own"] = "answers"
    """Draw them from all training answers, as the paper does, or from the question's own pool."""
    share_negatives: bool = False
    """Draw the wrong answers once per batch, for all its pairs together; the paper draws them for each."""
    reduction: Literal["mean", "sum"] = "mean"
    """How the pairs make a batch's loss: their mean or their sum."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        super().__post_init__()
        for name in ("batch_size", "sampled_negatives"):
            check_range(self, name, at_least=1)
        check_range(self, "margin", above=0)
        if self.share_negatives and self.negatives_from == "own":
            raise UserError(
                "share_negatives draws wrong answers for a whole batch, and negatives_from=own keeps to each "
                "question's own: choose one of them."
            )
