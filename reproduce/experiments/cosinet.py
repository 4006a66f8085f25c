"""Cosinet's experiments: the options of Cosinet and Compare-Aggregate, and the recipe."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from answer_ranking.base.errors import UserError
from answer_ranking.engine import Seed, TrainingData
from answer_ranking.reproduce.experiments.options import DataOptions, Experiment, ModelOptions
from answer_ranking.reproduce.experiments.run import Run, load_data
from answer_ranking.training.options import FitOptions, ListwiseOptions, PointwiseOptions

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult

ACROSS = {"rnn": "RNN", "birnn": "BiRNN", "lstm": "LSTM", "bilstm": "BiLSTM"}


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


@dataclass(frozen=True, kw_only=True)
class _Training(FitOptions):
    epochs: int = 3
    """Passes over the training data."""
    l2: float = 0.0
    """Weight of the squares of all weights but biases."""
    patience: int | None = None
    """Stop after so many epochs without a better dev MAP; None trains all epochs."""


@dataclass(frozen=True, kw_only=True)
class CosinetPointwise(_Training, PointwiseOptions):
    """Pointwise training."""

    learning_rate: float = 2e-3
    """Highest learning rate."""
    answerable_only: bool = True
    """Train without the questions that have no correct answer, as the paper does."""


@dataclass(frozen=True, kw_only=True)
class CosinetListwise(_Training, ListwiseOptions):
    """List-wise training."""

    learning_rate: float = 2e-4
    """Highest learning rate."""


ENCODERS = {
    "cosinet": ("Cosinet", Cosinet, CosinetAcross),
    "ca": ("CA", CompareAggregate, CompareAggregateAcross),
}
NAMES = [
    f"{encoder}{way}" for encoder in ENCODERS for way in ("", "-list", *(f"-list-{each}" for each in ACROSS))
]


def cosinet(name: str, data: DataOptions, **options: Any) -> Experiment:
    """State an experiment with a model of `NAMES`; `options` are those of the model and the training."""
    encoder, *listwise = name.split("-")
    title, alone, across = ENCODERS[encoder]
    model = across if len(listwise) == 2 else alone
    title = " ".join([title, *(ACROSS.get(word, word) for word in listwise)])
    training = CosinetListwise if listwise else CosinetPointwise
    return Experiment.of(name, title, data, model, training, **options)


# What studies/fair.py draws beside the options that all models share; the paper has 3 epochs.
SPACE = {
    "epochs": (3, 5),
    "activation": ("relu", "tanh"),
    "unit_words": (True, False),
}


def load(experiment: Experiment) -> TrainingData:
    """Load the data."""
    return load_data(experiment.data)


def build(name: str, options: _Network, data: TrainingData, seed: int) -> "keras.Model":
    """Build the model of a name; its first weights and dropout follow from the seed."""
    from answer_ranking import models

    _, *listwise = name.split("-")
    across = listwise[1] if len(listwise) == 2 else "none"
    if across.startswith("bi") and (options.hidden or options.filters) % 2:
        raise UserError(f"--hidden, or else --filters, must be even: {across} has two directions.")
    builder = models.compare_aggregate if isinstance(options, CompareAggregate) else models.cosinet
    objective = "listwise" if listwise else "pointwise"
    return builder(data.word_embedding, objective=objective, across=across, seed=seed * 1000, **vars(options))


def train(experiment: Experiment, data: TrainingData, seed: Seed) -> "tuple[keras.Model, FitResult]":
    """Train one seed, or go on with it; the model has the weights of the epoch that is best on dev."""
    import keras

    from answer_ranking.training import SlantedTriangularRate
    from answer_ranking.training.listwise import Listwise
    from answer_ranking.training.pointwise import Pointwise

    keras.utils.set_random_seed(seed.number)
    options, split = experiment.training, data.train
    model = build(experiment.name, experiment.model, data, seed.number)
    if isinstance(options, CosinetListwise):
        way = Listwise(split, options, seed=seed.number, order_seed=data.order_seed)
    else:
        if options.answerable_only:
            split = split.keep_questions(split.counts_under("answerable"))
        way = Pointwise(split, options, seed=seed.number)
    return model, seed.fit(model, way, data.dev, SlantedTriangularRate(options.learning_rate))


def run_cosinet(experiment: Experiment) -> Run:
    """Train and measure a model of `NAMES`."""
    data = load(experiment)
    run = Run("cosinet", experiment, data)
    for number in run.seeds:
        with run.seed(number) as seed:
            model, fitted = train(experiment, data, seed)
        run.keep(seed, model, fitted)
    run.write()
    return run
