"""Rankers of answers: four papers reproduced, and rankers and indexes for tables of your own."""

from typing import TYPE_CHECKING

from answer_ranking.base.tensorflow_logs import hide_tensorflow_logs

if TYPE_CHECKING:
    from answer_ranking.ranking import AnswerIndex, Ranker, train_ranker

    __version__: str

__all__ = ["AnswerIndex", "Ranker", "__version__", "train_ranker"]

hide_tensorflow_logs()


def __getattr__(name: str) -> object:
    """Import a name when it is first used, so that `import answer_ranking` comes at once."""
    if name == "__version__":
        from importlib.metadata import version

        return version("answer-ranking")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from answer_ranking import ranking

    try:
        return getattr(ranking, name)
    except ModuleNotFoundError as error:
        from answer_ranking.base.extras import missing

        cure = missing((error.name or "").partition(".")[0])
        raise (ImportError(cure) if cure else error) from error
