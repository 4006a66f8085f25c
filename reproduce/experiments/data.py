"""What an experiment reads: the encoded splits of a data set, and its word vectors."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from answer_ranking.base.command import import_tensorflow
from answer_ranking.data_prep import (
    Dataset,
    EncodedDataset,
    EncodedSplit,
    WordVectors,
    encode_dataset,
    load_dataset,
    load_word_vectors,
)
from answer_ranking.data_prep.word_vectors import resolve_task_vectors
from answer_ranking.reproduce.experiments.options import DataOptions

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class ExperimentData:
    """Everything that a training reads."""

    dataset: Dataset
    encoded: EncodedDataset
    word_vectors: WordVectors

    @property
    def title(self) -> str:
        """The data set's name and training set, for tables and figures."""
        return " ".join(filter(None, (self.dataset.description.title, self.dataset.variant)))

    @property
    def train(self) -> EncodedSplit:
        """The split to train on."""
        return self.encoded.train

    @property
    def dev(self) -> EncodedSplit:
        """The split that chooses."""
        return self.encoded.dev

    @cached_property
    def splits(self) -> dict[str, EncodedSplit]:
        """All splits by name."""
        return self.encoded.splits

    @cached_property
    def scored_splits(self) -> dict[str, EncodedSplit]:
        """The splits that are measured: all but the one that is trained on."""
        return {name: split for name, split in self.splits.items() if name != "train"}

    @cached_property
    def word_embedding(self) -> "keras.layers.Embedding":
        """The layer of word vectors, shared by the models of all seeds."""
        from answer_ranking.models import word_embedding

        return word_embedding(self.word_vectors.matrix)

    @cached_property
    def data_hash(self) -> str:
        """A hash of the encoded texts, labels, features and word vectors."""
        digest = hashlib.sha256(np.ascontiguousarray(self.word_vectors.matrix))
        for split in self.splits.values():
            for texts in (split.questions, split.candidates.texts):
                digest.update(texts.words.tobytes() + texts.offsets.tobytes())
            digest.update(split.candidates.index.tobytes())
            digest.update(split.labels.tobytes() + split.candidate_offsets.tobytes())
            if split.features is not None:
                digest.update(split.features.tobytes())
        return digest.hexdigest()[:16]


def load_data(options: DataOptions, *, overlap: bool = False) -> ExperimentData:
    """Load and encode a data set with its word vectors, and print their sizes.

    `overlap` says whether to compute the word-overlap features of every pair. A UserError names a file that
    is missing or damaged.
    """
    dataset = load_dataset(options.dataset, options.variant, options.data_home)
    tokens = {"lowercase": options.lowercase, "mask_numbers": options.mask_numbers}
    encoded = encode_dataset(dataset, overlap=overlap, **tokens)
    vectors = load_word_vectors(
        resolve_task_vectors(options.embeddings, dataset, data_home=options.data_home, **tokens),
        encoded.vocabulary,
        counts=encoded.word_counts,
        unknown_scale=options.unknown_scale,
        identity_dimensions=options.identity_dimensions,
        embeddings_home=options.embeddings_home,
    )
    data = ExperimentData(dataset, encoded, vectors)
    sizes = ", ".join(
        f"{name} {len(split.question_ids):,} questions / {len(split.labels):,} pairs"
        for name, split in data.splits.items()
    )
    print("\n".join([f"{data.title}: {sizes}", str(vectors), *dataset.description.notes]), flush=True)
    import_tensorflow()
    return data
