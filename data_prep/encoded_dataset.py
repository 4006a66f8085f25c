"""A whole data set as arrays, kept between runs."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.files import cache_folder, cached_arrays
from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.encoded_split import (
    EncodedSplit,
    EncodedTexts,
    SharedTexts,
    count_words,
    encode_split,
    in_order,
)
from answer_ranking.data_prep.overlap_features import (
    inverse_document_frequencies,
    overlap_features,
    stop_words,
)
from answer_ranking.data_prep.tables import COLUMNS
from answer_ranking.data_prep.vocabulary import Tokenizer, Vocabulary

# Raise it when the arrays or the way to them change, so that no older cache is read.
_FORMAT = 4
_TEXTS_AT_ONCE = 10_000


@dataclass(frozen=True)
class EncodedDataset:
    """The splits as arrays over one vocabulary.

    Attributes:
        splits: the questions of each split by its name, "train", "dev", "test" and those of the further test
            splits, see `Dataset`.
        vocabulary: the words of all splits. Word vectors are given, not learnt, so that a word of the
            test split has to have its number; nothing else of that split enters.

    Example:
        >>> from answer_ranking.data_prep import encode_dataset, load_dataset
        >>> encoded = encode_dataset(load_dataset("sample"))
        >>> int(encoded.train.candidates.words.max()) < len(encoded.vocabulary)
        True
    """

    splits: Mapping[str, EncodedSplit]
    vocabulary: Vocabulary

    @property
    def train(self) -> EncodedSplit:
        """The questions of training."""
        return self.splits["train"]

    @property
    def dev(self) -> EncodedSplit:
        """The questions that choose."""
        return self.splits["dev"]

    @property
    def test(self) -> EncodedSplit:
        """The questions that are reported."""
        return self.splits["test"]

    @property
    def word_counts(self) -> np.ndarray:
        """How often every word occurs in the questions and candidates of all splits, int64 (n_words,)."""
        return count_words(self.splits.values(), len(self.vocabulary.words))


def encode_dataset(
    dataset: Dataset,
    lowercase: bool = True,
    cache_home: str | Path | None = None,
    *,
    mask_numbers: bool = False,
    overlap: bool = False,
) -> EncodedDataset:
    """Tokenise a data set, build its vocabulary and encode it, or read all that from the cache.

    The cache is keyed by the content of the tables, the tokenizer's settings, spaCy's version and the other
    options, so it never needs to be cleared; a damaged entry is made anew.

    Args:
        dataset: the tables.
        lowercase: put tokens in lower case. Default True.
        cache_home: the cache folder; None for the user's.
        mask_numbers: replace numbers by `<num>`, see `Tokenizer`. Default False.
        overlap: compute the word-overlap features of every row, with the document frequencies of the training
            split, see `overlap_features`. Default False.

    Example:
        >>> from answer_ranking.data_prep import load_dataset
        >>> encode_dataset(load_dataset("sample")).dev.labels.dtype
        dtype('int8')
    """
    tokenizer = Tokenizer(dataset.description.pretokenised, lowercase, mask_numbers)
    path = cache_folder(cache_home) / "encoded" / f"{_key(dataset, tokenizer, overlap)}.npz"
    encoded = cached_arrays(path, lambda: _to_arrays(_encode(dataset, tokenizer, overlap)), _from_arrays)
    return EncodedDataset(in_order(encoded.splits, dataset.description.order_seed), encoded.vocabulary)


def _encode(dataset: Dataset, tokenizer: Tokenizer, overlap: bool) -> EncodedDataset:
    # A text may stand in thousands of rows: it is split once and counted as often as it occurs.
    times: Counter[str] = Counter()
    for table in dataset.splits.values():
        first = ~table["question_id"].duplicated()
        times.update(table.loc[first, "question"].tolist())
        times.update(table["candidate"].tolist())
    texts = list(times)
    tokens_of: dict[str, list[str]] = {}
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[start : start + _TEXTS_AT_ONCE]
        # Each word once: the tokens of half a million texts fill half a gigabyte otherwise.
        shared = (list(map(sys.intern, tokens)) for tokens in tokenizer(part))
        tokens_of |= dict(zip(part, shared, strict=True))
    vocabulary = Vocabulary.build(tokens_of.values(), times.values())

    def known_tokens(wanted: list[str]) -> list[list[str]]:
        return [tokens_of[text] for text in wanted]

    splits = {name: encode_split(table, known_tokens, vocabulary) for name, table in dataset.splits.items()}
    if overlap:
        idf = inverse_document_frequencies(splits["train"], len(vocabulary))
        for name, split in splits.items():
            splits[name] = replace(split, features=overlap_features(split, vocabulary, idf))
    return EncodedDataset(splits, vocabulary)


def _key(dataset: Dataset, tokenizer: Tokenizer, overlap: bool) -> str:
    options = [_FORMAT, tokenizer.settings]
    if overlap:
        # The list itself, since it may change with spaCy's version where the tokens do not depend on it.
        options.append(sorted(stop_words()))
    digest = hashlib.sha256(json.dumps(options).encode())
    for name, table in dataset.splits.items():
        rows = pd.util.hash_pandas_object(table[list(COLUMNS)].astype(object), index=False).to_numpy()
        digest.update(name.encode() + len(rows).to_bytes(8, "little") + rows.tobytes())
    return digest.hexdigest()[:32]


def _to_arrays(encoded: EncodedDataset) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    names: dict[str, Any] = {"words": encoded.vocabulary.known_words, "splits": {}}
    for name, split in encoded.splits.items():
        id_of_row, ids = pd.factorize(np.array(split.candidate_ids, object))
        arrays |= {
            f"{name}_question_words": split.questions.words,
            f"{name}_question_offsets": split.questions.offsets,
            f"{name}_candidate_words": split.candidates.texts.words,
            f"{name}_text_offsets": split.candidates.texts.offsets,
            f"{name}_text_of_row": split.candidates.index,
            f"{name}_candidate_offsets": split.candidate_offsets,
            f"{name}_labels": split.labels,
            f"{name}_id_of_row": id_of_row.astype(np.int32),
        }
        names["splits"][name] = [split.question_ids, ids.tolist()]
        if split.features is not None:
            arrays[f"{name}_features"] = split.features
    return {**arrays, "names": np.frombuffer(json.dumps(names).encode(), np.uint8)}


def _from_arrays(arrays: dict[str, np.ndarray]) -> EncodedDataset:
    names = json.loads(arrays["names"].tobytes())
    splits = {
        name: EncodedSplit(
            questions=EncodedTexts(arrays[f"{name}_question_words"], arrays[f"{name}_question_offsets"]),
            candidates=SharedTexts(
                EncodedTexts(arrays[f"{name}_candidate_words"], arrays[f"{name}_text_offsets"]),
                arrays[f"{name}_text_of_row"],
            ),
            candidate_offsets=arrays[f"{name}_candidate_offsets"],
            labels=arrays[f"{name}_labels"],
            question_ids=question_ids,
            candidate_ids=np.array(ids, object)[arrays[f"{name}_id_of_row"]].tolist(),
            features=arrays.get(f"{name}_features"),
        )
        for name, (question_ids, ids) in names["splits"].items()
    }
    return EncodedDataset(splits, Vocabulary(names["words"]))
