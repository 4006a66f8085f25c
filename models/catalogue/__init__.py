"""The catalogue of models: what each one is, in one entry that everything else reads.

An entry is plain data: nothing here imports Keras.
"""

from importlib import import_module
from pkgutil import iter_modules

from answer_ranking.base.errors import UserError
from answer_ranking.models.catalogue.entry import Entry
from answer_ranking.models.catalogue.model_options import ModelOptions
from answer_ranking.models.catalogue.recognise import recognise

__all__ = ["CATALOGUE", "Entry", "ModelOptions", "find_entry", "of_paper", "recognise"]

_FIRST = ("hyperqa", "ctrn", "attentive_pooling", "cosinet")
"""The files of the papers that the project reproduces; those of the systems that they quote come after."""


def _all_entries() -> dict[str, Entry]:
    """Gather the `ENTRIES` of all files of this folder that have some."""
    others = [file.name for file in iter_modules(__path__) if file.name not in _FIRST]
    entries = {}
    for name in (*_FIRST, *others):
        module = import_module(f"{__name__}.{name}")
        for entry in getattr(module, "ENTRIES", ()):
            entries[entry.name] = entry
    return entries


CATALOGUE: dict[str, Entry] = _all_entries()
"""All models by their names."""


def find_entry(name: str) -> Entry:
    """Find a model by its name; a UserError lists the names.

    Example:
        >>> find_entry("hyperqa").title
        'HyperQA'
    """
    if name not in CATALOGUE:
        raise UserError(f"there is no model {name!r}: choose one of {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def of_paper(paper: str) -> list[Entry]:
    """Give the models that a paper has, by its name in `evaluation/papers.toml`.

    Example:
        >>> [entry.name for entry in of_paper("hyperqa")]
        ['hyperqa', 'cosineqa']
    """
    return [entry for entry in CATALOGUE.values() if entry.paper == paper and entry.printed]
