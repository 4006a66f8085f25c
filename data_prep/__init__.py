"""Data sets, tokens, vocabulary, encoded arrays and word vectors. See `python -m data_prep --help`."""

from data_prep.dataset import Dataset
from data_prep.description import DatasetDescription
from data_prep.encoded_dataset import EncodedDataset, encode_dataset
from data_prep.encoded_split import EncodedSplit, encode_split
from data_prep.encoded_texts import EncodedTexts
from data_prep.errors import UserError
from data_prep.protocols import apply_protocol
from data_prep.registry import DATASETS, load_dataset, load_own_tables
from data_prep.shared_texts import SharedTexts
from data_prep.tables import load_table
from data_prep.tokens import Tokenizer
from data_prep.vocabulary import Vocabulary
from data_prep.word_vectors import WordVectors, load_word_vectors

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetDescription",
    "EncodedDataset",
    "EncodedSplit",
    "EncodedTexts",
    "SharedTexts",
    "Tokenizer",
    "UserError",
    "Vocabulary",
    "WordVectors",
    "apply_protocol",
    "encode_dataset",
    "encode_split",
    "load_dataset",
    "load_own_tables",
    "load_table",
    "load_word_vectors",
]
