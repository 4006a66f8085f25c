"""Cosinet's experiments, whatever the data set: Cosinet and Compare-Aggregate, pointwise and list-wise."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from data_prep.errors import UserError
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    ExperimentResult,
    SeedRun,
    run_experiment,
    train_and_score,
)
from training.fit_settings import FitSettings
from training.listwise_settings import ListwiseSettings
from training.option_ranges import check_range
from training.pointwise_settings import PointwiseSettings

if TYPE_CHECKING:
    import keras

ENCODERS = {"cosinet": "Cosinet", "ca": "CA"}
ACROSS = {"none": "", "rnn": "RNN", "birnn": "BiRNN", "lstm": "LSTM", "bilstm": "BiLSTM"}

# The paper's highest learning rates; it does not name the sizes of the batches.
_LEARNING_RATES = {"pointwise": 2e-3, "listwise": 2e-4}
_BATCH_SIZES = {"pointwise": 64, "listwise": 16}

# Shuffles the candidates of data sets whose order is no fair signal; the same in every run.
_ORDER_SEED = 0


@dataclass(frozen=True, kw_only=True)
class CosinetConfig(FitSettings, ExperimentConfig):
    """The options of a Cosinet experiment.

    Raises:
        UserError: an option is out of range, or does not go with another.

    Example:
        >>> CosinetConfig(dataset="sample", objective="listwise", across="birnn").model
        'Cosinet list BiRNN'
    """

    sources: ClassVar[tuple[str, ...]] = (
        *ExperimentConfig.sources,
        "reproduce/cosinet_experiment.py",
        "models/compare_aggregate.py",
        "models/cosinet.py",
        "models/pair_ranking.py",
        "training/candidate_lists.py",
        "training/fit_listwise.py",
        "training/fit_pointwise.py",
        "training/list_scorer.py",
        "training/listwise_*.py",
        "training/pair_scorer.py",
        "training/pointwise_*.py",
        "training/slanted_triangular*.py",
        "layers/masked_*.py",
        "layers/pack_candidates.py",
        "layers/pair_shapes.py",
        "layers/pooled_convolution.py",
        "layers/soft_alignment.py",
        "layers/text_pair_layer.py",
        "layers/word_relatedness.py",
    )

    encoder: Literal["cosinet", "ca"] = "cosinet"
    """Cosinet, or Compare-Aggregate, with which the paper compares it."""
    objective: Literal["pointwise", "listwise"] = "pointwise"
    """Binary cross entropy of every answer, or the KL divergence over the answers of a question."""
    across: Annotated[
        Literal["none", "rnn", "birnn", "lstm", "bilstm"], tyro.conf.arg(aliases=("--global",))
    ] = "none"
    """With --objective listwise: the network over a question's candidates in the document's order."""
    epochs: int = 3
    """Passes over the training data."""
    learning_rate: float | None = None
    """Highest learning rate; unless given, the paper's: 2e-3 pointwise, 2e-4 list-wise."""
    cut_fraction: float = 0.1
    """Share of the steps in which the learning rate rises."""
    rate_ratio: float = 32.0
    """How many times the lowest learning rate the highest one is; 1 keeps it constant."""
    batch_size: int | None = None
    """Pairs (pointwise; 64 unless given) or questions (list-wise; 16 unless given) in a batch."""
    max_candidates: int | None = None
    """List-wise: train on so many candidates of a question at most; see ListwiseSettings. None for all."""
    answerable_only: bool = True
    """Train without the questions that have no correct answer, as the paper does. List-wise training always
    does."""
    filters: int = 300
    """Filters of each convolution."""
    width: int = 5
    """Words that Cosinet's convolutions see at once; CA's see 1 to 5."""
    dimension: int = 300
    """Size of CA's preprocessed words."""
    hidden: int | None = None
    """Size of the result of the network across candidates, both directions together; None for the size of a
    text vector, which fits the printed numbers of parameters."""
    activation: Literal["relu", "tanh", "sigmoid", "linear"] = "relu"
    """Activation of the convolutions, which the paper does not name."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops; the paper names no dropout."""
    dropout: float = 0.0
    """Share of the entries of pair vectors that training drops."""

    def __post_init__(self) -> None:
        """Fill in what depends on the objective, and refuse options out of range."""
        for name, defaults in (("learning_rate", _LEARNING_RATES), ("batch_size", _BATCH_SIZES)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, defaults[self.objective])
        FitSettings.__post_init__(self)
        ExperimentConfig.__post_init__(self)
        for name in ("batch_size", "filters", "width", "dimension", "hidden", "rate_ratio"):
            check_range(self, name, at_least=1)
        check_range(self, "max_candidates", at_least=2)
        for name in ("cut_fraction", "embedding_dropout", "dropout"):
            check_range(self, name, at_least=0, below=1)
        if self.objective == "pointwise" and self.across != "none":
            raise UserError(
                f"across={self.across} runs over the candidates of a question, which only a list-wise model "
                "sees: add --objective listwise."
            )
        if self.across.startswith("bi") and self.across_size % 2:
            raise UserError(
                f"across={self.across} shares its size by two directions: hidden must be even. "
                f"Received: {self.across_size}"
            )

    @property
    def across_size(self) -> int:
        """Size of the result of the network across candidates."""
        if self.hidden is not None:
            return self.hidden
        return self.filters if self.encoder == "cosinet" else 2 * self.filters

    @property
    def model(self) -> str:
        """The name of the paper's row."""
        listwise = "list" if self.objective == "listwise" else ""
        return " ".join(filter(None, (ENCODERS[self.encoder], listwise, ACROSS[self.across])))


