"""The one runner: trains a model with several seeds on a data set, for papers and own tables alike."""

from answer_ranking.engine.data import TrainingData, encode
from answer_ranking.engine.training_run import TRAINED, Seed, SeedResult, TrainingRun

__all__ = ["TRAINED", "Seed", "SeedResult", "TrainingData", "TrainingRun", "encode"]
