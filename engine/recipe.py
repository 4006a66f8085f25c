"""From an entry of the catalogue to a trained model: options, network, method of training."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from answer_ranking.base.errors import UserError
from answer_ranking.engine.data import TrainingData
from answer_ranking.engine.training_run import Seed
from answer_ranking.models.catalogue import Entry, ModelOptions
from answer_ranking.training.methods import METHODS, make_method
from answer_ranking.training.options import FitOptions

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult


def options_of(entry: Entry, values: Mapping[str, Any]) -> tuple[ModelOptions, FitOptions]:
    """Divide values by name among the options of a model and those of its training.

    A TypeError names a value that is neither's.

    Example:
        >>> from answer_ranking.models.catalogue import CATALOGUE
        >>> model, training = options_of(CATALOGUE["hyperqa"], {"dimension": 50, "epochs": 3})
        >>> model.dimension, training.epochs
        (50, 3)
    """
    of_training = dict(values)
    of_model = {}
    for field in fields(entry.options):
        if field.name in of_training:
            of_model[field.name] = of_training.pop(field.name)
    return entry.options(**of_model), METHODS[entry.method].options(**of_training)


def build(entry: Entry, options: ModelOptions, data: TrainingData, seed: int) -> "keras.Model":
    """Build a model whose first weights and dropout follow from the seed.

    A UserError says that an option does not fit the others.
    """
    trains_words = getattr(options, "train_word_vectors", False)
    if trains_words and data.word_vectors.encoder:
        raise UserError(f"{data.word_vectors.name} is a frozen encoder: leave train_word_vectors out.")
    # What is trained starts anew with every seed; a frozen layer is shared.
    vectors = data.word_vectors.matrix if trains_words or entry.reads == "pieces" else data.word_embedding
    features = data.train.features
    n_features = 0 if features is None else features.shape[1]
    try:
        return entry.build(vectors, options, seed=seed, n_features=n_features)
    except ValueError as error:
        raise UserError(f"{entry.title}: {error}") from error


def train(
    entry: Entry,
    model_options: ModelOptions,
    training_options: FitOptions,
    data: TrainingData,
    seed: Seed,
    model: "keras.Model | None" = None,
) -> "tuple[keras.Model, FitResult]":
    """Train one seed, or go on with it; the model has the weights of the epoch that is best on dev.

    `model` is one to go on with in the place of a new one.
    """
    import keras

    from answer_ranking.training.fitting import fit

    keras.utils.set_random_seed(seed.number)
    if model is None:
        model = build(entry, model_options, data, seed.number)
    if seed.start is not None:
        for variable, value in zip(model.trainable_variables, seed.start, strict=True):
            variable.assign(value)
    method = make_method(entry.method, data.train, training_options, seed=seed.number)
    fitted = fit(
        model,
        method,
        data.dev,
        state=seed.state,
        key=seed.key,
        label=seed.label,
        callbacks=seed.callbacks,
        verbose=seed.state is not None,
    )
    return model, fitted
