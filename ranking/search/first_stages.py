"""The first stages of a search, the default first: to add one, write its file and enter it here."""

from collections.abc import Iterable

from answer_ranking.ranking.search.bm25 import BM25
from answer_ranking.ranking.search.fusion import Both
from answer_ranking.ranking.search.nearest import Nearest
from answer_ranking.ranking.search.protocol import FirstStage

FIRST_STAGES: tuple[FirstStage, ...] = (Nearest(), BM25(), Both())


def names_of(*, with_model: bool) -> list[str]:
    """Name the first stages of an index with a model, or of one without."""
    return [stage.name for stage in FIRST_STAGES if with_model or not stage.needs_model]


def stages_of(names: Iterable[str]) -> list[FirstStage]:
    """Give the first stages of these names, in the order of the list; a ValueError names an unknown one."""
    by_name = {stage.name: stage for stage in FIRST_STAGES}
    for name in names:
        if name not in by_name:
            known = ", ".join(by_name)
            raise ValueError(f"its first stage {name!r:.40} is none of {known}")
    return [stage for stage in FIRST_STAGES if stage.name in names]
