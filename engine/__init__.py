"""The one runner, which trains a model with several seeds on a data set, and the one study engine."""

from answer_ranking.engine.data import TrainingData, encode, encode_pieces
from answer_ranking.engine.recipe import build, options_of, train
from answer_ranking.engine.study import Study
from answer_ranking.engine.study_record import StudyRecord
from answer_ranking.engine.training_run import (
    TRAINED,
    Seed,
    SeedResult,
    TrainingRun,
    read_facts,
    training_key,
)

__all__ = [
    "TRAINED",
    "Seed",
    "SeedResult",
    "Study",
    "StudyRecord",
    "TrainingData",
    "TrainingRun",
    "build",
    "encode",
    "encode_pieces",
    "options_of",
    "read_facts",
    "train",
    "training_key",
]
