"""Data sets, tokens, vocabulary, encoded arrays and word vectors."""

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.dataset import DATASETS, Dataset, load_dataset, load_own_tables
from answer_ranking.data_prep.description import DatasetDescription
from answer_ranking.data_prep.encoded_dataset import EncodedDataset, encode_dataset
from answer_ranking.data_prep.encoded_split import EncodedSplit, EncodedTexts, SharedTexts, encode_split
from answer_ranking.data_prep.own_tables import load_table
from answer_ranking.data_prep.tables import apply_protocol
from answer_ranking.data_prep.vocabulary import Tokenizer, Vocabulary
from answer_ranking.data_prep.word_vectors.load import WordVectors, load_word_vectors
from answer_ranking.data_prep.word_vectors.trained import train_word2vec

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
    "train_word2vec",
]
