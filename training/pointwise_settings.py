"""The options of pointwise training."""

from dataclasses import dataclass

from training.fit_settings import FitSettings
from training.option_ranges import check_range


@dataclass(frozen=True, kw_only=True)
class PointwiseSettings(FitSettings):
    """The options of pointwise training; the defaults are CTRN's.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> PointwiseSettings(epochs=5).l2
        4e-06
    """

    batch_size: int = 64
    """Question-answer pairs in a batch."""
    l2: float = 4e-6
    """Weight of the squares of all weights but biases."""
    patience: int | None = 5
    """Stop after so many epochs without a better dev MAP; None trains all epochs."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        super().__post_init__()
        check_range(self, "batch_size", at_least=1)
