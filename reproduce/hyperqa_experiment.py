"""HyperQA's experiments, whatever the data set."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from data_prep.errors import UserError
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    ExperimentResult,
    SeedRun,
    experiment_folder,
    load_experiment_data,
    measure,
    run_experiment,
    save_figure,
    slug,
    train_and_score,
)
from reproduce.options_without_effect import refuse_options_without_effect
from training.option_ranges import check_range
from training.pairwise_settings import Eq9, PairwiseSettings

if TYPE_CHECKING:
    import keras

    from training.packed_bag_of_words import PackedBagOfWords

NAMES = {"hyperqa": "HyperQA", "cosineqa": "CosineQA"}


@dataclass(frozen=True, kw_only=True)
class HyperQAConfig(PairwiseSettings, ExperimentConfig):
    """The options of a HyperQA experiment.

    Raises:
        UserError: an option is out of range, or does not go with another.

    Example:
        >>> HyperQAConfig(dataset="sample", dimension=64).matters()["dimension"]
        64
    """

    sources: ClassVar[tuple[str, ...]] = (
        *ExperimentConfig.sources,
        *(
            f"reproduce/hyperqa_experiment.py::{name}"
            for name in ("HyperQAConfig", "build_ranker", "encoding_of", "train_hyperqa")
        ),
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
    eq9: Eq9 = "parameters"
    """Reading of Eq. 9, the conversion of gradients; CosineQA, with no distance on the ball, has none."""
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
    dimensions: tuple[int, ...] = ()
    """Figure 3: train HyperQA and CosineQA at each of these sizes instead, and draw MAP against size; leaves
    no records."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        PairwiseSettings.__post_init__(self)
        ExperimentConfig.__post_init__(self)
        check_range(self, "dimension", at_least=1)
        check_range(self, "max_norm", above=0, at_most=1)
        for name in ("embedding_dropout", "dropout"):
            check_range(self, name, at_least=0, below=1)
        if self.model == "cosineqa":
            if self.eq9 not in (HyperQAConfig.eq9, "none"):
                raise UserError(
                    f"--eq9 {self.eq9} is for HyperQA: CosineQA compares texts by their cosine, not by a "
                    "distance on the ball, and its gradients are not converted. Leave --eq9 out."
                )
            object.__setattr__(self, "eq9", "none")
        if min(self.dimensions, default=1) < 1:
            raise UserError(f"dimensions must be at least 1. Received: {self.dimensions}")
        if self.dimensions and (self.record or self.check_data):
            raise UserError(
                "--record and --check-data are for one size: --dimensions trains several and draws a figure, "
                "but no records. Leave one or the other out; --dimension sets the one size."
            )

    def matters(self) -> dict:
        """Return the options on which the numbers depend, as plain values."""
        options = super().matters()
        # It came later: where it is not used, the records of before have the names that they had.
        return {k: v for k, v in options.items() if v or k != "raw_embeddings"}


