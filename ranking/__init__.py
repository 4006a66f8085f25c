"""A trained ranker in use: rank, search, explain, train on own tables; the command `answer-ranking`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from answer_ranking.ranking.disk import Disk
    from answer_ranking.ranking.explanation import Explanation
    from answer_ranking.ranking.ranker import Ranker
    from answer_ranking.ranking.search.index import AnswerIndex
    from answer_ranking.ranking.train import TrainedRanker, train_ranker

_HOMES = {
    "AnswerIndex": "search.index",
    "Disk": "disk",
    "Explanation": "explanation",
    "Ranker": "ranker",
    "TrainedRanker": "train",
    "train_ranker": "train",
}
__all__ = ["AnswerIndex", "Disk", "Explanation", "Ranker", "TrainedRanker", "train_ranker"]


def __getattr__(name: str) -> object:
    """Import a name when it is first used, so that the command line's help comes at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
