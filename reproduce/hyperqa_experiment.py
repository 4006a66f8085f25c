"""HyperQA's experiments, whatever the data set."""

import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from data_prep.errors import UserError
from data_prep.files import atomic_write
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    ExperimentResult,
    SeedRun,
    experiment_key,
    load_experiment_data,
    measure,
    run_experiment,
    slug,
)
from reproduce.task_vectors import train_task_vectors
from training.option_ranges import check_range
from training.pairwise_settings import PairwiseSettings

NAMES = {"hyperqa": "HyperQA", "cosineqa": "CosineQA"}


@dataclass(frozen=True, kw_only=True)
class HyperQAConfig(PairwiseSettings, ExperimentConfig):
    """The options of a HyperQA experiment."""

    sources: ClassVar[tuple[str, ...]] = (
        *ExperimentConfig.sources,
        "reproduce/hyperqa_experiment.py",
        "data_prep/trained_vectors.py",
        "models/hyperqa.py",
        "training/fit_pairwise.py",
        "training/negative_sampling.py",
        "training/packed_bag_of_words.py",
        "training/pairwise_*.py",
        "training/riemannian.py",
        "training/scoring.py",
        "layers/poincare.py",
        "layers/hyperbolic_distance.py",
        "layers/unit_ball.py",
        "layers/masked_*.py",
    )

    model: Literal["hyperqa", "cosineqa"] = "hyperqa"
    """HyperQA, or CosineQA, which has the cosine in place of the hyperbolic distance."""
    dimension: int = 400
    """d, the size of projected words and of text vectors."""
    max_norm: float = 0.7
    """Largest norm of a text vector in the ball."""
    projection: Literal["clip", "smooth"] = "clip"
    """How texts come onto the ball: cut off at max_norm as in the paper, or by a smooth map."""
    distance_form: Literal["asinh", "released"] = "asinh"
    """The exact distance, or the formula of the authors' code."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""
    dropout: float = 0.0
    """Share of the entries of text vectors that training drops."""
    raw_embeddings: bool = False
    """Show the last layer the text vectors beside their distance, as the paper does on SemEvalCQA."""
    skip_gram_size: int = 0
    """Size of skip-gram vectors, trained on the task's own texts, in place of --embeddings; 0 for none."""
    dimensions: tuple[int, ...] = ()
    """Figure 3: train HyperQA and CosineQA at each of these sizes instead, and draw MAP against size."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        PairwiseSettings.__post_init__(self)
        ExperimentConfig.__post_init__(self)
        check_range(self, "dimension", at_least=1)
        check_range(self, "skip_gram_size", at_least=0)
        check_range(self, "max_norm", above=0, at_most=1)
        for name in ("embedding_dropout", "dropout"):
            check_range(self, name, at_least=0, below=1)
        if min(self.dimensions, default=1) < 1:
            raise UserError(f"dimensions must be at least 1. Received: {self.dimensions}")

    def matters(self) -> dict:
        """Return the options on which the numbers depend, as plain values."""
        options = super().matters()
        # They came later: where they are not used, the records of before have the names that they had.
        return {k: v for k, v in options.items() if v or k not in ("raw_embeddings", "skip_gram_size")}


def load_hyperqa_data(config: HyperQAConfig) -> ExperimentData:
    """Load data and word vectors; with `skip_gram_size` these are trained first, or found again.

    Args:
        config: the configuration.

    Raises:
        UserError: data or word vectors are missing or malformed.
    """
    if not config.skip_gram_size:
        return load_experiment_data(config)
    vectors = train_task_vectors(config, config.skip_gram_size)
    return load_experiment_data(replace(config, embeddings=(vectors,)))


def train_hyperqa(
    config: HyperQAConfig, data: ExperimentData, seed: int, folder: Path | None, key: str
) -> SeedRun:
    """Train HyperQA or CosineQA with one seed, or go on with a training that was interrupted."""
    import keras

    from models.hyperqa import hyperqa
    from training.fit_pairwise import fit_pairwise
    from training.packed_bag_of_words import PackedBagOfWords
    from training.scoring import SplitScorer

    keras.utils.set_random_seed(seed)
    ranker = hyperqa(
        data.word_embedding,
        config.dimension,
        similarity="hyperbolic" if config.model == "hyperqa" else "cosine",
        max_norm=config.max_norm,
        projection=config.projection,
        distance_form=config.distance_form,
        embedding_dropout=config.embedding_dropout,
        dropout=config.dropout,
        raw_embeddings=config.raw_embeddings,
        seed=seed,
    )
    encoding = PackedBagOfWords(ranker.get_layer("encoder"))
    logs = [keras.callbacks.TensorBoard(folder / "tensorboard")] if config.tensorboard and folder else []
    result = fit_pairwise(
        ranker,
        encoding,
        data.encoded.train,
        # The questions that choose the best epoch; the others would only take time.
        data.encoded.dev.keep_questions(data.encoded.dev.counts_under("answerable")),
        config,
        measure,
        seed=seed,
        edge_norm=config.max_norm,
        label=f"{NAMES[config.model]}, seed {seed}",
        state_path=folder / "state.npz" if folder else None,
        state_key=key,
        callbacks=logs,
        verbose=folder is not None,
    )
    scores = {name: SplitScorer(ranker, encoding, getattr(data.encoded, name))() for name in ("dev", "test")}
    return SeedRun(ranker, result.history, result.best_epoch, scores)


def run_hyperqa(config: HyperQAConfig) -> ExperimentResult | None:
    """Run the experiment that a script's configuration describes, and draw its figures."""
    check_range(config, "epochs", at_least=1)
    data = load_hyperqa_data(config)
    if config.dimensions:
        draw_map_by_embedding_size(config, data)
        return None
    result = run_experiment(
        config,
        paper="hyperqa",
        model=NAMES[config.model],
        train_seed=lambda data, seed, folder, key: train_hyperqa(config, data, seed, folder, key),
        data=data,
    )
    draw_figures(result, config.max_norm)
    return result


