"""The options of the methods of training, without TensorFlow, so that command lines read them quickly."""

from dataclasses import dataclass
from typing import Literal

from answer_ranking.base.errors import UserError
from answer_ranking.base.ranges import check_choice, check_range

Eq9 = Literal["points", "parameters", "released_code", "none"]
"""The readings of HyperQA's Eq. 9, see `layers.riemannian_gradient`."""
NegativesFrom = Literal["answers", "own"]
NegativesBy = Literal["random", "max", "mix"]
Reduction = Literal["mean", "sum"]
# Table 2 of the Attentive Pooling paper; QA-CNN has the second one.
_RATES_OF_SGD = (1.1, 0.05)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The options that every method of training has.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> FitOptions(epochs=5).patience is None
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
    weight_decay: float | None = None
    """Share of all weights but biases that each step takes off, times the learning rate (AdamW); None leaves
    the optimizer's own."""
    clip_norm: float | None = None
    """Largest norm of the whole gradient; None for no limit."""
    patience: int | None = None
    """Stop after so many epochs without a better dev MAP; None trains all epochs."""

    def __post_init__(self) -> None:
        check_range(self, "epochs", "l2", "weight_decay", at_least=0)
        check_range(self, "patience", at_least=1)
        check_range(self, "learning_rate", "clip_norm", above=0)


@dataclass(frozen=True, kw_only=True)
class PairwiseOptions(FitOptions):
    """The options of `Pairwise`. The default numbers are those with which HyperQA was best on dev.

    `eq9` is "none" by default, so that other models are trained by plain gradients; HyperQA's experiments and
    presets have "parameters".

    Raises:
        UserError: an option is out of range.

    Example:
        >>> PairwiseOptions(learning_rate=0.1).optimizer
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
    own_negatives: int | None = None
    """How many of a question's own wrong answers to take per epoch; None takes all."""
    own_negatives_by: NegativesBy = "random"
    """Which of its own: random, max (those that the model scores highest), or mix (half and half)."""
    foreign_negatives: int = 8
    """How many answers of other questions to add per question and epoch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "foreign_negatives", "own_negatives", at_least=0)
        check_range(self, "batch_size", at_least=1)
        check_range(self, "margin", above=0)
        check_choice(self, "eq9", Eq9)
        check_choice(self, "own_negatives_by", NegativesBy)
        if self.own_negatives == 0 and self.foreign_negatives == 0:
            raise UserError("own_negatives and foreign_negatives must not both be 0. Received: 0 and 0")


@dataclass(frozen=True, kw_only=True)
class PairwiseTogetherOptions(FitOptions):
    """The options of `PairwiseTogether`.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> PairwiseTogetherOptions(negatives_by="mix").margin
        1.0
    """

    batch_size: int = 16
    """Correct answers in a batch, each with its wrong ones."""
    margin: float = 1.0
    """Margin of the hinge loss."""
    negatives: int = 8
    """How many of its question's wrong answers to set against each correct one per epoch, at most."""
    negatives_by: NegativesBy = "random"
    """Which ones: random, max (those that the model scores highest), or mix (half and half)."""
    patience: int | None = 5
    """Stop after so many epochs without a better dev MAP; None trains all epochs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "batch_size", "negatives", at_least=1)
        check_range(self, "margin", above=0)
        check_choice(self, "negatives_by", NegativesBy)


@dataclass(frozen=True, kw_only=True)
class PointwiseOptions(FitOptions):
    """The options of `Pointwise`; the defaults are CTRN's.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> PointwiseOptions(epochs=5).l2
        4e-06
    """

    batch_size: int = 64
    """Question-answer pairs in a batch."""
    l2: float = 4e-6
    """Weight of the squares of all weights but biases."""
    patience: int | None = 5
    """Stop after so many epochs without a better dev MAP; None trains all epochs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "batch_size", at_least=1)


@dataclass(frozen=True, kw_only=True)
class AnswerablePointwiseOptions(PointwiseOptions):
    """The options of `AnswerablePointwise`; the defaults are Cosinet's, but for the batch size.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> AnswerablePointwiseOptions().epochs
        3
    """

    epochs: int = 3
    """Passes over the training data."""
    learning_rate: float = 2e-3
    """Highest learning rate."""
    l2: float = 0.0
    """Weight of the squares of all weights but biases."""
    patience: int | None = None
    """Stop after so many epochs without a better dev MAP; None trains all epochs."""
    answerable_only: bool = True
    """Train without the questions that have no correct answer, as the paper does."""


@dataclass(frozen=True, kw_only=True)
class ListwiseOptions(FitOptions):
    """The options of `Listwise`; the defaults are Cosinet's, but for the batch size, which its paper omits.

    Raises:
        UserError: an option is out of range.

    Example:
        >>> ListwiseOptions(batch_size=8).learning_rate
        0.0002
    """

    epochs: int = 3
    """Passes over the training data."""
    learning_rate: float = 2e-4
    """Highest learning rate."""
    batch_size: int = 16
    """Questions in a batch."""
    max_candidates: int | None = None
    """Train on so many candidates of a question at most: its first correct ones, and as many of its first
    wrong ones as there is room for; None for all. Scoring takes all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "batch_size", at_least=1)
        check_range(self, "max_candidates", at_least=2)


@dataclass(frozen=True, kw_only=True)
class HardestNegativeOptions(FitOptions):
    """The options of `HardestNegative`; the defaults are AP-CNN's.

    Raises:
        UserError: an option is out of range, or two of them exclude each other.

    Example:
        >>> HardestNegativeOptions(optimizer="adam", learning_rate=1e-3, learning_rate_decay=False).margin
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
    negatives_from: NegativesFrom = "answers"
    """Draw them from all training answers, as the paper does, or from the question's own pool."""
    share_negatives: bool = False
    """Draw the wrong answers once per batch, for all its pairs together; the paper draws them for each."""
    reduction: Reduction = "mean"
    """How the pairs make a batch's loss: their mean or their sum."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "batch_size", "sampled_negatives", at_least=1)
        check_range(self, "margin", above=0)
        check_choice(self, "negatives_from", NegativesFrom)
        check_choice(self, "reduction", Reduction)
        if self.optimizer.lower() != "sgd" and self.learning_rate in _RATES_OF_SGD:
            raise UserError(
                f"the paper's learning rate, {self.learning_rate:g}, is for SGD. With --optimizer "
                f"{self.optimizer} give --learning-rate as well, such as 0.001, and "
                "--no-learning-rate-decay to keep it constant."
            )
        if self.share_negatives and self.negatives_from == "own":
            raise UserError(
                "share_negatives draws wrong answers for a whole batch, and negatives_from=own keeps to each "
                "question's own: choose one of them."
            )
