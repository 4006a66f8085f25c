"""What an index consists of, and whether its files are still those that were written."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from answer_ranking.base.errors import DamagedFileError, UserError
from answer_ranking.base.files import atomic_write, read_content, refuse_links
from answer_ranking.ranking.search.confidence import Confidence
from answer_ranking.ranking.search.first_stages import features_of, parts_of
from answer_ranking.ranking.search.first_stages.word_options import WordOptions

NAME, BUILDING = "manifest.json", "building"
FORMAT = 5
UNREADABLE: tuple[type[Exception], ...] = (
    *(OSError, EOFError, BadZipFile, RecursionError),
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError),
)
"""What Python and NumPy raise for files, and for numbers, that are none of an index."""
_WHOLE, _END = 2**20, 2**18  # bytes: files up to the first are read whole, of larger ones both ends
_MOST_ROWS = 2**40
# The files and folders of an index, which are called by what `name_of` gives.
OWN = re.compile("segments/[0-9a-f]{24}|[a-z0-9]+-[0-9a-f]{24}(-codes)?|deleted-[0-9a-f]{24}[.]npy")
_BELOW = re.compile("(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
_WRONG = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)
_NEW_IN_FORMAT_5: dict[str, Any] = {
    "words": {"stemmer": "", "stop_words": []},
    "passage_length": 0,
    "default_stage": "",
    "confidence": None,
}
_AGAIN = "Build the index again: answer-ranking index ANSWERS --model MODEL --output INDEX."


class StageFolder(NamedTuple):
    """What a first stage wrote for all rows."""

    folder: str
    rows: int
    """How many rows it holds: the first ones."""


@dataclass(frozen=True)
class Manifest:
    """The parts of an index, in one small file that is replaced at once: whoever reads it sees one state.

    Paths are relative to the index and have forward slashes. What they name never changes: an addition
    writes new files and then a new manifest.

    Example:
        >>> Manifest(segments=[("a", 3), ("b", 2)]).rows
        5
    """

    segments: list[tuple[str, int]]
    """The folders of texts and points below `segments/`, in order, and how many rows each has."""
    model: str = ""
    """SHA-256 of the model's files; empty without a model."""
    similarity: str = ""
    """Of two points: "hyperbolic", "cosine", or empty without a model."""
    columns: list[str] = field(default_factory=list)
    """The columns beside `candidate_id` and `candidate`."""
    searched: list[str] = field(default_factory=lambda: ["candidate"])
    """The columns in which a question's words are looked for."""
    first_stages: list[str] = field(default_factory=lambda: ["bm25"])
    """The first stages that it has."""
    words: WordOptions = field(default_factory=WordOptions)
    """How BM25 makes words of a text."""
    passage_length: int = 0
    """The most characters of a passage, of which an answer may have several rows; 0 for whole answers."""
    default_stage: str = ""
    """The first stage, or the fusion, of a search that names none; empty for `choices_of`'s first."""
    confidence: Confidence | None = None
    """How sure an answer is; None where nothing was learnt about it."""
    stages: dict[str, StageFolder] = field(default_factory=dict)
    """By the name of a first stage, its folder, where it has one."""
    deleted: str = ""
    """The file of the numbers of deleted rows; empty where there are none."""
    n_deleted: int = 0
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The size in bytes and the fingerprint of every file."""
    package: str = field(default_factory=lambda: version("answer-ranking"))

    @property
    def rows(self) -> int:
        """How many rows there are, deleted ones included."""
        return sum(rows for _, rows in self.segments)

    @property
    def parts(self) -> set[str]:
        """The files and folders of this state."""
        named = {self.deleted, "model" if self.model else ""}
        named.update(stage.folder for stage in self.stages.values())
        named.update(f"segments/{name}" for name, _ in self.segments)
        return named - {""}

    def write(self, folder: Path) -> None:
        """Replace the manifest of an index by this one, with fingerprints of the files as they are now."""
        prints = {}
        for part in sorted(self.parts):
            for path in _files(folder / part):
                prints[path.relative_to(folder).as_posix()] = _fingerprint(path)
        facts = {"format": FORMAT, **asdict(self), "files": prints}
        signed = {**facts, "sha256": _sha256_of(facts)}
        with atomic_write(folder / NAME) as file:
            json.dump(signed, file, indent=1, ensure_ascii=False)

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read the manifest of an index; a UserError says that there is none, or that it cannot be used."""
        path = folder / NAME
        if not path.is_file():
            if (folder / BUILDING).is_file():
                raise UserError(
                    f"{folder} is not finished. Run the command that builds it again: it goes on."
                )
            raise UserError(
                f"{folder} is not an index: it has no {NAME}. Check the path, or copy the whole folder."
            )
        content = read_content(path)
        try:
            facts = json.loads(content)
            sha256 = facts.pop("sha256")
            if facts["format"] not in (2, 3, 4, FORMAT):
                raise UserError(
                    f"{folder} was made by answer-ranking {facts['package']:.40} in format "
                    f"{facts['format']}; this version reads format {FORMAT}. {_AGAIN}"
                )
            if sha256 != _sha256_of(facts):
                raise ValueError("it is not what was written")
            found = facts.pop("format")
            if found == 2:
                facts = _of_format_2(facts)
            if found < 4:
                facts = _of_format_3(facts)
            if found < FORMAT:
                facts = {**_NEW_IN_FORMAT_5, **facts}
            manifest = cls(**_checked(facts))
            manifest.check_names()
            manifest.check_choices()
        except _WRONG as error:
            raise UserError(f"{path} is damaged ({error!s:.100}). {_AGAIN}") from error
        refuse_links(folder)
        return manifest

    def check_names(self) -> None:
        """Raise a ValueError if a name is not one of those that an index gives.

        Whoever wrote the manifest must not lead a reader, or an addition, out of the index's folder.
        """
        for part in self.parts - {"model"}:
            if not OWN.fullmatch(part):
                raise ValueError(f"it names {part!r:.60}, which is not a part of an index")
        parts = self.parts
        for name in self.files:
            if not any(_is_below(name, part) for part in parts):
                raise ValueError(f"it names {name!r:.60}, which is not a file of an index")

    def check_choices(self) -> None:
        """Raise a ValueError if the default or the confidence asks a first stage that the index has not."""
        asked = parts_of(self.default_stage) if self.default_stage else []
        if lacking := set(asked) - set(self.first_stages):
            raise ValueError(f"default_stage asks {min(lacking)!r:.40}, not a first stage of the index")
        if self.confidence is not None:
            lacking = set(self.confidence.features) - set(features_of(self.first_stages))
            if lacking:
                raise ValueError(f"confidence asks {min(lacking)!r:.40}, which no first stage tells")

    def check(self, folder: Path) -> None:
        """Compare all files with what was written; a UserError names the first that is missing or damaged.

        Of a file above a megabyte, the size and both ends are compared here, and its blocks when they are
        first read: by `CheckedArray`, or by the check sums that pages of Parquet and parts of .npz have.
        """
        for name, (size, print_) in self.files.items():
            path = folder / name
            if not path.is_file():
                raise UserError(f"{path} is missing: {folder} is half copied. Copy it again, or: {_AGAIN}")
            if [size, print_] != list(_fingerprint(path)):
                raise UserError(f"{path} is damaged: it is not what was written. {_AGAIN}")