def draw_figures(result: ExperimentResult, max_norm: float) -> None:
    """Draw the learning curves and the histogram of the text vectors' norms before the ball (Fig. 5)."""
    import numpy as np

    from evaluation.figures import learning_curves, norm_histogram
    from training.packed_bag_of_words import PackedBagOfWords

    encoding = PackedBagOfWords(result.best.ranker.get_layer("encoder"))
    test = result.data.encoded.test
    norms = [
        np.linalg.norm(encoding.sums(encoding.pack(t)).numpy(), axis=1)
        for t in (test.questions, test.candidates)
    ]
    title = f"{result.records[0].model}, {result.data.title}"
    figures = {
        "learning_curves": learning_curves(result.histories, title=title),
        "norms": norm_histogram(*norms, max_norm=max_norm, title=f"{title}, test"),
    }
    for name, figure in figures.items():
        with atomic_write(result.folder / f"{name}.png", "wb") as file:
            figure.savefig(file, dpi=150, format="png")


def draw_map_by_embedding_size(config: HyperQAConfig, data: ExperimentData) -> None:
    """Train both models at every size of `config.dimensions`; draw test MAP against size (Fig. 3)."""
    from evaluation.figures import map_by_dimension

    rule = next(iter(data.dataset.description.protocols.values()))
    rows = []
    for model in NAMES:
        for dimension in config.dimensions:
            sized = replace(config, model=model, dimension=dimension, dimensions=())
            key = experiment_key(sized, data)
            folder = config.output / slug("hyperqa", config.dataset, data.dataset.variant, NAMES[model]) / key
            runs = [
                train_hyperqa(sized, data, seed, folder / f"seed-{seed}", key) for seed in config.seed_list
            ]
            maps = [measure(data.encoded.test, run.scores["test"], rule)["map"] for run in runs]
            rows += [{"model": NAMES[model], "dimension": dimension, "map": value} for value in maps]
            print(f"{NAMES[model]}, d = {dimension}: test MAP {statistics.mean(maps):.4f}", flush=True)
    name = slug("hyperqa", config.dataset, data.dataset.variant, "embedding-size")
    with atomic_write(config.output / f"{name}.png", "wb") as file:
        figure = map_by_dimension(rows, title=data.title, metric_title="MAP on test")
        figure.savefig(file, dpi=150, format="png")
    print(f"figure: {config.output / name}.png")
