"""CTRN's experiments, whatever the data set: CTRN, QRNN, the LSTM baseline, and the features alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from data_prep.errors import UserError
from data_prep.files import atomic_write
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    ExperimentResult,
    SeedRun,
    load_experiment_data,
    measure,
    run_experiment,
)
from training.option_ranges import check_range
from training.pointwise_settings import PointwiseSettings

if TYPE_CHECKING:
    import keras

NAMES = {"ctrn": "CTRN", "qrnn": "QRNN", "lstm": "LSTM", "features": "Overlap features alone"}


@dataclass(frozen=True, kw_only=True)
class CTRNConfig(PointwiseSettings, ExperimentConfig):
    """The options of a CTRN experiment."""

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


def build_ranker(config: CTRNConfig, data: ExperimentData, seed: int) -> "keras.Model":
    """Build the configuration's model with initial weights and dropout of a seed."""
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
        return qrnn(data.word_embedding, config.filters, **common)
    return ctrn(data.word_embedding, config.filters, alignment=config.alignment, **common)


def train_ctrn(config: CTRNConfig, data: ExperimentData, seed: int, folder: Path | None, key: str) -> SeedRun:
    """Train one model with one seed, or go on with a training that was interrupted."""
    import keras

    from training.fit_pointwise import fit_pointwise
    from training.pair_scorer import PairScorer

    keras.utils.set_random_seed(seed)
    ranker = build_ranker(config, data, seed)
    logs = [keras.callbacks.TensorBoard(folder / "tensorboard")] if config.tensorboard and folder else []
    result = fit_pointwise(
        ranker,
        data.encoded.train,
        # The questions that choose the best epoch; the others would only take time.
        data.encoded.dev.keep_questions(data.encoded.dev.counts_under("answerable")),
        config,
        measure,
        seed=seed,
        label=f"{NAMES[config.model]}, seed {seed}",
        state_path=folder / "state.npz" if folder else None,
        state_key=key,
        callbacks=logs,
        verbose=folder is not None,
    )
    scores = {name: PairScorer(ranker, getattr(data.encoded, name))() for name in ("dev", "test")}
    return SeedRun(ranker, result.history, result.best_epoch, scores)


def run_ctrn(config: CTRNConfig) -> ExperimentResult:
    """Run the experiment that a script's configuration describes, and draw its learning curves."""
    from evaluation.figures import learning_curves

    check_range(config, "epochs", at_least=1)
    result = run_experiment(
        config,
        paper="ctrn",
        model=NAMES[config.model],
        train_seed=lambda data, seed, folder, key: train_ctrn(config, data, seed, folder, key),
        data=load_experiment_data(config, overlap=config.overlap_features),
    )
    figure = learning_curves(result.histories, title=f"{result.records[0].model}, {result.data.title}")
    with atomic_write(result.folder / "learning_curves.png", "wb") as file:
        figure.savefig(file, dpi=150, format="png")
    return result
