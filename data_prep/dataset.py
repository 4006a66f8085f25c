"""A data set in memory."""

from dataclasses import dataclass

import pandas as pd

from data_prep.description import DatasetDescription


@dataclass(frozen=True)
class Dataset:
    """The three tables of a data set and what is particular about it.

    Attributes:
        train: columns `question_id`, `question`, `candidate_id`, `candidate` (str) and `label` (int, 0 or
            1), in the document's own order, the rows of a question contiguous. Unfiltered: see
            `apply_protocol`.
        dev: the same.
        test: the same.
        description: the data set's particulars.
        variant: the training set that was chosen, "" where there is one only.

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

    @property
    def splits(self) -> dict[str, pd.DataFrame]:
        """The tables by name."""
        return {"train": self.train, "dev": self.dev, "test": self.test}
