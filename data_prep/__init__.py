"""Data sets, tokens, vocabulary, encoded arrays and word vectors. See `python -m data_prep --help`."""

from data_prep.dataset import Dataset
from data_prep.description import DatasetDescription
from data_prep.errors import UserError
from data_prep.protocols import apply_protocol
from data_prep.registry import DATASETS, load_dataset, load_own_tables
from data_prep.tables import load_table

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetDescription",
    "UserError",
    "apply_protocol",
    "load_dataset",
    "load_own_tables",
    "load_table",
]
