"""Everything an interrupted training needs to go on as if nothing had happened, in one file."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from data_prep.errors import UserError
from data_prep.files import atomic_write

_LISTS = ("weights", "optimizer", "best_weights")


@dataclass
class TrainingState:
    """The state of a training after a whole epoch.

    Order of data, draws of negatives and masks drawn with a batch are functions of seed and epoch, so the
    arrays below and the number of finished epochs are all there is.

    Attributes:
        weights: the trainable weights (the frozen word vectors do not change).
        optimizer: the optimizer's variables, the step count among them, then the states of the random
            numbers of dropout layers.
        best_weights: the weights of the epoch with the best figure on dev.
        history: one dictionary of figures per finished epoch.
        best_epoch: the number of the best epoch, from 0; -1 before the first.
        key: names the configuration that the state belongs to.
    """

    weights: list[np.ndarray]
    optimizer: list[np.ndarray]
    best_weights: list[np.ndarray]
    history: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = -1
    key: str = ""

    def save(self, path: str | Path) -> None:
        """Write the state; a reader sees the old file or the new one, never half of one."""
        arrays = {f"{name}_{i}": array for name in _LISTS for i, array in enumerate(getattr(self, name))}
        facts = {"history": self.history, "best_epoch": self.best_epoch, "key": self.key}
        facts["lengths"] = [len(getattr(self, name)) for name in _LISTS]
        with atomic_write(path, "wb") as file:
            np.savez(file, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)

    @classmethod
    def load(cls, path: str | Path, key: str) -> "TrainingState | None":
        """Read the state, or return None where there is none.

        Raises:
            UserError: the file is damaged, or belongs to another configuration.
        """
        path = Path(path)
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                facts = json.loads(bytes(stored["facts"]))
                lengths = dict(zip(_LISTS, facts.pop("lengths"), strict=True))
                lists = {name: [stored[f"{name}_{i}"] for i in range(n)] for name, n in lengths.items()}
                state = cls(**lists, **facts)
        except Exception as error:  # damaged bytes bring about errors of a dozen kinds
            raise UserError(f"{path} is damaged ({error}). Remove it to train from the start.") from error
        if state.key != key:
            raise UserError(
                f"{path} belongs to another configuration. Remove it, or choose another --output folder."
            )
        return state
