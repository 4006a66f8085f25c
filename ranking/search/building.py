"""The steps of building an index; `AnswerIndex` puts them together."""

import re
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow.parquet as pq
from tqdm import tqdm

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, held_folder, refuse_links, remove_leftovers
from answer_ranking.ranking import model_folder
from answer_ranking.ranking.search import ball
from answer_ranking.ranking.search.bm25 import WORDS, write_bm25
from answer_ranking.ranking.search.checked_array import write_sums
from answer_ranking.ranking.search.manifest import OWN, Manifest, name_of, sha256_of_model
from answer_ranking.ranking.search.segments import Part, Segments, atomic_folder, make_segment
from answer_ranking.ranking.search.shards import Shard
from answer_ranking.ranking.search.tasks import PROBED, Model, spread

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker

# What a kill leaves of `atomic_folder` and `copy_model`.
_UNFINISHED = re.compile("[.](model|((bm25|ball)-)?[0-9a-f]{24})[.]part")


def with_rows(folder: Path, manifest: Manifest, shards: Iterable[Shard], ray: Any = None) -> Manifest:
    """Write new rows, and what depends on all rows; gives the manifest of the new state.

    With `ray`, the module, segments are made and quantised in tasks of a cluster (`spread`). Their files come
    back to this machine, so that nothing else needs to see the folder.
    """
    segments = list(manifest.segments)
    waiting: deque[tuple[str, int]] = deque()
    shards = iter(shards)
    first = next(shards)
    model = Model.read(folder / "model") if manifest.model else None
    if model is not None and ray is not None:
        texts = pq.read_table(first.parts[0].content, columns=["candidate"]).column(0)
        model = model.with_probe(texts.slice(0, PROBED).to_pylist())

    def unfinished() -> Iterator[Part]:
        for shard in chain([first], shards):
            bar.total += shard.rows
            for part in shard.parts:
                segments.append((part.name(manifest.model), part.rows))
                if (folder / "segments" / segments[-1][0]).is_dir():
                    bar.update(part.rows)
                else:
                    waiting.append(segments[-1])
                    yield part

    with _bar("answers", "text") as bar:
        for files in spread(make_segment, model, unfinished(), ray):
            name, rows = waiting.popleft()
            with atomic_folder(folder / "segments" / name) as new:
                for file, content in files.items():
                    (new / file).write_bytes(content)
                if model is not None:
                    write_sums(new / "points.npy")
            bar.update(rows)
    manifest = replace(manifest, segments=segments)
    name = name_of(*(name for name, _ in segments))
    bm25 = folder / f"bm25-{name}"
    if not bm25.is_dir():
        with atomic_folder(bm25) as new:
            write_bm25(new, [folder / "segments" / each / WORDS for each, _ in segments])
    manifest = replace(manifest, bm25=bm25.name)
    if manifest.similarity and manifest.rows - manifest.ball_rows > ball.EXACT_UP_TO:
        path = folder / f"ball-{name}"
        if not path.is_dir():
            _quantise(path, Segments(folder, manifest), manifest.similarity, ray)
        manifest = replace(manifest, ball=path.name, ball_rows=manifest.rows)
    return manifest


def _quantise(path: Path, every: Segments, similarity: str, ray: Any) -> None:
    """Quantise all points; what is finished, after a kill, is taken from the folder of the codes."""
    codes = path.with_name(f"{path.name}-codes")
    trained = codes / "trained.npy"
    if not trained.is_file():
        _save(trained, ball.train_quantiser(every, similarity))
    quantiser = _load(trained)
    files = [codes / f"{number}.npy" for number, _ in enumerate(every.blocks())]
    missing = [file for file in files if not file.is_file()]
    blocks = (block for file, block in zip(files, every.blocks(), strict=True) if not file.is_file())
    with _bar("points", "segment", len(missing)) as bar:
        for file, made in zip(
            missing, spread(ball.quantise, (quantiser, similarity), blocks, ray), strict=True
        ):
            _save(file, made)
            bar.update()
    with atomic_folder(path) as new:
        ball.write_quantised(new, quantiser, map(_load, files))


def _save(path: Path, array: np.ndarray) -> None:
    with atomic_write(path, "wb") as file:
        np.save(file, array)


def _load(path: Path) -> np.ndarray:
    try:
        return np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(
            f"{path} is damaged ({error!s:.100}). Delete {path.parent}, then run the same command again."
        ) from error


def _bar(what: str, unit: str, total: int = 0) -> tqdm:
    return tqdm(total=total, desc=what, unit=unit, leave=False, disable=None)


def commit(folder: Path, manifest: Manifest, before: Manifest | None = None) -> None:
    """Replace the manifest, and remove what belongs neither to the new state nor to that before it.

    Somebody may have read the manifest of the state before, and not yet opened its files. What is not called
    as a part of an index is somebody else's, and stays.
    """
    manifest.write(folder)
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
    with held_folder(folder):
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
