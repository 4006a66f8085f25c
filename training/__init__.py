# ruff: noqa: F401 (the names are exported by `__getattr__`)
"""Training: one `fit` for the methods of training a ranker, one `score`, and HyperQA's Eq. 9.

The names are imported when they are first used, so that options can be read without TensorFlow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from answer_ranking.training.callbacks import NormTracker, SlantedTriangularRate
    from answer_ranking.training.fitting import FitResult, TrainingDivergedError, fit
    from answer_ranking.training.hardest_negative import HardestNegative
    from answer_ranking.training.listwise import Listwise
    from answer_ranking.training.listwise_apart import ListwiseApart
    from answer_ranking.training.options import (
        AnswerablePointwiseOptions,
        Eq9,
        FitOptions,
        HardestNegativeOptions,
        ListwiseOptions,
        PairwiseOptions,
        PairwiseTogetherOptions,
        PointwiseOptions,
    )
    from answer_ranking.training.pairwise import Pairwise
    from answer_ranking.training.pairwise_together import PairwiseTogether
    from answer_ranking.training.pointwise import AnswerablePointwise, Pointwise
    from answer_ranking.training.riemannian import RiemannianOptimizer
    from answer_ranking.training.scoring import make_scorer, score

_NAMES = {
    "callbacks": "NormTracker SlantedTriangularRate",
    "fitting": "FitResult TrainingDivergedError fit",
    "hardest_negative": "HardestNegative",
    "listwise": "Listwise",
    "listwise_apart": "ListwiseApart",
    "options": "AnswerablePointwiseOptions Eq9 FitOptions HardestNegativeOptions ListwiseOptions "
    "PairwiseOptions PairwiseTogetherOptions PointwiseOptions",
    "pairwise": "Pairwise",
    "pairwise_together": "PairwiseTogether",
    "pointwise": "AnswerablePointwise Pointwise",
    "riemannian": "RiemannianOptimizer",
    "scoring": "make_scorer score",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