def _of_format_2(facts: dict[str, Any]) -> dict[str, Any]:
    """Rewrite what versions up to 0.1 wrote, where `nearest` was called `ball`."""
    facts = dict(facts)
    n_rows = 0
    for _, rows in _list(facts["segments"]):
        n_rows += _count(rows)
    facts["stages"] = {"bm25": [facts.pop("bm25"), n_rows]}
    ball, rows = facts.pop("ball"), facts.pop("ball_rows")
    if ball:
        facts["stages"]["nearest"] = [ball, rows]
    names = _list(facts["first_stages"])
    facts["first_stages"] = ["nearest" if name == "ball" else name for name in names]
    return facts


def _of_format_3(facts: dict[str, Any]) -> dict[str, Any]:
    """Rewrite what was written when answers alone were searched, and `both` was a first stage."""
    names = [name for name in _list(facts["first_stages"]) if name != "both"]
    return {**facts, "first_stages": names, "searched": ["candidate"]}


def _checked(facts: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of a manifest; raises one of `_WRONG` where a value is of another type or out of range.

    Whoever can compute the hash may have written anything.
    """
    fields: dict[str, Any] = {"passage_length": _count(facts["passage_length"])}
    stemmer, stop_words = _text(facts["words"]["stemmer"]), _list(facts["words"]["stop_words"])
    fields["words"] = WordOptions(stemmer, tuple(map(_text, stop_words)))
    fields["n_deleted"] = _count(facts["n_deleted"])
    for name in ("model", "similarity", "default_stage", "deleted", "package"):
        fields[name] = _text(facts[name])
    for name in ("columns", "searched", "first_stages"):
        fields[name] = list(map(_text, _list(facts[name])))
    n_rows, n_within = 0, [fields["n_deleted"]]
    fields["segments"], fields["stages"], fields["files"] = [], {}, {}
    for name, rows in _list(facts["segments"]):
        fields["segments"].append((_text(name), _count(rows)))
        n_rows += rows
    for name, (folder, rows) in facts["stages"].items():
        fields["stages"][name] = StageFolder(_text(folder), _count(rows))
        n_within.append(rows)
    for name, (size, print_) in facts["files"].items():
        fields["files"][name] = (_count(size), _text(print_))
    confidence = facts["confidence"]
    fields["confidence"] = None if confidence is None else Confidence.read(confidence)
    if unknown := facts.keys() - fields.keys():
        raise ValueError(f"it has the unknown field {min(unknown)!r:.40}")
    if not 0 < n_rows <= _MOST_ROWS or max(n_within) > n_rows:
        raise ValueError(f"it counts {n_rows:,} rows, and {max(n_within):,} of them")
    if fields["similarity"] not in ("", "hyperbolic", "cosine"):
        raise ValueError("its similarity is none that an index has")
    if not fields["first_stages"]:
        raise ValueError("it has no first stage")
    if not fields["searched"] or not {"candidate", *fields["columns"]}.issuperset(fields["searched"]):
        raise ValueError("what it searches are not columns of its own")
    return fields


def _is_below(name: str, part: str) -> bool:
    return name.startswith(part) and bool(_BELOW.fullmatch(name[len(part) :]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a text")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.40} is not a number of rows or bytes")
    return value


def _list(value: Any) -> list:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is not a list")
    return value


def damaged(path: Path, error: Exception) -> DamagedFileError:
    """Make the error for a file that cannot be read although its fingerprint is right."""
    said = " ".join(str(error).split())  # pyarrow's go over several lines
    return DamagedFileError(f"{path} is damaged ({said:.100}). {_AGAIN}")


@contextmanager
def reading(path: Path, *further: type[Exception]) -> Iterator[None]:
    """Name the file, or its folder, where what is read of it is not an index's."""
    try:
        yield
    except (*UNREADABLE, *further) as error:
        raise damaged(path, error) from error


def sha256_of_model(folder: Path) -> str:
    """Hash a model's files; the day on which Keras saved them, which is in its archive, does not count."""
    digest = hashlib.sha256()
    for path in _files(folder):
        digest.update(path.relative_to(folder).as_posix().encode())
        try:
            with ZipFile(path) as archive:
                for name in sorted(archive.namelist()):
                    if name != "metadata.json":
                        digest.update(name.encode() + archive.read(name))
        except BadZipFile:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def name_of(*parts: str) -> str:
    """Give a name that depends on the parts and on nothing else."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file())


def _fingerprint(path: Path) -> tuple[int, str]:
    size = path.stat().st_size
    with path.open("rb") as file:
        # A damaged file could end the process inside faiss, which checks nothing: it is read whole.
        if size <= _WHOLE or path.suffix == ".faiss":
            return size, hashlib.file_digest(file, "sha256").hexdigest()
        content = file.read(_END)
        file.seek(-_END, 2)
        return size, hashlib.sha256(content + file.read(_END)).hexdigest()


def _sha256_of(facts: dict) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
