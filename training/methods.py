"""The methods of training by the names that the catalogue of models gives them; without TensorFlow."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from answer_ranking.training import options as of

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedSplit

METHODS: dict[str, tuple[type[of.FitOptions], str]] = {
    "pairwise": (of.PairwiseOptions, "Pairwise"),
    "pairwise_together": (of.PairwiseTogetherOptions, "PairwiseTogether"),
    "pointwise": (of.PointwiseOptions, "Pointwise"),
    "answerable_pointwise": (of.AnswerablePointwiseOptions, "AnswerablePointwise"),
    "listwise": (of.ListwiseOptions, "Listwise"),
    "listwise_apart": (of.ListwiseOptions, "ListwiseApart"),
    "hardest_negative": (of.HardestNegativeOptions, "HardestNegative"),
}
"""The options of each method, and its class in `answer_ranking.training`."""


def make_method(
    name: str,
    split: "EncodedSplit",
    options: of.FitOptions,
    *,
    seed: int = 0,
    order_seed: int | None = None,
) -> Any:
    """Make a method of training for a split; `order_seed` is that of `Listwise`, the only one with an order.

    A UserError says that there is nothing to train on.
    """
    method = getattr(import_module("answer_ranking.training"), METHODS[name][1])
    arguments = {"order_seed": order_seed} if name == "listwise" else {}
    return method(split, options, seed=seed, **arguments)
