"""From paragraphs to sentences."""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path

import numpy as np

from answer_ranking.base.files import cache_folder, cached_arrays

# Raise it when the rule below changes, so that no older cache is read.
_FORMAT = 2


def split_sentences(
    texts: Sequence[str], cache_home: str | Path | None = None
) -> list[list[tuple[int, int]]]:
    """Find the sentences of texts with the `sentencizer` of spaCy's blank English pipeline.

    It ends a sentence behind `.`, `!`, `?` and their like in other scripts, wherever the tokenizer makes
    them a token of their own, and so needs no model package. The outcome is kept in the cache under the
    texts' checksum and spaCy's version: SQuAD's 20,000 paragraphs take half a minute.

    Returns, for every text, the begin and end of its sentences in characters, without the white space around
    them. A text of white space only has none.
    """
    distinct = list(dict.fromkeys(texts))
    key = hashlib.sha256(json.dumps([_FORMAT, version("spacy"), distinct]).encode()).hexdigest()[:32]
    path = cache_folder(cache_home) / "sentences" / f"{key}.npz"

    def make() -> dict[str, np.ndarray]:
        found = _find(distinct)
        boundaries = np.array(list(chain.from_iterable(found)), np.int64).reshape(-1, 2)
        return {"boundaries": boundaries, "counts": np.array(list(map(len, found)), np.int64)}

    def restore(arrays: dict[str, np.ndarray]) -> dict[str, list[tuple[int, int]]]:
        pairs = map(tuple, arrays["boundaries"].tolist())
        counts = arrays["counts"].tolist()
        return {text: list(islice(pairs, n)) for text, n in zip(distinct, counts, strict=True)}

    of_text = cached_arrays(path, make, restore)
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
