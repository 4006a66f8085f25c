"""The steps of building an index; `AnswerIndex` puts them together."""

import re
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import locked_folder, refuse_links, remove_leftovers
from answer_ranking.data_prep.tables import is_blank
from answer_ranking.ranking import model_folder
from answer_ranking.ranking.search.answers import QUESTION
from answer_ranking.ranking.search.first_stages import entries_of
from answer_ranking.ranking.search.first_stages.protocol import IndexFiles, Texts
from answer_ranking.ranking.search.manifest import BUILDING, OWN, Manifest, name_of, sha256_of_model
from answer_ranking.ranking.search.segments import TEXTS, Part, joined, to_parquet
from answer_ranking.ranking.search.shards import Shard
from answer_ranking.ranking.search.tasks import PROBED, Model, map_items
from answer_ranking.ranking.search.writing import atomic_folder, progress

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker

# What a kill leaves of `atomic_folder` and `copy_model`.
_STAGE = re.compile("[a-z0-9]+-[0-9a-f]{24}")
_UNFINISHED = re.compile("[.](model|([a-z0-9]+-)?[0-9a-f]{24})[.]part")


def with_rows(
    folder: Path,
    manifest: Manifest,
    shards: Iterable[Shard],
    ray: Any = None,
    ranker: "Ranker | None" = None,
) -> Manifest:
    """Write new rows, and what depends on all rows; gives the manifest of the new state.

    With `ray`, the module, segments are made and quantised in tasks of a cluster (`map_items`). Their files
    come back to this machine, so that nothing else needs to see the folder. `ranker` is the index's model,
    where it is loaded already.
    """
    shards = iter(shards)
    first = next(shards)
    model = _model(folder, manifest, first, ray, ranker)
    segments = [*manifest.segments, *_write_segments(folder, manifest, chain([first], shards), model, ray)]
    manifest = replace(manifest, segments=segments)
    name = name_of(*(segment for segment, _ in segments))
    stages = dict(manifest.stages)
    files = IndexFiles(folder, manifest, partial(load, folder / "model"))
    for entry in entries_of(manifest.first_stages):
        made = entry.load().build(files, name, ray)
        if made is not None:
            others = {stage.folder for other, stage in stages.items() if other != entry.name}
            if not _STAGE.fullmatch(made.folder) or made.folder in others:
                raise RuntimeError(
                    f"the first stage {entry.name!r} must give its folder a name of its own: small letters "
                    f"and digits, and then -{name}. Received: {made.folder}"
                )
            stages[entry.name] = made
    return replace(manifest, stages=stages)


def _write_segments(
    folder: Path, manifest: Manifest, shards: Iterable[Shard], model: Model | None, ray: Any
) -> list[tuple[str, int]]:
    """Write the rows of tables, and give the names of their segments, and how many rows each has."""
    segments: list[tuple[str, int]] = []
    waiting: deque[tuple[str, int]] = deque()

    def unfinished() -> Iterator[Part]:
        for shard in shards:
            bar.total += shard.rows
            for part in shard.parts:
                name = part.name(manifest)
                segments.append((name, part.rows))
                if (folder / "segments" / name).is_dir():
                    bar.update(part.rows)
                else:
                    waiting.append((name, part.rows))
                    yield part

    shared = (model, manifest)
    with progress("answers", "text") as bar:
        for files in map_items(make_segment, shared, unfinished(), ray):
            name, rows = waiting.popleft()
            with atomic_folder(folder / "segments" / name) as new:
                for file, content in files.items():
                    (new / file).write_bytes(content)
            bar.update(rows)
    return segments


def _model(folder: Path, manifest: Manifest, first: Shard, ray: Any, ranker: "Ranker | None") -> Model | None:
    """Read the model; as it is sent to other machines, with points to compare theirs with."""
    if not manifest.model:
        return None
    if ray is None:
        return Model.read(folder / "model", ranker)
    model = Model.read(folder / "model")
    texts = pq.read_table(first.parts[0].content, columns=["candidate"]).column(0)
    return model.with_probe(texts.slice(0, PROBED).to_pylist())


def make_segment(shared: tuple[Model | None, Manifest], part: Part) -> dict[str, pa.Buffer]:
    """Make the files of a segment: its texts, and what each first stage keeps of them."""
    model, manifest = shared
    rows = part.table()
    answers = rows["candidate"].to_pylist()
    asked = rows[QUESTION].to_pylist() if QUESTION in rows.column_names else answers
    questions = []
    for question, answer in zip(asked, answers, strict=True):
        questions.append(answer if question is None or is_blank(str(question)) else question)
    texts = Texts(answers, questions, joined(rows.select(manifest.searched)), manifest.words)
    files = {TEXTS: to_parquet(rows) if part.shift else part.content}
    for entry in entries_of(manifest.first_stages):
        files |= entry.load().encode(texts, model)
    return files


def commit(folder: Path, manifest: Manifest, before: Manifest | None = None) -> None:
    """Replace the manifest, and remove what belongs neither to the new state nor to that before it.

    Somebody may have read the manifest of the state before, and not yet opened its files. What is not called
    as a part of an index is somebody else's, and stays.
    """
    manifest.write(folder)
    # An addition to an index whose build was killed just here ends the build.
    (folder / BUILDING).unlink(missing_ok=True)
    needed = manifest.parts | (before.parts if before else set())
    for path in (*folder.glob("*"), *folder.glob("segments/*")):
        name = path.relative_to(folder).as_posix()
        if OWN.fullmatch(name) and name not in needed:
            with suppress(OSError):  # Windows keeps a file that somebody has open.
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of an index; a UserError says that the disk is full."""
    refuse_links(folder)
    with locked_folder(folder):
        try:
            for path in (*folder.glob(".*.part"), *folder.glob("segments/.*.part")):
                if _UNFINISHED.fullmatch(path.name):
                    shutil.rmtree(path)
            remove_leftovers(folder)
            yield
        except OSError as error:
            raise UserError(
                f"cannot write to {folder}: {error.strerror or error}. Free space, then try again."
            ) from error


def copy_model(ranker: "Ranker | str | Path | None", folder: Path) -> str:
    """Put a model into an index, in the place of another one; gives its hash."""
    part = folder.with_name(".model.part")
    shutil.rmtree(part, ignore_errors=True)
    if ranker is None:
        shutil.rmtree(folder, ignore_errors=True)
        return ""
    if isinstance(ranker, (str, Path)):
        part.mkdir()
        model_folder.copy(model_folder.find_model(ranker), part)
    else:
        ranker.save(part)
    sha256 = sha256_of_model(part)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return sha256


def load(folder: Path) -> "Ranker":
    """Load a ranker, whose module takes longer to import than most commands to run."""
    from answer_ranking.ranking.ranker import Ranker

    return Ranker.load(folder)
