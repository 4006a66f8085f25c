"""One model of the catalogue."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from answer_ranking.models.catalogue.model_options import ModelOptions

if TYPE_CHECKING:
    import keras
    import numpy as np

    from answer_ranking.data_prep.word_vectors.encoder_folder import EncoderFiles

Reason = Literal["shares", "attention", "relatedness", "matches", "gates", "occlusion"]
Reads = Literal["words", "pieces", "features"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a model is: its names, its network and options, how it is trained, what it can say of itself.

    Example:
        >>> from answer_ranking.models.catalogue import CATALOGUE
        >>> CATALOGUE["ap-cnn"].title, CATALOGUE["ap-cnn"].method, CATALOGUE["ap-cnn"].reason
        ('AP-CNN', 'hardest_negative', 'attention')
    """

    name: str
    """On command lines and in records."""
    title: str
    """In print, as the paper's tables have it."""
    paper: str
    """In `evaluation/papers.toml`."""
    printed: bool = True
    """Whether the paper has it; else it is this project's variant of one that the paper has."""
    network: "str | Callable[..., keras.Model]"
    """The function that builds it, or its module and name in `models.networks`, such as "ctrn.qrnn"."""
    options: type[ModelOptions]
    """The options of the network; the defaults are the sizes of the main experiment."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the network that make it this model."""
    hidden: tuple[str, ...] = ()
    """Options, of the data and the training as well, that have but one sensible value for this model."""
    seed_step: int = 1000
    """Seed k of a training builds the network with `seed=k * seed_step`."""
    reads: Reads = "words"
    """What the network takes: the vectors of words, an encoder, which it trains, or features alone."""
    scales_word_vectors: bool = False
    """Whether its experiments have the option to scale all word vectors to a mean length."""
    takes_features: bool = False
    """Whether the network takes a number of features, `n_features`."""
    encodes_apart: bool = False
    """Whether each text has a vector of its own, so that answers can be indexed."""
    by_numpy: bool = False
    """Whether it ranks by NumPy, without Keras (`ranking.numpy_hyperqa`)."""
    reason: Reason = "occlusion"
    """What of the model itself explains a score; "occlusion" where nothing does."""
    method: str
    """The training method, a name of `training.methods.METHODS`."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Options of the training in the paper that differ from the method's defaults."""
    space: Mapping[str, tuple] = field(default_factory=dict)
    """What a search at equal budgets draws of this model's own options."""
    own_tables: Mapping[str, Any] | None = None
    """Options of model and training for a user's own table; None where it is not offered for them."""

    def build(
        self,
        word_vectors: "np.ndarray | keras.layers.Layer | EncoderFiles",
        options: ModelOptions | None = None,
        *,
        seed: int = 0,
        n_features: int = 0,
    ) -> "keras.Model":
        """Build the network for seed `seed` of a training.

        `word_vectors` float32 `(words, n)`, row 0 belonging to padding, or a layer of them to share; or the
        encoder that a network of word pieces trains, see `read_encoder`. `n_features` counts the features of
        a pair, 0 for none. A ValueError names options that do not fit.

        Example:
            >>> import numpy as np
            >>> from answer_ranking.models.catalogue import CATALOGUE
            >>> CATALOGUE["cosineqa"].build(np.ones((5, 4), "float32")).name
            'CosineQA'
        """
        network = self.network
        if isinstance(network, str):
            module, function = network.split(".")
            network = getattr(import_module(f"answer_ranking.models.networks.{module}"), function)
        arguments = (options or self.options()).arguments() | dict(self.fixed)
        if self.takes_features:
            arguments["n_features"] = n_features
        source = [] if self.reads == "features" else [word_vectors]
        return network(*source, seed=seed * self.seed_step, **arguments)
