"""The options that every training has."""

from dataclasses import dataclass

from training.option_ranges import check_range


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What `training.fit` needs to know, whatever the loss.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> FitSettings(epochs=5).patience is None
        True
    """

    epochs: int = 25
    """Passes over the training data."""
    optimizer: str = "adam"
    """Name of a Keras optimizer."""
    learning_rate: float = 1e-3
    """Learning rate of the optimizer."""
    l2: float = 0.0
    """Weight of the squares of all weights but biases."""
    clip_norm: float | None = None
    """Largest norm of the whole gradient; None for no limit."""
    clip_value: float | None = None
    """Largest absolute value of an entry of the gradient; None for no limit."""
    patience: int | None = None
    """Stop after so many epochs without a better dev MAP; None trains all epochs."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for name in ("epochs", "l2"):
            check_range(self, name, at_least=0)
        check_range(self, "patience", at_least=1)
        for name in ("learning_rate", "clip_norm", "clip_value"):
            check_range(self, name, above=0)