def build_ranker(config: CosinetConfig, data: ExperimentData, seed: int) -> "keras.Model":
    """Build the configuration's model with initial weights and dropout of a seed.

    Args:
        config: the options.
        data: what `load_experiment_data` returned for them.
        seed: first weights and dropout follow from it.

    Returns:
        The model; it scores padded pairs, or padded lists of a question's candidates.
    """
    from models.compare_aggregate import compare_aggregate
    from models.cosinet import cosinet

    common = {
        "objective": config.objective,
        "across": config.across,
        "filters": config.filters,
        "hidden": config.across_size,
        "activation": config.activation,
        "embedding_dropout": config.embedding_dropout,
        "dropout": config.dropout,
        "seed": seed * 1000,
    }
    if config.encoder == "ca":
        return compare_aggregate(data.word_embedding, dimension=config.dimension, **common)
    return cosinet(data.word_embedding, width=config.width, **common)


def train_cosinet(
    config: CosinetConfig,
    data: ExperimentData,
    seed: int,
    folder: Path | None = None,
    key: str = "",
    *,
    splits: Sequence[str] | None = None,
) -> SeedRun:
    """Train one model with one seed, or go on with a training that was interrupted; see `train_and_score`.

    Where the order of the data's candidates is no fair signal, a list-wise model sees them shuffled.

    Args:
        config: the options.
        data: what `load_experiment_data` returned for them.
        seed: first weights, dropout and the order of the training data follow from it.
        folder: where the state is kept; None keeps none and prints nothing.
        key: names the configuration.
        splits: the names of the splits to score; None for all but the training split.

    Returns:
        The trained model, its learning curves and best epoch, and the scores of the splits' rows.

    Raises:
        UserError: see `train_and_score`.
    """
    from training.fit_listwise import fit_listwise
    from training.fit_pointwise import fit_pointwise
    from training.list_scorer import ListScorer
    from training.pair_scorer import PairScorer
    from training.slanted_triangular_rate import SlantedTriangularRate

    if config.objective == "listwise":
        order_seed = None if data.dataset.description.order_is_signal else _ORDER_SEED
        settings = _settings(config, ListwiseSettings)
        objective, scorer = (partial(each, order_seed=order_seed) for each in (fit_listwise, ListScorer))
    else:
        settings, objective, scorer = _settings(config, PointwiseSettings), fit_pointwise, PairScorer

    def fit(ranker, train, dev, config, *arguments, **options):
        if config.answerable_only:
            train = train.keep_questions(train.counts_under("answerable"))
        return objective(ranker, train, dev, settings, *arguments, **options)

    rate = SlantedTriangularRate(
        config.learning_rate, cut_fraction=config.cut_fraction, ratio=config.rate_ratio
    )
    return train_and_score(
        config,
        data,
        seed,
        folder,
        key,
        splits=splits,
        label=config.model,
        build_ranker=build_ranker,
        fit=fit,
        scorer=scorer,
        callbacks=[rate],
    )


def _settings(config: CosinetConfig, kind: type[FitSettings]) -> FitSettings:
    """Give the configuration's options as an objective's settings."""
    return kind(**{field.name: getattr(config, field.name) for field in fields(kind)})


def run_cosinet(config: CosinetConfig) -> ExperimentResult:
    """Run the experiment that a script's configuration describes.

    Args:
        config: the options.

    Returns:
        Data, scores, curves and records; see `run_experiment`.

    Raises:
        UserError: see `run_experiment`.
    """
    return run_experiment(config, paper="cosinet", model=config.model, train_seed=train_cosinet)
