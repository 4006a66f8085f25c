# ruff: noqa: F401 (the names are exported by `__getattr__`)
"""Training: one `fit` for four ways of training a ranker, one `score`, and HyperQA's Eq. 9.

The names are imported when they are first used, so that options can be read without TensorFlow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from answer_ranking.training.callbacks import NormTracker, SlantedTriangularRate
    from answer_ranking.training.fitting import FitResult, TrainingDivergedError, fit
    from answer_ranking.training.hardest_negative import HardestNegative
    from answer_ranking.training.listwise import Listwise
    from answer_ranking.training.options import (
        Eq9,
        FitOptions,
        HardestNegativeOptions,
        ListwiseOptions,
        PairwiseOptions,
        PointwiseOptions,
    )
    from answer_ranking.training.pairwise import Pairwise
    from answer_ranking.training.pointwise import Pointwise
    from answer_ranking.training.riemannian import RiemannianOptimizer
    from answer_ranking.training.scoring import Scorer, score

_MODULES = {
    "callbacks": ("NormTracker", "SlantedTriangularRate"),
    "fitting": ("FitResult", "TrainingDivergedError", "fit"),
    "hardest_negative": ("HardestNegative",),
    "listwise": ("Listwise",),
    "options": (
        "Eq9",
        "FitOptions",
        "HardestNegativeOptions",
        "ListwiseOptions",
        "PairwiseOptions",
        "PointwiseOptions",
    ),
    "pairwise": ("Pairwise",),
    "pointwise": ("Pointwise",),
    "riemannian": ("RiemannianOptimizer",),
    "scoring": ("Scorer", "score"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
