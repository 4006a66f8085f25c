"""A whole data set as arrays, kept between runs."""

import hashlib
import json
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from data_prep.dataset import Dataset
from data_prep.encoded_split import EncodedSplit, encode_split
from data_prep.encoded_texts import EncodedTexts
from data_prep.errors import UserError
from data_prep.files import atomic_write, cache_folder
from data_prep.overlap_features import inverse_document_frequencies, overlap_features, stop_words
from data_prep.shared_texts import SharedTexts
from data_prep.tables import COLUMNS
from data_prep.tokens import Tokenizer
from data_prep.vocabulary import Vocabulary

# Raise it when the arrays or the way to them change, so that no older cache is read.
_FORMAT = 3
_TEXTS_AT_ONCE = 10_000
_SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class EncodedDataset:
    """The splits as arrays over one vocabulary.

    Attributes:
        train: the training questions.
        dev: the development questions.
        test: the test questions.
        vocabulary: the words of all splits. Word vectors are given, not learnt, so that a word of the
            test split has to have its number; nothing else of that split enters.
        further_tests: the test splits after the first, by name, see `Dataset`.

    Example:
        >>> from data_prep import encode_dataset, load_dataset
        >>> encoded = encode_dataset(load_dataset("sample"))
        >>> int(encoded.train.candidates.words.max()) < len(encoded.vocabulary)
        True
    """

    train: EncodedSplit
    dev: EncodedSplit
    test: EncodedSplit
    vocabulary: Vocabulary
    further_tests: Mapping[str, EncodedSplit] = field(default_factory=dict)

    @property
    def word_counts(self) -> np.ndarray:
        """How often every word occurs in the questions and candidates of all splits, int64 (n_words,)."""
        n_words = len(self.vocabulary)
        return sum(
            np.bincount(split.questions.words, minlength=n_words) + split.candidates.token_counts(n_words)
            for split in self.splits.values()
        )

    @property
    def splits(self) -> dict[str, EncodedSplit]:
        """The splits by name."""
        return {**{name: getattr(self, name) for name in _SPLITS}, **self.further_tests}


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

    Returns:
        The arrays and the vocabulary.

    Example:
        >>> from data_prep import load_dataset
        >>> encode_dataset(load_dataset("sample")).dev.labels.dtype
        dtype('int8')
    """
    tokenizer = Tokenizer(dataset.description.pretokenised, lowercase, mask_numbers)
    path = cache_folder(cache_home) / "encoded" / f"{_key(dataset, tokenizer, overlap)}.npz"
    try:
        cached = _read(path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, UserError) as error:
        warnings.warn(f"{path} is damaged ({error}); it is made anew.", stacklevel=2)
        cached = None
    if cached is not None:
        return cached
    encoded = _encode(dataset, tokenizer)
    if overlap:
        encoded = _with_overlap(encoded)
    try:
        _write(path, encoded)
    except UserError as error:
        warnings.warn(f"not kept for the next run: {error}", stacklevel=2)
    return encoded


def _encode(dataset: Dataset, tokenizer: Tokenizer) -> EncodedDataset:
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
    return _with_splits(splits, vocabulary)


def _with_splits(splits: dict[str, EncodedSplit], vocabulary: Vocabulary) -> EncodedDataset:
    further = {name: split for name, split in splits.items() if name not in _SPLITS}
    main = {name: splits[name] for name in _SPLITS}
    return EncodedDataset(**main, vocabulary=vocabulary, further_tests=further)


def _with_overlap(encoded: EncodedDataset) -> EncodedDataset:
    idf = inverse_document_frequencies(encoded.train, len(encoded.vocabulary))
    features = {
        name: overlap_features(split, encoded.vocabulary, idf) for name, split in encoded.splits.items()
    }
    splits = {name: replace(split, features=features[name]) for name, split in encoded.splits.items()}
    return _with_splits(splits, encoded.vocabulary)


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


def _write(path: Path, encoded: EncodedDataset) -> None:
    arrays, names = {}, {"words": encoded.vocabulary.words[2:], "splits": {}}
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
    # Strings as JSON in a byte array: NumPy would store them as fixed-width or, worse, as pickles.
    arrays["names"] = np.frombuffer(json.dumps(names).encode(), np.uint8)
    with atomic_write(path, "wb") as file:
        np.savez(file, **arrays)


def _read(path: Path) -> EncodedDataset | None:
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
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
    return _with_splits(splits, Vocabulary(names["words"]))
