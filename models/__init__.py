# ruff: noqa: F401 (the names are exported by `__getattr__`)
"""The papers' rankers, and those they are compared with, as functional Keras models; and their catalogue.

The defaults of these functions are near the papers' sizes. Command lines take those of the catalogue,
`CATALOGUE[name].options()`, with which the main experiments run.

Keras is imported with the first network that is asked for, so that command lines read the catalogue at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from answer_ranking.models.networks import (
        ap_bilstm,
        ap_cnn,
        attention_weights,
        compare_aggregate,
        cosinet,
        ctrn,
        features_alone,
        hyperqa,
        lstm,
        qa_bilstm,
        qa_cnn,
        qrnn,
        word_embedding,
    )


def __getattr__(name: str) -> Any:
    if name.startswith("_"):  # what Python itself asks for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.networks"), name)
