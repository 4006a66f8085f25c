"""The data of a training: a data set's splits as arrays, and the vectors of its words."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from answer_ranking.data_prep import (
    Dataset,
    EncodedDataset,
    EncodedSplit,
    UserError,
    Vocabulary,
    WordVectors,
    encode_dataset,
    encode_split,
    load_word_vectors,
)
from answer_ranking.data_prep.encoded_split import in_order
from answer_ranking.data_prep.word_vectors.contextual import (
    ContextualEncoder,
    TokenVectors,
    encode_with,
    encoder_among,
)
from answer_ranking.data_prep.word_vectors.encoder_folder import (
    WEIGHTS,
    encoder_name,
    find_encoder,
    is_encoder,
    read_encoder,
)
from answer_ranking.data_prep.word_vectors.load import UNKNOWN_SCALE, resolve_task_vectors
from answer_ranking.data_prep.word_vectors.word_pieces import WordPieces
from answer_ranking.evaluation.records import environment

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True, kw_only=True)
class TrainingData(EncodedDataset):
    """Everything that a training reads: the splits as arrays, the data set they are of, and word vectors."""

    dataset: Dataset
    word_vectors: WordVectors
    tokens: dict[str, bool]
    """How words were made: `lowercase` and `mask_numbers`."""
    sources: tuple[str, ...] = ()
    """The word vectors in which a trained ranker finds other words."""
    embeddings_home: Path | None = None
    """The folder of their files; None for QA_EMBEDDINGS_HOME and the user's cache."""
    divided: "TrainingData | None" = None
    """The data of which these are a part, with which they share the layer of word vectors."""

    def with_splits(self, **splits: EncodedSplit) -> "TrainingData":
        """Put other splits in the place of those of the same names."""
        return replace(self, splits={**self.splits, **splits}, divided=self)

    @property
    def title(self) -> str:
        """The data set's name and training set, for tables and figures."""
        return " ".join(filter(None, (self.dataset.description.title, self.dataset.variant)))

    @property
    def scored_splits(self) -> dict[str, EncodedSplit]:
        """The splits that are measured: all but the one that is trained on."""
        scored = dict(self.splits)
        del scored["train"]
        return scored

    @cached_property
    def word_embedding(self) -> "keras.layers.Layer":
        """The layer of word vectors, shared by the models of all seeds, and of all parts of the data."""
        # TensorFlow keeps what a traced step refers to: of layers of their own, 100 MB each would stay.
        if self.divided is not None:
            return self.divided.word_embedding
        matrix = self.word_vectors.matrix
        if isinstance(matrix, TokenVectors):
            from answer_ranking.models.encodings.contextual_words import ContextualWords

            layer = ContextualWords(matrix.shape[1])
            layer.table = matrix
            return layer
        from answer_ranking.models import word_embedding

        return word_embedding(matrix)

    @cached_property
    def data_hash(self) -> str:
        """A hash of the encoded texts, labels, features and word vectors."""
        matrix = self.word_vectors.matrix
        static = isinstance(matrix, np.ndarray)
        digest = hashlib.sha256(np.ascontiguousarray(matrix).data if static else matrix.identity.encode())
        for split in self.splits.values():
            for texts in (split.questions, split.candidates.texts):
                digest.update(texts.words.tobytes() + texts.offsets.tobytes())
            digest.update(split.candidates.index.tobytes())
            digest.update(split.labels.tobytes() + split.candidate_offsets.tobytes())
            if split.features is not None:
                digest.update(split.features.tobytes())
        return digest.hexdigest()[:16]