def build_ranker(config: HyperQAConfig, data: ExperimentData, seed: int) -> "keras.Model":
    """Build the configuration's model with initial weights and dropout of a seed.

    Args:
        config: the options.
        data: what `load_experiment_data` returned for them.
        seed: first weights and dropout follow from it.

    Returns:
        The model; it scores padded pairs `[question, answer]`.
    """
    from models.hyperqa import hyperqa

    return hyperqa(
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


def encoding_of(ranker: "keras.Model") -> "PackedBagOfWords":
    """Give what makes text vectors of packed texts with the ranker's weights.

    Args:
        ranker: what `build_ranker` returned, or a saved one of its kind.

    Returns:
        The encoding; it shares the ranker's weights.
    """
    from training.packed_bag_of_words import PackedBagOfWords

    return PackedBagOfWords(ranker.get_layer("encoder"))


def train_hyperqa(
    config: HyperQAConfig,
    data: ExperimentData,
    seed: int,
    folder: Path | None = None,
    key: str = "",
    *,
    splits: Sequence[str] | None = None,
    callbacks: Sequence["keras.callbacks.Callback"] = (),
) -> SeedRun:
    """Train one model with one seed, or go on with a training that was interrupted; see `train_and_score`.

    Args:
        config: the options.
        data: what `load_experiment_data` returned for them.
        seed: first weights, dropout and the order of the training data follow from it.
        folder: where the state is kept; None keeps none and prints nothing.
        key: names the configuration.
        splits: the names of the splits to score; None for all but the training split.
        callbacks: further Keras callbacks.

    Returns:
        The trained model, its learning curves and best epoch, and the scores of the splits' rows.

    Raises:
        UserError: see `train_and_score`.
    """
    from training.fit_pairwise import fit_pairwise
    from training.scoring import SplitScorer

    def fit(ranker, *arguments, **options):
        return fit_pairwise(ranker, encoding_of(ranker), *arguments, edge_norm=config.max_norm, **options)

    return train_and_score(
        config,
        data,
        seed,
        folder,
        key,
        splits=splits,
        label=NAMES[config.model],
        build_ranker=build_ranker,
        fit=fit,
        scorer=lambda ranker, split: SplitScorer(ranker, encoding_of(ranker), split),
        callbacks=callbacks,
    )


def run_hyperqa(config: HyperQAConfig) -> ExperimentResult | None:
    """Run the experiment that a script's configuration describes, and draw its figures.

    Args:
        config: the options.

    Returns:
        Data, scores, curves and records, see `run_experiment`; None for Figure 3, which has no records.

    Raises:
        UserError: see `run_experiment`.
    """
    refuse_options_without_effect(config)
    if config.dimensions:
        draw_map_by_embedding_size(config)
        return None
    result = run_experiment(config, paper="hyperqa", model=NAMES[config.model], train_seed=train_hyperqa)
    draw_norms(result, config.max_norm)
    return result


def draw_norms(result: ExperimentResult, max_norm: float) -> None:
    """Draw the histogram of the text vectors' norms before the ball (Fig. 5).

    Args:
        result: what `run_experiment` returned.
        max_norm: the ball's largest norm.
    """
    import numpy as np

    from evaluation.figures import norm_histogram

    encoding, test = encoding_of(result.best.ranker), result.data.encoded.test
    # In float64, since the squares of long vectors leave the range of float32.
    norms = [
        np.linalg.norm(encoding.sums(encoding.pack(t)).numpy().astype("float64"), axis=1)
        for t in (test.questions, test.candidates)
    ]
    title = f"{result.records[0].model}, {result.data.title}, test"
    save_figure(norm_histogram(*norms, max_norm=max_norm, title=title), result.folder / "norms.png")


def draw_map_by_embedding_size(config: HyperQAConfig) -> None:
    """Train both models at every size of `config.dimensions`; draw test MAP against size (Fig. 3)."""
    from evaluation.figures import map_by_dimension

    check_range(config, "epochs", at_least=1)
    data = load_experiment_data(config)
    rule = next(iter(data.dataset.description.protocols.values()))
    rows = []
    for model, name in NAMES.items():
        for dimension in config.dimensions:
            # A reading of Eq. 9 that was asked for is HyperQA's.
            eq9 = config.eq9 if model == "hyperqa" else "none"
            sized = replace(config, model=model, eq9=eq9, dimension=dimension, dimensions=())
            folder = experiment_folder(sized, data, "hyperqa", name)
            runs = [
                train_hyperqa(sized, data, seed, folder / f"seed-{seed}", folder.name, splits=("test",))
                for seed in config.seed_list
            ]
            maps = [measure(data.encoded.test, run.scores["test"], rule)["map"] for run in runs]
            rows += [{"model": name, "dimension": dimension, "map": value} for value in maps]
            print(f"{name}, d = {dimension}: test MAP {statistics.mean(maps):.4f}", flush=True)
    name = slug("hyperqa", config.dataset, data.dataset.variant, "embedding-size")
    path = config.output / f"{name}.png"
    save_figure(map_by_dimension(rows, title=data.title, metric_title="MAP on test"), path)
    print(f"figure: {path}")
