"""Training against the hardest of sampled negatives, from the first step to the best weights."""

from collections.abc import Callable
from typing import Unpack

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.answer_sampler import AnswerSampler
from training.fit import FitResult, fit
from training.fit_options import FitOptions
from training.hardest_negative_batches import HardestNegativeBatches
from training.hardest_negative_settings import HardestNegativeSettings
from training.hardest_negative_trainer import HardestNegativeTrainer
from training.shared_text_scorer import SharedTextScorer


def fit_hardest(
    ranker: keras.Model,
    train: EncodedSplit,
    dev: EncodedSplit,
    settings: HardestNegativeSettings,
    measure: Callable[[EncodedSplit, np.ndarray], dict[str, float]],
    *,
    seed: int = 0,
    **options: Unpack[FitOptions],
) -> FitResult:
    """Train a ranker against the hardest of sampled negatives and leave it with its best weights on dev.

    Args:
        ranker: `matcher([*encoder(question), *encoder(answer)])`, such as `models.attentive_pooling` builds.
        train: the training questions.
        dev: the questions that choose the best epoch.
        settings: the options of the training.
        measure: maps a split and the scores of its rows to figures, `map` among them.
        seed: seeds order and draws; the ranker's initial weights and dropout have their own seed.
        **options: `label`, `state_path`, `state_key`, `callbacks` and `verbose`, see `training.fit.fit`.

    Returns:
        The history; the ranker holds the best weights.

    Raises:
        TrainingDivergedError: see `training.fit.fit`.
        UserError: see there; or no question has answers to train on.

    Example:
        >>> settings = HardestNegativeSettings(epochs=5)  # doctest: +SKIP
        >>> result = fit_hardest(model, data.train, data.dev, settings, measure)  # doctest: +SKIP
        >>> result.history[-1]["dev_map"]  # doctest: +SKIP
    """
    sampler = AnswerSampler(
        train, settings.sampled_negatives, source=settings.negatives_from, share=settings.share_negatives
    )
    batches = HardestNegativeBatches(
        train,
        sampler,
        settings.batch_size,
        reduction=settings.reduction,
        seed=seed,
        replicas=tf.distribute.get_strategy().num_replicas_in_sync,
    )
    trainer = HardestNegativeTrainer(
        ranker,
        margin=settings.margin,
        shared=settings.share_negatives,
        l2=settings.l2,
        clip_norm=settings.clip_norm,
        clip_value=settings.clip_value,
    )
    if settings.learning_rate_decay:
        # Epochs count from 1 in the paper and from 0 here.
        decay = keras.callbacks.LearningRateScheduler(lambda epoch: settings.learning_rate / (epoch + 1))
        options["callbacks"] = [decay, *options.get("callbacks", ())]
    score_dev = SharedTextScorer(ranker, dev)
    return fit(trainer, batches, lambda: measure(dev, score_dev()), settings, **options)
