"""From paragraphs to sentences."""

import hashlib
import json
import warnings
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from data_prep.errors import UserError
from data_prep.files import atomic_write, cache_folder

# Raise it when the rule below changes, so that no older cache is read.
_FORMAT = 1


def split_sentences(
    texts: Sequence[str], cache_home: str | Path | None = None
) -> list[list[tuple[int, int]]]:
    """Find the sentences of texts with the `sentencizer` of spaCy's blank English pipeline.

    It ends a sentence behind `.`, `!`, `?` and their like in other scripts, wherever the tokenizer makes
    them a token of their own, and so needs no model package. The outcome is kept in the cache under the
    texts' checksum and spaCy's version: SQuAD's 20,000 paragraphs take half a minute.

    Args:
        texts: the texts; every distinct one is split once.
        cache_home: the cache folder; None for the user's.

    Returns:
        For every text the begin and end of its sentences, in characters, without the white space around
        them. A text of white space only has none.

    Example:
        >>> split_sentences(["It rains. Does it?"], "/tmp/cache")
        [[(0, 9), (10, 18)]]
    """
    distinct = list(dict.fromkeys(texts))
    key = hashlib.sha256(json.dumps([_FORMAT, version("spacy"), distinct]).encode()).hexdigest()[:32]
    path = cache_folder(cache_home) / "sentences" / f"{key}.npz"
    boundaries = counts = None
    try:
        if path.exists():
            with np.load(path, allow_pickle=False) as file:
                boundaries, counts = file["boundaries"], file["counts"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        warnings.warn(f"{path} is damaged ({error}); it is made anew.", stacklevel=2)
    if counts is None or len(counts) != len(distinct) or int(counts.sum()) != len(boundaries):
        found = _find(distinct)
        boundaries = np.array([pair for pairs in found for pair in pairs], np.int64).reshape(-1, 2)
        counts = np.array([len(pairs) for pairs in found], np.int64)
        try:
            with atomic_write(path, "wb") as file:
                np.savez_compressed(file, boundaries=boundaries, counts=counts)
        except UserError as error:
            warnings.warn(f"not kept for the next run: {error}", stacklevel=2)
    pairs = [(begin, end) for begin, end in boundaries.tolist()]
    ends = np.cumsum(counts).tolist()
    of_text = {
        text: pairs[end - count : end]
        for text, end, count in zip(distinct, ends, counts.tolist(), strict=True)
    }
    return [of_text[text] for text in texts]


def _find(texts: list[str]) -> list[list[tuple[int, int]]]:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = max([pipeline.max_length, *map(len, texts)])
    found = []
    for text, doc in zip(texts, pipeline.pipe(texts), strict=True):
        pairs = []
        for sentence in doc.sents:
            begin, end = sentence.start_char, sentence.end_char
            inner = text[begin:end]
            if inner.strip():
                pairs.append((begin + len(inner) - len(inner.lstrip()), begin + len(inner.rstrip())))
        found.append(pairs)
    return found