def encode(
    dataset: Dataset,
    embeddings: Sequence[str],
    *,
    lowercase: bool = True,
    mask_numbers: bool = False,
    overlap: bool = False,
    unknown_scale: float = UNKNOWN_SCALE,
    identity_dimensions: int = 0,
    data_home: str | Path | None = None,
    embeddings_home: Path | None = None,
) -> TrainingData:
    """Encode a data set and load its word vectors, and print their sizes.

    `overlap` says whether to compute the word-overlap features of every pair. A UserError names a file that
    is missing or damaged.
    """
    environment()  # read once: records name the commit of the beginning
    source = encoder_among(embeddings, embeddings_home)
    if source is not None:
        if overlap or identity_dimensions:
            raise UserError(
                f"{source} gives every token a vector of its own, and no word: leave out identity_dimensions "
                "and overlap_features."
            )
        if mask_numbers or not lowercase or unknown_scale != UNKNOWN_SCALE:
            unused = "lowercase, mask_numbers and unknown_scale change nothing"
            print(f"{source} makes tokens in its own way, and knows all of them: {unused}.")
        encoded, vectors = encode_with(ContextualEncoder(source, embeddings_home), dataset)
    else:
        encoded = encode_dataset(dataset, overlap=overlap, lowercase=lowercase, mask_numbers=mask_numbers)
        vectors = load_word_vectors(
            resolve_task_vectors(embeddings, dataset, lowercase, mask_numbers, data_home),
            encoded.vocabulary,
            counts=encoded.word_counts,
            unknown_scale=unknown_scale,
            identity_dimensions=identity_dimensions,
            embeddings_home=embeddings_home,
        )
    # Vectors trained on the data themselves, and random dimensions, are known for no other word.
    own = identity_dimensions > 0 or any(name.startswith("task-") for name in embeddings)
    data = TrainingData(
        splits=encoded.splits,
        vocabulary=encoded.vocabulary,
        dataset=dataset,
        word_vectors=vectors,
        tokens={"lowercase": lowercase, "mask_numbers": mask_numbers},
        sources=() if own else tuple(embeddings),
        embeddings_home=embeddings_home,
    )
    _print_sizes(data)
    return data


def encode_pieces(
    dataset: Dataset, embeddings: Sequence[str], *, embeddings_home: Path | None = None
) -> TrainingData:
    """Encode a data set in the word pieces of an encoder that is trained, and print the sizes.

    The vocabulary is that of the encoder, and its files stand in the place of word vectors. A UserError says
    that `embeddings` is not one encoder, or that its folder is not sound.
    """
    environment()  # read once: records name the commit of the beginning
    if len(embeddings) != 1 or not is_encoder(embeddings[0], embeddings_home):
        raise UserError(
            "the model trains an encoder: name one, such as --embeddings minilm or the folder of another "
            f"one. Received: {' '.join(embeddings)}"
        )
    (source,) = embeddings
    files = read_encoder(find_encoder(source, embeddings_home), source)
    if len(set(files.pieces)) < len(files.pieces):
        raise UserError(f"the vocabulary of {source} names a word piece twice. Fetch the encoder again.")
    pieces, vocabulary = WordPieces(files.pieces, files.lowercase), Vocabulary(files.pieces)
    splits = {name: encode_split(table, pieces, vocabulary) for name, table in dataset.splits.items()}
    splits = in_order(splits, dataset.description.order_seed)
    known = np.ones(files.shape[0], bool)
    word_vectors = WordVectors(files, encoder_name(source), 1.0, 1.0, known, files.hashes[WEIGHTS])
    data = TrainingData(
        splits=splits,
        vocabulary=vocabulary,
        dataset=dataset,
        word_vectors=word_vectors,
        tokens={"lowercase": files.lowercase, "mask_numbers": False},
        sources=(source,),
        embeddings_home=embeddings_home,
    )
    _print_sizes(data)
    return data


def _print_sizes(data: TrainingData) -> None:
    sizes = []
    for name, split in data.splits.items():
        sizes.append(f"{name} {split.n_questions:,} questions / {split.n_rows:,} pairs")
    notes = data.dataset.description.notes
    print("\n".join([f"{data.title}: {', '.join(sizes)}", str(data.word_vectors), *notes]), flush=True)
