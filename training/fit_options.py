"""What every way of training hands on to `training.fit.fit`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import keras


class FitOptions(TypedDict, total=False):
    """The arguments of `training.fit.fit` that concern a run and not its numbers; described there.

    Example:
        >>> FitOptions(label="AP-CNN, seed 0", verbose=False)["label"]
        'AP-CNN, seed 0'
    """

    label: str
    state_path: Path | None
    state_key: str
    callbacks: Sequence[keras.callbacks.Callback]
    verbose: bool
