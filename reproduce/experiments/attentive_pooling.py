"""Attentive Pooling's experiments: the options of AP-CNN, QA-CNN, AP-BiLSTM and QA-BiLSTM, and the recipe."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from answer_ranking.base.errors import UserError
from answer_ranking.engine import Seed, TrainingData
from answer_ranking.reproduce.experiments.options import DataOptions, Experiment, ModelOptions
from answer_ranking.reproduce.experiments.run import Run, load_data
from answer_ranking.training.options import HardestNegativeOptions, check_range

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult


@dataclass(frozen=True, kw_only=True)
class ScaledData(DataOptions):
    """Data with word vectors of a chosen length."""

    word_vector_norm: float | None = None
    """Scale all word vectors by one factor, so that those of the running training words have this mean
    length; None leaves them as they are. Long ones drive the tanh of Eq. 13 to its ends."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "word_vector_norm", above=0)

    @property
    def sources(self) -> tuple[str, ...]:
        return super().sources if self.word_vector_norm is None else ()


@dataclass(frozen=True, kw_only=True)
class QABiLSTM(ModelOptions):
    """The maximum over the steps of a BiLSTM."""

    filters: int = 141
    """c, the size of each direction of the BiLSTM, or the filters of the convolution."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""
    train_word_vectors: bool = False
    """Train the word vectors, too; the paper does not say whether it does."""


@dataclass(frozen=True, kw_only=True)
class APBiLSTM(QABiLSTM):
    """Attention to the other text over the steps of a BiLSTM."""


@dataclass(frozen=True, kw_only=True)
class QACNN(QABiLSTM):
    """The maximum over the words of a convolution."""

    filters: int = 4000
    """c, the filters of the convolution."""
    window: int = 2
    """k, the words in the window of the convolution."""


@dataclass(frozen=True, kw_only=True)
class APCNN(QACNN):
    """Attention to the other text over the words of a convolution."""

    filters: int = 400
    """c, the filters of the convolution."""
    window: int = 4
    """k, the words in the window of the convolution; on InsuranceQA 3."""


# Table 2 of the paper; the sizes are the defaults above.
MODELS = {
    "ap-cnn": ("AP-CNN", APCNN, {"margin": 0.5}),
    "qa-cnn": (
        "QA-CNN",
        QACNN,
        {"margin": 0.009, "batch_size": 1, "learning_rate": 0.05, "learning_rate_decay": False},
    ),
    "ap-bilstm": ("AP-BiLSTM", APBiLSTM, {"margin": 0.2}),
    "qa-bilstm": ("QA-BiLSTM", QABiLSTM, {"margin": 0.1}),
}


def attentive_pooling(name: str, data: ScaledData, **options: Any) -> Experiment:
    """State an experiment with a model of `MODELS` and the paper's values, but for `options`."""
    title, model, values = MODELS[name]
    return Experiment.of(name, title, data, model, HardestNegativeOptions, **{**values, **options})


# What studies/fair.py draws beside the options that all models share, around the paper's values (Table 2).
SPACE = {
    "learning_rate_decay": (True, False),
    "margin": (0.01, 0.05, 0.1, 0.2, 0.5),
    "sampled_negatives": (10, 50, 100),
}


def load(experiment: Experiment) -> TrainingData:
    """Load the data, with word vectors of the length that the options name, and print their mean length."""
    from answer_ranking.data_prep.encoded_split import count_words
    from answer_ranking.data_prep.word_vectors.load import mean_norm, scale_to_norm

    refuse_the_rate_of_sgd(experiment)
    options = experiment.data
    data = load_data(options)
    split, n_words = data.train, len(data.vocabulary)
    counts = count_words([split], n_words)
    found = mean_norm(data.word_vectors, counts)
    scaled = "" if options.word_vector_norm is None else f", scaled to {options.word_vector_norm:g}"
    print(f"Mean length of the running words' vectors: {found:.2f}{scaled}.", flush=True)
    if options.word_vector_norm is None:
        return data
    return replace(data, word_vectors=scale_to_norm(data.word_vectors, counts, options.word_vector_norm))


def build(options: QABiLSTM, data: TrainingData, seed: int) -> "keras.Model":
    """Build a model whose first weights and dropout follow from the seed."""
    from answer_ranking import models

    builders = {APCNN: models.ap_cnn, QACNN: models.qa_cnn, APBiLSTM: models.ap_bilstm}
    values = dict(vars(options))
    words = data.word_vectors.matrix if options.train_word_vectors else data.word_embedding
    builder = builders.get(type(options), models.qa_bilstm)
    return builder(words, values.pop("filters"), seed=seed * 1000, **values)


def train(experiment: Experiment, data: TrainingData, seed: Seed) -> "tuple[keras.Model, FitResult]":
    """Train one seed, or go on with it; the model has the weights of the epoch that is best on dev."""
    import keras

    from answer_ranking.training.hardest_negative import HardestNegative

    keras.utils.set_random_seed(seed.number)
    model = build(experiment.model, data, seed.number)
    way = HardestNegative(data.train, experiment.training, seed=seed.number)
    return model, seed.fit(model, way, data.dev)


def run_attentive_pooling(experiment: Experiment) -> Run:
    """Train and measure a model of `MODELS`; studies/accuracy_by_length.py draws Fig. 3 and 4."""
    print(f"Negatives: {negatives(experiment.training)}.", flush=True)
    data = load(experiment)
    run = Run("attentive_pooling", experiment, data)
    for number in run.seeds:
        with run.seed(number) as seed:
            model, fitted = train(experiment, data, seed)
        run.keep(seed, model, fitted)
    run.write()
    return run


def refuse_the_rate_of_sgd(experiment: Experiment) -> None:
    """Refuse a learning rate of the paper's (Table 2) with another optimizer than the paper's."""
    training, usual = experiment.training, HardestNegativeOptions.learning_rate
    papers = (usual, MODELS[experiment.name][2].get("learning_rate", usual))
    if training.optimizer.lower() != "sgd" and training.learning_rate in papers:
        raise UserError(
            f"the paper's learning rate, {training.learning_rate:g}, is for SGD. With --optimizer "
            f"{training.optimizer} give --learning-rate as well, such as 0.001, and "
            "--no-learning-rate-decay to keep it constant."
        )


def negatives(options: HardestNegativeOptions) -> str:
    """Say in words which wrong answers are trained on."""
    source = "the whole training answer set" if options.negatives_from == "answers" else "the question's own"
    draws = "per batch" if options.share_negatives else "per question and correct answer"
    return (
        f"the highest scoring of {options.sampled_negatives} wrong answers, drawn {draws} from {source} "
        "(the paper: of 50, drawn per question from the entire answer set)"
    )
