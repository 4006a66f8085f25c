"""The one runner: trains a model with several seeds on a data set, for papers and own tables alike."""

from answer_ranking.engine.data import TrainingData, encode
from answer_ranking.engine.recipe import build, options_of, train
from answer_ranking.engine.training_run import TRAINED, Seed, SeedResult, TrainingRun, training_key

__all__ = [
    "TRAINED",
    "Seed",
    "SeedResult",
    "TrainingData",
    "TrainingRun",
    "build",
    "encode",
    "options_of",
    "train",
    "training_key",
]
