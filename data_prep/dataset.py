"""A data set in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from data_prep.description import DatasetDescription


@dataclass(frozen=True)
class Dataset:
    """The tables of a data set and what is particular about it.

    Attributes:
        train: columns `question_id`, `question`, `candidate_id`, `candidate` (str) and `label` (int, 0 or
            1), in the document's own order, the rows of a question contiguous. Unfiltered: see
            `apply_protocol`.
        dev: the same.
        test: the same.
        description: the data set's particulars.
        variant: the training set that was chosen, "" where there is one only.
        further_tests: test tables after the first, by name, for a data set that has several, such as
            {"test2": table}; `test` is the first. `splits` has them all, so that whatever goes through the
            splits measures them too.

    Example:
        >>> from data_prep import load_dataset
        >>> load_dataset("sample").description.title
        'sample'
    """

    train: pd.DataFrame
    dev: pd.DataFrame
    test: pd.DataFrame
    description: DatasetDescription
    variant: str = ""
    further_tests: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if taken := {"train", "dev", "test"} & set(self.further_tests):
            raise ValueError(f"further_tests need names of their own. Received: {sorted(taken)}")

    @property
    def splits(self) -> dict[str, pd.DataFrame]:
        """The tables by name."""
        return {"train": self.train, "dev": self.dev, "test": self.test, **self.further_tests}
