"""The methods of training by the names that the catalogue of models gives them; without TensorFlow."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from answer_ranking.training import options as of

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedSplit


class Method(NamedTuple):
    """A method of training."""

    options: type[of.FitOptions]
    name: str
    """Its class in `answer_ranking.training`."""
    in_order: bool = False
    """Whether it shows the candidates of a question together, in an order."""


METHODS = {
    "pairwise": Method(of.PairwiseOptions, "Pairwise"),
    "pairwise_together": Method(of.PairwiseTogetherOptions, "PairwiseTogether"),
    "pointwise": Method(of.PointwiseOptions, "Pointwise"),
    "answerable_pointwise": Method(of.AnswerablePointwiseOptions, "AnswerablePointwise"),
    "listwise": Method(of.ListwiseOptions, "Listwise", in_order=True),
    "listwise_apart": Method(of.ListwiseOptions, "ListwiseApart"),
    "hardest_negative": Method(of.HardestNegativeOptions, "HardestNegative"),
}
"""The methods by the names that the catalogue of models gives them."""


def make_method(name: str, split: "EncodedSplit", options: of.FitOptions, *, seed: int = 0) -> Any:
    """Make a method of training for a split; a UserError says that there is nothing to train on."""
    train = getattr(import_module("answer_ranking.training"), METHODS[name].name)
    return train(split, options, seed=seed)
