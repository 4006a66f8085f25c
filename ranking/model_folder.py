"""What a ranker's folder holds: a Keras model in its file, bound to the vocabulary beside it."""

import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_path, atomic_write, refuse_links, remove_leftovers
from answer_ranking.data_prep.word_vectors.encoder_folder import WEIGHTS, is_encoder
from answer_ranking.models.catalogue import CATALOGUE, recognise
from answer_ranking.ranking.numpy_hyperqa import NumpyHyperQA, layer_configs

if TYPE_CHECKING:
    import keras

MODEL, WORDS = "ranker.keras", "vocabulary.json"
"""The two files of a ranker's folder."""
_CARDS = ("card.json", "card.md")
_WAITING = "vocabulary.*.json"
"""A vocabulary that `save` wrote, under its hash, and has not yet put in the place of the old one."""
_VOCABULARY_HASH = "vocabulary.sha256"
"""The part of a model's file that holds the SHA-256 of the `vocabulary.json` with which it was saved."""
_LONGEST_CONFIG = 1_000_000  # bytes; a paper's model has some ten thousand


PRESETS = Path(__file__).with_name("presets")
"""The folder of the rankers that come with the package."""


def preset_names() -> list[str]:
    """Give the names of the rankers that come with the package."""
    return sorted(path.parent.name for path in PRESETS.glob("*/ranker.keras"))


def find_preset(name: str) -> Path:
    """Give the folder of a preset; a UserError lists the names."""
    if name not in preset_names():
        raise UserError(f"there is no preset {name!r}: choose one of {', '.join(preset_names())}.")
    return PRESETS / name


def find_model(model: str | Path) -> Path:
    """Give a ranker's folder by its path or, where there is no such folder, by the name of a preset.

    A UserError says what is missing in it, or that it holds a link.
    """
    names = preset_names()
    folder = PRESETS / model if str(model) in names and not Path(model).is_dir() else Path(model)
    for path in (vocabulary_file(folder), folder / MODEL):
        if not path.is_file():
            raise UserError(
                f"cannot read {path}. MODEL must be the model/ folder that a training left, one of the "
                f"presets {', '.join(names)}, or an encoder such as minilm."
            )
    refuse_links(folder)
    return folder


def names_encoder(source: str | Path, embeddings_home: str | Path | None = None) -> bool:
    """Say whether an encoder is named, and neither a saved ranker nor a preset."""
    folder = Path(source)
    if folder.is_dir():
        return (folder / WEIGHTS).is_file()
    return str(source) not in preset_names() and is_encoder(str(source), embeddings_home)


def vocabulary_file(folder: Path) -> Path:
    """Give the file of the words of the model there: vocabulary.json, but where a save was killed."""
    waiting = set(folder.glob(_WAITING))
    if waiting:
        beside = folder / f"vocabulary.{_hash_in(folder / MODEL)}.json"
        if beside in waiting:
            return beside
    return folder / WORDS


def _hash_in(path: Path) -> str:
    with reading(path), ZipFile(path) as archive:
        if archive.getinfo(_VOCABULARY_HASH).file_size != hashlib.sha256().digest_size * 2:
            raise ValueError("what binds it to its vocabulary is not a hash")
        return archive.read(_VOCABULARY_HASH).decode()


def save(folder: Path, model: "keras.Model | Path", vocabulary: bytes) -> None:
    """Write a model, or copy that of another file, and its vocabulary; a kill leaves the old or the new one.

    The words wait under their hash, which the model's file holds: the moment at which that file takes its
    place is the moment at which the new model counts.
    """
    waiting = folder / f"vocabulary.{hashlib.sha256(vocabulary).hexdigest()}.json"
    _write(waiting, vocabulary)
    with atomic_path(folder / MODEL) as temporary:
        write_model(temporary, model, vocabulary)
    _write(folder / WORDS, vocabulary)
    for path in folder.glob(_WAITING):
        path.unlink(missing_ok=True)
    remove_leftovers(folder)


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path, "wb") as file:
        file.write(content)


def copy(source: Path, target: Path) -> None:
    """Copy a ranker's files and its cards into a folder, and nothing that else lies beside them."""
    shutil.copy(vocabulary_file(source), target / WORDS)
    for name in (MODEL, *_CARDS):
        if (source / name).is_file():
            shutil.copy(source / name, target / name)


def write_model(path: Path, model: "keras.Model | Path", vocabulary: bytes) -> None:
    """Write a Keras model, or copy that of another file, and bind it to a vocabulary's file."""
    if isinstance(model, Path):
        with reading(model), ZipFile(model) as old, ZipFile(path, "w") as new:
            for name in old.namelist():
                if name != _VOCABULARY_HASH:
                    new.writestr(name, old.read(name))
    else:
        model.save(path)
    with ZipFile(path, "a") as archive:
        archive.writestr(_VOCABULARY_HASH, hashlib.sha256(vocabulary).hexdigest())


