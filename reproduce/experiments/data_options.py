"""The options of an experiment's data, and how they are loaded."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking import engine
from answer_ranking.base.errors import UserError
from answer_ranking.base.ranges import check_range
from answer_ranking.data_prep import Dataset, load_dataset
from answer_ranking.data_prep.word_vectors.load import UNKNOWN_SCALE
from answer_ranking.engine import TrainingData
from answer_ranking.models.catalogue import Entry


@dataclass(frozen=True, kw_only=True)
class DataHome:
    """Where the data sets are."""

    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingsHome(DataHome):
    """Where the data sets and the word vectors are."""

    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""


@dataclass(frozen=True, kw_only=True)
class DataOptions(EmbeddingsHome):
    """What is trained on and measured."""

    dataset: str
    """Name of the data set."""
    variant: str | None = None
    """Training set of the data set, where there are several."""
    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated. minilm or the folder of another encoder gives
    contextual words (docs/contextual.md). task-skipgram-100d is trained on the data set's own texts, and so
    are other sizes and task-cbow-100d."""
    identity_dimensions: int = 0
    """Fixed random dimensions added to every word's vector, so that equal words can be told (in no paper)."""
    unknown_scale: float = UNKNOWN_SCALE
    """Scale of the random vectors of words that the word vectors lack."""
    lowercase: bool = True
    """Put words into lower case."""
    mask_numbers: bool = False
    """Replace numbers by <num>, as the distributed file of TrecQA's TRAIN-ALL does."""
    shuffle_candidates: bool = False
    """Show list-wise models a question's candidates in a random order, also where the document's own order is
    a fair signal."""

    def __post_init__(self) -> None:
        check_range(self, "identity_dimensions", at_least=0)
        check_range(self, "unknown_scale", at_least=0, below=math.inf)

    def load(self) -> TrainingData:
        """Load and encode the data set with its word vectors, and print their sizes.

        A UserError names a file that is missing or damaged.
        """
        dataset = load_dataset(self.dataset, self.variant, self.data_home)
        if self.shuffle_candidates:
            dataset = replace(dataset, description=replace(dataset.description, order_is_signal=False))
        return self.encode(dataset)

    def encode(self, dataset: Dataset) -> TrainingData:
        """Encode a data set as these options say."""
        return self._encode(dataset, overlap=False)

    def _encode(self, dataset: Dataset, overlap: bool) -> TrainingData:
        return engine.encode(
            dataset,
            self.embeddings,
            lowercase=self.lowercase,
            mask_numbers=self.mask_numbers,
            overlap=overlap,
            unknown_scale=self.unknown_scale,
            identity_dimensions=self.identity_dimensions,
            data_home=self.data_home,
            embeddings_home=self.embeddings_home,
        )


@dataclass(frozen=True, kw_only=True)
class OverlapData(DataOptions):
    """Data with the word-overlap features, as CTRN's paper has them."""

    overlap_features: bool = False
    """Append the four word-overlap features to the text vectors, as the paper does on TrecQA."""

    def encode(self, dataset: Dataset) -> TrainingData:
        return self._encode(dataset, self.overlap_features)


@dataclass(frozen=True, kw_only=True)
class ScaledData(DataOptions):
    """Data with word vectors of a chosen length, for Attentive Pooling."""

    word_vector_norm: float | None = None
    """Scale all word vectors by one factor, so that those of the running training words have this mean
    length; None leaves them as they are. Long ones drive the tanh of Eq. 13 to its ends."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "word_vector_norm", above=0)

    def encode(self, dataset: Dataset) -> TrainingData:
        from answer_ranking.data_prep.encoded_split import count_words
        from answer_ranking.data_prep.word_vectors.load import mean_norm, scale_to_norm

        data, norm = super().encode(dataset), self.word_vector_norm
        if data.word_vectors.encoder:
            if norm is not None:
                raise UserError("contextual words keep their length: add --word-vector-norm None.")
            return data
        counts = count_words([data.train], len(data.vocabulary))
        scaled = "" if norm is None else f", scaled to {norm:g}"
        found = mean_norm(data.word_vectors, counts)
        print(f"Mean length of the running words' vectors: {found:.2f}{scaled}.", flush=True)
        if norm is None:
            return data
        # Words that are looked up later would have vectors of another length.
        return replace(data, word_vectors=scale_to_norm(data.word_vectors, counts, norm), sources=())


@dataclass(frozen=True, kw_only=True)
class EncoderData(DataOptions):
    """Data in the word pieces of an encoder, which is trained."""

    embeddings: tuple[str, ...] = ("minilm",)
    """The encoder from whose weights the training starts: minilm, or the folder of another one
    (docs/contextual.md)."""
    train_questions: int | None = None
    """At most so many questions of the training set, drawn at random, the same ones for every seed; None for
    all of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "train_questions", at_least=2)

    def encode(self, dataset: Dataset) -> TrainingData:
        if self.train_questions is not None:
            questions = dataset.train["question_id"].unique()
            drawn = np.random.default_rng(0).permutation(questions)[: self.train_questions]
            dataset = replace(dataset, train=dataset.train[dataset.train["question_id"].isin(drawn)])
        return engine.encode_pieces(dataset, self.embeddings, embeddings_home=self.embeddings_home)


def data_options_of(entry: Entry) -> type[DataOptions]:
    """Give the options of the data that a model's experiments have."""
    if entry.reads == "pieces":
        return EncoderData
    if entry.scales_word_vectors:
        return ScaledData
    return OverlapData if entry.takes_features else DataOptions


def features_if_taken(entry: Entry, **values: Any) -> DataOptions:
    """State the data of a model's experiment, with the word-overlap features where the model takes any."""
    features: dict[str, Any] = {"overlap_features": True} if entry.takes_features else {}
    return data_options_of(entry)(**values, **features)
