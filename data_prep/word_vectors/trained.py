"""Word vectors trained on a data set's own texts by word2vec."""

import hashlib
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, cache_folder
from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.vocabulary import Tokenizer

# Raise it when the training changes, so that no older vectors are read.
_FORMAT = 1

_DEFAULTS = {"window": 5, "negative": 5, "min_count": 1, "epochs": 5, "sample": 1e-3}


def train_word2vec(
    texts: Dataset | Iterable[Sequence[str]],
    size: int,
    *,
    sg: bool = True,
    seed: int = 0,
    name: str = "",
    lowercase: bool = True,
    mask_numbers: bool = False,
    cache_home: str | Path | None = None,
    **options: float,
) -> str:
    """Train word2vec vectors on texts, or find those that were trained before, and return their file's path.

    gensim trains with one thread, so that the same texts, settings and seed give the same vectors on the same
    machine; on another, sums that are rounded otherwise may give slightly different ones. They are kept under
    the cache directory in word2vec's text form, keyed by everything that they depend on, gensim's version
    included. The path is a source for `load_word_vectors`.

    Args:
        texts: lists of tokens; or a data set, for the distinct questions and candidates of its training
            table. No text of dev or test enters, so that a word that occurs there alone has no vector.
        size: int, dimensions of the vectors.
        sg: bool, skip-gram; otherwise continuous bag of words. Default skip-gram.
        seed: int, of gensim's draws.
        name: str, begins the name under which results show the vectors; "" for the data set's name, or "own".
        lowercase: bool, of a data set's tokens, see `Tokenizer`.
        mask_numbers: bool, of a data set's tokens, see `Tokenizer`.
        cache_home: the cache folder; None for the user's.
        options: other settings of gensim's `Word2Vec`: `window` (default 5), `negative` (5), `min_count` (1),
            `epochs` (5), `sample` (1e-3).

    Raises:
        UserError: a number is out of its range, there are no words, or the file cannot be written.

    Example:
        >>> texts = [["what", "is", "covered"], ["all", "is", "covered"]]
        >>> path = train_word2vec(texts, 10, name="doctest", cache_home="cache")
        >>> Path(path).name
        'doctest-skipgram-10d-seed0.vectors.txt'
    """
    settings = {"vector_size": size, "sg": int(sg), "seed": seed, **_DEFAULTS, **options}
    for option in ("vector_size", "window", "negative", "min_count", "epochs"):
        if settings[option] < 1:
            raise UserError(f"{option.removeprefix('vector_')} must be at least 1, not {settings[option]}.")
    if settings["sample"] < 0:
        raise UserError(f"sample must be at least 0, not {settings['sample']}.")
    if isinstance(texts, Dataset):
        name = name or texts.description.name
        tokenizer = Tokenizer(texts.description.pretokenised, lowercase, mask_numbers)
        texts = tokenizer([*texts.train["question"].unique(), *texts.train["candidate"].unique()])
    # A word that occurs a million times is kept once.
    token_lists = [list(map(sys.intern, tokens)) for tokens in texts]
    file_name = f"{name or 'own'}-{'skipgram' if sg else 'cbow'}-{size}d-seed{seed}.vectors.txt"
    path = cache_folder(cache_home) / "trained" / _key(token_lists, settings) / file_name
    if not path.is_file():
        _train(token_lists, settings, path)
    return str(path)


def _key(token_lists: Sequence[Sequence[str]], settings: dict[str, float]) -> str:
    digest = hashlib.sha256(repr([_FORMAT, version("gensim"), sorted(settings.items())]).encode())
    for tokens in token_lists:
        # Control characters stand in no token of ours; they keep the texts and their tokens apart.
        digest.update("\x1f".join(tokens).encode() + b"\x1e")
    return digest.hexdigest()[:16]


def _train(token_lists: Sequence[Sequence[str]], settings: dict[str, float], path: Path) -> None:
    # Imported here because it takes a second, and only a training needs it.
    from gensim.models import Word2Vec

    start = time.perf_counter()
    # One thread, and a hash of words that does not change from process to process.
    model = Word2Vec(**settings, workers=1, hashfxn=_stable_hash)
    model.build_vocab(token_lists)
    words = [word for word in model.wv.index_to_key if word.strip() and not any(map(str.isspace, word))]
    if not words:
        raise UserError(
            f"there is no word to train vectors for: none occurs {settings['min_count']} times in the "
            f"{len(token_lists)} texts. Give more texts or a smaller min_count."
        )
    n_tokens = sum(map(len, token_lists))
    print(
        f"word2vec: {len(token_lists):,} texts, {n_tokens:,} tokens, {len(words):,} words, "
        f"{settings['epochs']} epochs ...",
        end=" ",
        file=sys.stderr,
        flush=True,
    )
    model.train(token_lists, total_examples=model.corpus_count, epochs=model.epochs)
    with atomic_write(path) as file:
        file.write(f"{len(words)} {model.vector_size}\n")
        for word in words:
            # The shortest digits that give back the very float32.
            file.write(f"{word} {' '.join(map(str, model.wv[word].tolist()))}\n")
    print(f"{time.perf_counter() - start:.1f} s, kept at {path}", file=sys.stderr, flush=True)


def _stable_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")
