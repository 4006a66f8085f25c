"""The options of list-wise training."""

from dataclasses import dataclass

from training.fit_settings import FitSettings
from training.option_ranges import check_range


@dataclass(frozen=True, kw_only=True)
class ListwiseSettings(FitSettings):
    """The options of list-wise training; the defaults are Cosinet's, but for the size of a batch, which the
    paper does not name.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> ListwiseSettings(batch_size=8).learning_rate
        0.0002
    """

    epochs: int = 3
    """Passes over the training data."""
    learning_rate: float = 2e-4
    """Learning rate of the optimizer."""
    batch_size: int = 16
    """Questions in a batch."""
    max_candidates: int | None = None
    """Train on so many candidates of a question at most: its first correct ones, and as many of its first
    wrong ones as there is room for; None for all. Scoring takes all."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        super().__post_init__()
        check_range(self, "batch_size", at_least=1)
        check_range(self, "max_candidates", at_least=2)
