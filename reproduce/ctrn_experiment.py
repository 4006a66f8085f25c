"""CTRN's experiments, whatever the data set: CTRN, QRNN, the LSTM baseline, and the features alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from data_prep.errors import UserError
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    ExperimentResult,
    SeedRun,
    load_experiment_data,
    run_experiment,
    train_and_score,
)
from training.option_ranges import check_range
from training.pointwise_settings import PointwiseSettings

if TYPE_CHECKING:
    import keras

NAMES = {"ctrn": "CTRN", "qrnn": "QRNN", "lstm": "LSTM", "features": "Overlap features alone"}


@dataclass(frozen=True, kw_only=True)
class CTRNConfig(PointwiseSettings, ExperimentConfig):
    """The options of a CTRN experiment.

    Raises:
        UserError: an option is out of range, or does not go with another.

    Example:
        >>> CTRNConfig(dataset="sample", model="qrnn", filters=64).matters()["filters"]
        64
    """

    sources: ClassVar[tuple[str, ...]] = (
        *ExperimentConfig.sources,
        "reproduce/ctrn_experiment.py",
        "data_prep/encoded_dataset.py::_with_overlap",
        "data_prep/overlap_features.py",
        "models/ctrn.py",
        "training/fit_pointwise.py",
        "training/pair_scorer.py",
        "training/pointwise_*.py",
        "layers/cross_temporal_*.py",
        "layers/masked_*.py",
        "layers/packed_texts.py",
        "layers/quasi_recurrent_gates.py",
        "layers/recurrent_pooling.py",
    )

    model: Literal["ctrn", "qrnn", "lstm", "features"] = "ctrn"
    """CTRN; QRNN, which is CTRN without crossing; the LSTM baseline; or an MLP over the features alone."""
    overlap_features: bool = False
    """Append the four word-overlap features to the text vectors, as the paper does on TrecQA."""
    filters: int = 128
    """d, the filters of each convolution (the size of the LSTM's state)."""
    kernel_size: int = 2
    """k, the words in the window of the convolutions."""
    alignment: Literal["index", "scaled"] = "index"
    """Whose gates CTRN lends: the partner's at the same step, or at the step t* of the paper."""
    pooling: Literal["f", "fo", "ifo"] = "fo"
    """With --model qrnn: its gates; forget and output in the paper, forget alone, or input, forget and
    output."""
    projection: int | None = None
    """m, the size to which word vectors are projected; None leaves them as they are."""
    hidden: tuple[int, ...] = (128,)
    """Sizes of the layers of the MLP; 1 to 3 layers in the paper."""
    dropout: float = 0.5
    """Share of the entries of text vectors and hidden layers that training drops."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        PointwiseSettings.__post_init__(self)
        ExperimentConfig.__post_init__(self)
        for name in ("filters", "kernel_size", "projection"):
            check_range(self, name, at_least=1)
        for name in ("embedding_dropout", "dropout"):
            check_range(self, name, at_least=0, below=1)
        if min(self.hidden, default=1) < 1:
            raise UserError(f"hidden sizes must be at least 1. Received: {self.hidden}")
        if self.model == "features" and not self.overlap_features:
            raise UserError("model=features has nothing but the overlap features: add --overlap-features.")
        if self.pooling != "fo" and self.model != "qrnn":
            raise UserError(f"pooling={self.pooling} is a choice of QRNN's alone: add --model qrnn.")

    def matters(self) -> dict:
        """Return the options on which the numbers depend, as plain values."""
        options = super().matters()
        # Records from before there was a choice do not name it.
        return {name: value for name, value in options.items() if (name, value) != ("pooling", "fo")}


def load_ctrn_data(config: CTRNConfig) -> ExperimentData:
    """Load data and word vectors, with the overlap features if the configuration has them.

    Args:
        config: the options.

    Returns:
        The encoded splits, the vocabulary and the matrix of word vectors.

    Raises:
        UserError: a file is not there or cannot be read.

    Example:
        >>> data = load_ctrn_data(CTRNConfig(dataset="sample", overlap_features=True))
        sample: train 80 questions / 619 pairs, dev 20 questions / 148 pairs, test 20 questions / 154 pairs
        glove-6b-50d: 50 dimensions, knows 99.5 % of the words and 99.9 % of the running words
        >>> data.encoded.train.features.shape[1]
        4
    """
    return load_experiment_data(config, overlap=config.overlap_features)


def build_ranker(config: CTRNConfig, data: ExperimentData, seed: int) -> "keras.Model":
    """Build the configuration's model with initial weights and dropout of a seed.

    Args:
        config: the options.
        data: what `load_ctrn_data` returned for them.
        seed: first weights and dropout follow from it.

    Returns:
        The model; it scores padded pairs `[question, answer]`, and takes the overlap features as a third
        input where there are any.
    """
    from models.ctrn import ctrn, features_alone, lstm, qrnn

    features = data.encoded.train.features
    common = {"hidden": config.hidden, "dropout": config.dropout, "seed": seed * 1000}
    common["n_features"] = 0 if features is None else features.shape[1]
    if config.model == "features":
        return features_alone(**common)
    common |= {"projection": config.projection, "embedding_dropout": config.embedding_dropout}
    if config.model == "lstm":
        return lstm(data.word_embedding, config.filters, **common)
    common["kernel_size"] = config.kernel_size
    if config.model == "qrnn":
        return qrnn(data.word_embedding, config.filters, pooling=config.pooling, **common)
    return ctrn(data.word_embedding, config.filters, alignment=config.alignment, **common)


def train_ctrn(
    config: CTRNConfig,
    data: ExperimentData,
    seed: int,
    folder: Path | None = None,
    key: str = "",
    *,
    splits: Sequence[str] | None = None,
) -> SeedRun:
    """Train one model with one seed, or go on with a training that was interrupted; see `train_and_score`.

    Args:
        config: the options.
        data: what `load_ctrn_data` returned for them.
        seed: first weights, dropout and the order of the training data follow from it.
        folder: where the state is kept; None keeps none and prints nothing.
        key: names the configuration.
        splits: the names of the splits to score; None for all but the training split.

    Returns:
        The trained model, its learning curves and best epoch, and the scores of the splits' rows.

    Raises:
        UserError: see `train_and_score`.
    """
    from training.fit_pointwise import fit_pointwise
    from training.pair_scorer import PairScorer

    return train_and_score(
        config,
        data,
        seed,
        folder,
        key,
        splits=splits,
        label=NAMES[config.model],
        build_ranker=build_ranker,
        fit=fit_pointwise,
        scorer=PairScorer,
    )


def run_ctrn(config: CTRNConfig) -> ExperimentResult:
    """Run the experiment that a script's configuration describes.

    Args:
        config: the options.

    Returns:
        Data, scores, curves and records; see `run_experiment`.

    Raises:
        UserError: see `run_experiment`.
    """
    return run_experiment(
        config, paper="ctrn", model=NAMES[config.model], train_seed=train_ctrn, load=load_ctrn_data
    )
