"""The steps of building an index; `AnswerIndex` puts them together."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

import pyarrow as pa
from tqdm import tqdm

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import held_folder, remove_leftovers
from answer_ranking.ranking.model_folder import find_model
from answer_ranking.ranking.search import ball
from answer_ranking.ranking.search.bm25 import write_bm25
from answer_ranking.ranking.search.manifest import Manifest, name_of, sha256_of_model
from answer_ranking.ranking.search.segments import Segments, atomic_folder, write_segment

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker


def with_rows(
    folder: Path, manifest: Manifest, rows: pa.Table, ranker: "Ranker | None", chunk_rows: int
) -> Manifest:
    """Write new rows, and what depends on all rows; gives the manifest of the new state."""
    encode = ranker.encode_document if ranker is not None else None
    segments = list(manifest.segments)
    with tqdm(total=len(rows), desc="answers", unit="text", leave=False, disable=None) as bar:
        for start in range(0, len(rows), chunk_rows):
            chunk = rows.slice(start, chunk_rows)
            segments.append(write_segment(folder, chunk, manifest.model, encode))
            bar.update(len(chunk))
    manifest = replace(manifest, segments=segments)
    name = name_of(*(name for name, _ in segments))
    every = Segments(folder, manifest)
    bm25 = folder / f"bm25-{name}"
    if not bm25.is_dir():
        with (
            tqdm(desc="words", total=len(every), unit="text", leave=False, disable=None) as bar,
            atomic_folder(bm25) as part,
        ):
            write_bm25(part, _counted(every.texts(), bar))
    manifest = replace(manifest, bm25=bm25.name)
    if manifest.similarity and manifest.rows - manifest.ball_rows > ball.EXACT_UP_TO:
        path = folder / f"ball-{name}"
        if not path.is_dir():
            with atomic_folder(path) as part:
                ball.write_quantised(part, every, manifest.similarity)
        manifest = replace(manifest, ball=path.name, ball_rows=manifest.rows)
    return manifest


def _counted(parts: Iterator[list[str]], bar: tqdm) -> Iterator[list[str]]:
    for part in parts:
        yield part
        bar.update(len(part))


def commit(folder: Path, manifest: Manifest, before: Manifest | None = None) -> None:
    """Replace the manifest, and remove what belongs neither to the new state nor to that before it.

    Somebody may have read the manifest of the state before, and not yet opened its files.
    """
    manifest.write(folder)
    needed = manifest.parts | (before.parts if before else set())
    for path in (*folder.glob("*"), *folder.glob("segments/.*"), *folder.glob("segments/*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(("segments/", "bm25-", "ball-", "deleted-")) and name not in needed:
            with suppress(OSError):  # Windows keeps a file that somebody has open.
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of an index; a UserError says that the disk is full."""
    with held_folder(folder):
        try:
            for path in folder.glob(".*.part"):
                if path.is_dir():
                    shutil.rmtree(path)
            remove_leftovers(folder)
            yield
        except OSError as error:
            raise UserError(
                f"cannot write to {folder}: {error.strerror or error}. Free space, then try again."
            ) from error


def copy_model(ranker: "Ranker | str | Path | None", folder: Path) -> str:
    """Put a model into an index, unless it is there already; gives its hash."""
    if ranker is None:
        return ""
    part = folder.with_name(".model.part")
    shutil.rmtree(part, ignore_errors=True)
    if isinstance(ranker, (str, Path)):
        load(Path(ranker))  # Says what is wrong with it.
        part.mkdir()
        for path in find_model(ranker).iterdir():
            if path.is_file():
                shutil.copy(path, part)
    else:
        ranker.save(part)
    sha256 = sha256_of_model(part)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return sha256


def similarity(model: Path) -> str:
    """Say what a saved model compares its points by."""
    path = model / "ranker.keras"
    try:
        with ZipFile(path) as archive:
            config = archive.read("config.json")
    except (OSError, KeyError, BadZipFile) as error:
        raise UserError(f"{path} cannot be read ({error!s:.100}). Train the model again.") from error
    return "hyperbolic" if b'"HyperbolicDistance"' in config else "cosine"


def load(folder: Path) -> "Ranker":
    from answer_ranking.ranking.ranker import Ranker

    return Ranker.load(folder)
