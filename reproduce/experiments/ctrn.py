"""CTRN's experiments: the options of CTRN, QRNN, the LSTM and the features alone, and the recipe."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from answer_ranking.base.errors import UserError
from answer_ranking.engine import Seed, TrainingData
from answer_ranking.reproduce.experiments.options import DataOptions, Experiment, ModelOptions
from answer_ranking.reproduce.experiments.run import Run, load_data
from answer_ranking.training.options import PointwiseOptions

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult


@dataclass(frozen=True, kw_only=True)
class CTRNData(DataOptions):
    """Data with the word-overlap features."""

    overlap_features: bool = False
    """Append the four word-overlap features to the text vectors, as the paper does on TrecQA."""


@dataclass(frozen=True, kw_only=True)
class FeaturesData(CTRNData):
    """Data whose features are all that a model sees."""

    overlap_features: Annotated[Literal[True], tyro.conf.Suppress, tyro.conf.Fixed] = True


@dataclass(frozen=True, kw_only=True)
class OverlapFeatures(ModelOptions):
    """An MLP over the word-overlap features alone."""

    hidden: tuple[int, ...] = (128,)
    """Sizes of the layers of the MLP; 1 to 3 layers in the paper."""
    dropout: float = 0.5
    """Share of the entries of text vectors and hidden layers that training drops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.hidden, default=1) < 1:
            raise UserError(f"hidden sizes must be at least 1. Received: {self.hidden}")


@dataclass(frozen=True, kw_only=True)
class LSTM(OverlapFeatures):
    """The LSTM baseline."""

    filters: int = 128
    """d, the filters of each convolution (the size of the LSTM's state)."""
    projection: int | None = None
    """m, the size to which word vectors are projected; None leaves them as they are."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""


@dataclass(frozen=True, kw_only=True)
class _Convolution(LSTM):
    kernel_size: int = 2
    """k, the words in the window of the convolutions."""


@dataclass(frozen=True, kw_only=True)
class QRNN(_Convolution):
    """QRNN: CTRN without crossing."""

    pooling: Literal["f", "fo", "ifo"] = "fo"
    """The gates: forget and output in the paper, forget alone, or input, forget and output."""


@dataclass(frozen=True, kw_only=True)
class CTRN(_Convolution):
    """CTRN."""

    alignment: Literal["index", "scaled"] = "index"
    """Whose gates CTRN lends: the partner's at the same step, or at the step t* of the paper."""


MODELS = {
    "ctrn": ("CTRN", CTRN),
    "qrnn": ("QRNN", QRNN),
    "lstm": ("LSTM", LSTM),
    "features": ("Overlap features alone", OverlapFeatures),
}


def ctrn(name: str, data: CTRNData, **options: Any) -> Experiment:
    """State an experiment with a model of `MODELS`; `options` are those of the model and the training."""
    if name == "features":
        data = FeaturesData(**(vars(data) | {"overlap_features": True}))
    title, model = MODELS[name]
    return Experiment.of(name, title, data, model, PointwiseOptions, **options)


# What studies/fair.py draws beside the options that all models share: the paper's grid (1 to 3 hidden layers,
# d from 128) as far as it fits two cores.
SPACE = {
    "filters": (128, 256),
    "hidden": ((64,), (128,), (128, 128)),
    "kernel_size": (1, 2, 3),
}


def load(experiment: Experiment) -> TrainingData:
    """Load the data, with the overlap features if the options have them."""
    return load_data(experiment.data, overlap=experiment.data.overlap_features)


def build(options: OverlapFeatures, data: TrainingData, seed: int) -> "keras.Model":
    """Build a model whose first weights and dropout follow from the seed."""
    from answer_ranking import models

    builders = {
        CTRN: models.ctrn,
        QRNN: models.qrnn,
        LSTM: models.lstm,
        OverlapFeatures: models.features_alone,
    }
    values = dict(vars(options))
    words = [data.word_embedding, values.pop("filters")] if isinstance(options, LSTM) else []
    features = data.train.features
    n_features = 0 if features is None else features.shape[1]
    return builders[type(options)](*words, n_features=n_features, seed=seed * 1000, **values)


def train(experiment: Experiment, data: TrainingData, seed: Seed) -> "tuple[keras.Model, FitResult]":
    """Train one seed, or go on with it; the model has the weights of the epoch that is best on dev."""
    import keras

    from answer_ranking.training.pointwise import Pointwise

    keras.utils.set_random_seed(seed.number)
    model = build(experiment.model, data, seed.number)
    way = Pointwise(data.train, experiment.training, seed=seed.number)
    return model, seed.fit(model, way, data.dev)


def run_ctrn(experiment: Experiment) -> Run:
    """Train and measure CTRN, QRNN, the LSTM or the features alone."""
    data = load(experiment)
    run = Run("ctrn", experiment, data)
    for number in run.seeds:
        with run.seed(number) as seed:
            model, fitted = train(experiment, data, seed)
        run.keep(seed, model, fitted)
    run.write()
    return run
