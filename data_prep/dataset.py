"""The data sets by name, and the one way to load any of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.description import DatasetDescription
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.own_tables import load_table

DATASETS: dict[str, str | DatasetDescription] = {
    "sample": "wikiqa.SAMPLE",
    "wikiqa": "wikiqa.WIKIQA",
    "trecqa": "trecqa.TRECQA",
    "insuranceqa": "insuranceqa.INSURANCEQA",
    "insuranceqa-tokens": "insuranceqa.INSURANCEQA_TOKENS",
    "insuranceqa-v1": "insuranceqa.INSURANCEQA_V1",
    "semevalcqa": "semevalcqa.SEMEVALCQA",
    "yahooqa": "yahooqa.YAHOOQA",
    "antique": "antique.ANTIQUE",
    "squad-sent": "squad_sent.SQUAD_SENT",
    "nq-la": "natural_questions.NQ_LA",
    "qed": "qed.QED",
}
"""The data sets by name: a description, or where it stands in `readers/`, imported when it is asked for."""

OWN_TABLES = DatasetDescription("own", "own tables", source="the user's own", licence="the user's own")


@dataclass(frozen=True)
class Dataset:
    """The tables of a data set and what is particular about it.

    Attributes:
        train, dev, test: columns `question_id`, `question`, `candidate_id`, `candidate` (str) and `label`
            (int, 0 or 1), in the document's own order, the rows of a question contiguous. Unfiltered: see
            `apply_protocol`.
        description: the data set's particulars.
        variant: the training set that was chosen, "" where there is one only.
        further_tests: test tables after the first, by name, for a data set that has several, such as
            {"test2": table}. `splits` has them, too.

    Example:
        >>> from answer_ranking.data_prep import load_dataset
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


def find_description(name: str) -> DatasetDescription:
    """Look up a data set's description."""
    if name not in DATASETS:
        raise UserError(f"unknown data set {name!r}: choose one of {', '.join(DATASETS)}.")
    description = DATASETS[name]
    if isinstance(description, str):
        module, constant = description.split(".")
        description = getattr(import_module(f"answer_ranking.data_prep.readers.{module}"), constant)
    return description


def load_dataset(name: str, variant: str | None = None, data_home: str | Path | None = None) -> Dataset:
    """Load a data set by name, complete: which questions count is the caller's choice, by `apply_protocol`.

    Args:
        name: one of `DATASETS`, such as "sample" (bundled), "wikiqa" or "trecqa".
        variant: the training set, one of the description's `variants`; None for the first of them. TrecQA has
            "TRAIN-ALL" (default) and "TRAIN".
        data_home: the folder that holds `wikiqa/`, `trecqa/` and so on; None for QA_DATA_HOME and the user's
            cache.

    Raises:
        UserError: unknown name or variant, or the data are absent or not the published ones.

    Example:
        >>> sorted(load_dataset("sample").splits)
        ['dev', 'test', 'train']
    """
    description = find_description(name)
    variant = description.variants[0] if variant is None else variant
    if variant not in description.variants:
        choice = ", ".join(filter(None, description.variants))
        cure = f"Choose one of {choice}." if choice else "It has no variants: leave --variant out."
        raise UserError(f"unknown variant {variant!r} of {description.title}. {cure}")
    files = DataFiles(description, data_home) if description.files else None
    train, dev, test, *further = description.read(variant, files)
    return Dataset(train, dev, test, description, variant, *further)


def load_own_tables(train: str | Path, dev: str | Path, test: str | Path) -> Dataset:
    r"""Load a user's own tables (see `load_table`) as a data set: to train on, to choose by, to report on.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("faq.csv").write_text("question,candidate,label\nWho?,Me.,1\nWho?,There.,0\n")
        >>> len(load_own_tables("faq.csv", "faq.csv", "faq.csv").train)
        2
    """
    return Dataset(load_table(train), load_table(dev), load_table(test), description=OWN_TABLES)
