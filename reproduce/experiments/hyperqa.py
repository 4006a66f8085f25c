"""HyperQA's experiments: the options of HyperQA and CosineQA, and the recipe."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from answer_ranking.engine import Seed, TrainingData
from answer_ranking.reproduce.experiments.options import DataOptions, Experiment, ModelOptions
from answer_ranking.reproduce.experiments.run import Run, load_data
from answer_ranking.training.options import PairwiseOptions

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult


@dataclass(frozen=True, kw_only=True)
class CosineQA(ModelOptions):
    """CosineQA: the cosine in place of the hyperbolic distance."""

    dimension: int = 400
    """d, the size of projected words and of text vectors."""
    max_norm: float = 0.7
    """Largest norm of a text vector in the ball."""
    projection: Literal["clip", "smooth"] = "clip"
    """How texts come onto the ball: cut off at max_norm as in the paper, or by a smooth map."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""
    dropout: float = 0.0
    """Share of the entries of text vectors that training drops."""
    raw_embeddings: bool = False
    """Show the last layer the text vectors beside their distance, as the paper does on SemEvalCQA."""


@dataclass(frozen=True, kw_only=True)
class HyperQA(CosineQA):
    """HyperQA."""

    distance_form: Literal["asinh", "released"] = "asinh"
    """The exact distance, or the formula of the authors' code."""


@dataclass(frozen=True, kw_only=True)
class CosineQATraining(PairwiseOptions):
    """Pairwise training without Eq. 9: the cosine is no distance on the ball."""

    eq9: Annotated[Literal["none"], tyro.conf.Suppress, tyro.conf.Fixed] = "none"


def hyperqa(data: DataOptions, **options: Any) -> Experiment:
    """State an experiment with HyperQA; `options` are those of the model and the training."""
    options = {"eq9": "parameters", **options}
    return Experiment.of("hyperqa", "HyperQA", data, HyperQA, PairwiseOptions, **options)


def cosineqa(data: DataOptions, **options: Any) -> Experiment:
    """State an experiment with CosineQA; `options` are those of the model and the training."""
    return Experiment.of("cosineqa", "CosineQA", data, CosineQA, CosineQATraining, **options)


# What studies/fair.py draws beside the options that all models share: the paper's grid (d 100-400, margin
# 1-20, 2-8 negatives), widened.
SPACE = {
    "dimension": (100, 200, 300, 400),
    "margin": (0.1, 0.25, 0.5, 1.0, 2.0, 5.0),
    "max_norm": (0.3, 0.5, 0.7, 0.9, 0.99),
    "clip_norm": (0.3, 1.0, 5.0, None),
    "own_negatives": (None, 4, 8),
    "foreign_negatives": (0, 2, 4, 8, 16),
}


def load(experiment: Experiment) -> TrainingData:
    """Load the data."""
    return load_data(experiment.data)


def build(options: CosineQA, data: TrainingData, seed: int) -> "keras.Model":
    """Build a model whose first weights and dropout follow from the seed."""
    from answer_ranking.models.networks.hyperqa import hyperqa

    similarity = "hyperbolic" if isinstance(options, HyperQA) else "cosine"
    return hyperqa(data.word_embedding, similarity=similarity, seed=seed, **vars(options))


def train(experiment: Experiment, data: TrainingData, seed: Seed) -> "tuple[keras.Model, FitResult]":
    """Train one seed, or go on with it; the model has the weights of the epoch that is best on dev."""
    import keras

    from answer_ranking.training.pairwise import Pairwise

    keras.utils.set_random_seed(seed.number)
    model = build(experiment.model, data, seed.number)
    way = Pairwise(data.train, experiment.training, seed=seed.number)
    return model, seed.fit(model, way, data.dev)


def run_hyperqa(experiment: Experiment) -> Run:
    """Train and measure HyperQA or CosineQA, and draw the norms of its texts (Fig. 5)."""
    data = load(experiment)
    run = Run("hyperqa", experiment, data)
    for number in run.seeds:
        with run.seed(number) as seed:
            model, fitted = train(experiment, data, seed)
        run.keep(seed, model, fitted)
    run.write()
    draw_norms(run)
    return run


def draw_norms(run: Run) -> None:
    """Draw the histogram of the norms that test texts have before they come onto the ball (Fig. 5)."""
    import numpy as np

    from answer_ranking.evaluation.figures import norm_histogram, save_figure

    encoding, test = run.model.encoding, run.data.test
    # In float64, since the squares of long vectors leave the range of float32.
    questions, texts = (
        np.linalg.norm(encoding.sums(encoding.pack(texts)).numpy().astype("float64"), axis=1)
        for texts in (test.questions, test.candidates.texts)
    )
    candidates, radius = texts[test.candidates.index], run.experiment.model.max_norm
    figure = norm_histogram(questions, candidates, max_norm=radius, title=f"{run.title}, test")
    save_figure(figure, run.folder / "norms.png")