def read_model(path: Path, vocabulary: bytes, kind: str | None) -> "tuple[NumpyHyperQA | keras.Model, str]":
    """Read a model that `write_model` wrote, for NumPy or by Keras, and its name in the catalogue.

    `kind` is the name that the folder states, None for a folder of before version 0.2. A UserError names a
    file that is damaged or was saved with another vocabulary.
    """
    with reading(path):
        with ZipFile(path) as archive:
            config = _checked_config(path, archive, vocabulary)
            found = recognise(config)
            kind = found if kind is None else kind
            # A name of somebody else's catalogue has no entry here: Keras reads the model.
            entry = CATALOGUE.get(kind)
            if found and entry is not None and entry.network != CATALOGUE[found].network:
                raise ValueError(f"it is a model {found!r}, and its folder says {kind!r}")
            if entry is not None and entry.by_numpy:
                model = NumpyHyperQA.from_config(config, _weights(path, archive, config))
                if model is not None:
                    return model, kind
        return _keras_model(path, config), kind


def read_keras_model(path: Path, vocabulary: bytes) -> "keras.Model":
    """Read a model that `write_model` wrote by Keras, whatever its kind; a UserError as of `read_model`."""
    with reading(path):
        with ZipFile(path) as archive:
            config = _checked_config(path, archive, vocabulary)
        return _keras_model(path, config)


def _checked_config(path: Path, archive: ZipFile, vocabulary: bytes) -> dict[str, Any]:
    """Read a model's config; a ValueError says that the file has another vocabulary, or is no model.

    Its weights lie in its file uncompressed, so that a file cannot ask for much more memory than its size.
    """
    import h5py

    size = path.stat().st_size
    members = {member.filename: member.file_size for member in archive.infolist()}
    if sum(members.values()) > size or members["config.json"] > _LONGEST_CONFIG:
        raise ValueError("its parts are larger than a model's")
    if archive.read(_VOCABULARY_HASH).decode() != hashlib.sha256(vocabulary).hexdigest():
        raise ValueError("the vocabulary beside it is not its own")
    config = json.loads(archive.read("config.json"))
    stored: list[int] = []
    with archive.open("model.weights.h5") as part, h5py.File(part) as weights:
        weights.visititems(lambda name, item: stored.append(getattr(item, "nbytes", 0)))
    if sum(stored) > size:
        raise ValueError("its weights are larger than the file")
    return config


def _weights(path: Path, archive: ZipFile, config: dict[str, Any]) -> dict[str, list[np.ndarray]]:
    """Read the weights of a HyperQA's layers by the layers' names; a ValueError says what is wrong."""
    import h5py

    table = layer_configs(config)["word_vectors"]
    if 4 * table.get("input_dim", 2) * table["output_dim"] > path.stat().st_size:
        raise ValueError("its weights are larger than the file")
    weights: dict[str, list[np.ndarray]] = {}

    def visit(name: str, item: Any) -> None:
        # Links are not followed, and what lies in another file is not the model's.
        if isinstance(item, h5py.Dataset) and "/vars/" in name:
            if item.dtype != np.float32 or item.is_virtual or item.external:
                raise ValueError("a weight is not float32")
            weights.setdefault(str(item.parent.attrs["name"]), []).append(item[()])

    # Read whole, so that zipfile compares its check sum.
    with h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as file:
        file.visititems(visit)
    if not all(np.isfinite(each).all() for each in chain(*weights.values())):
        raise ValueError("a weight is not finite")
    return weights


def _keras_model(path: Path, config: dict[str, Any]) -> "keras.Model":
    import keras
    import tensorflow as tf

    # They register the classes that the file names.
    import answer_ranking.layers
    import answer_ranking.models.encodings
    import answer_ranking.models.networks  # noqa: F401

    # Built in a graph that never runs, it takes no memory.
    with tf.Graph().as_default(), keras.StatelessScope():
        n_weights = keras.saving.deserialize_keras_object(config).count_params()
    if 4 * n_weights > path.stat().st_size:
        raise ValueError("its weights are larger than the file")
    model = keras.models.load_model(path, compile=False)
    types = {str(v.dtype) for v in model.weights} | {layer.compute_dtype for layer in model.layers}
    if "float16" in types:  # In which no ranker is trained: its scores would be others.
        raise ValueError("it is in float16")
    if not all(np.isfinite(weight).all() for weight in model.get_weights()):
        raise ValueError("a weight is not finite")
    return model


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever is raised while a file is read into a UserError that names it."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    # A damaged file makes Keras, HDF5 and TensorFlow raise almost anything.
    except Exception as error:
        what = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read ({what:.300}). Train the model again.") from error
