"""Data transfer to the nodes of a cluster: folders by their path, or sent once to each node."""

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import cache_folder, locked_folder

HOMES = ("QA_DATA_HOME", "QA_EMBEDDINGS_HOME")
_MOST = 2**31


@dataclass(frozen=True)
class SentFolder:
    """A folder that tasks read: its path on the driver, its files' hash, and its content in Ray's store."""

    path: str
    sha256: str
    content: Any


def send_homes(ray: Any) -> dict[str, SentFolder]:
    """Put the folders that the environment names into Ray's object store, by the variables' names.

    A UserError says that a folder is too large for that.
    """
    sent = {}
    for name in HOMES:
        if not os.environ.get(name):
            continue
        folder = Path(os.environ[name]).resolve()
        files = _files(folder)
        if sum(each.stat().st_size for each in files) > _MOST:
            raise UserError(
                f"{name}={folder} is larger than {_MOST / 2**30:.0f} GB. Leave in it what the "
                "experiments read, or fetch the data on every node and unset the variable."
            )
        # In a list, so that a node fetches the content only where it needs it.
        sent[name] = SentFolder(str(folder), fingerprint(folder), [ray.put(pack(folder, files))])
    return sent


def local_homes(sent: dict[str, SentFolder]) -> dict[str, str]:
    """Give the folders on this node: the same path where its files are the same, else a copy in the cache."""
    return {name: str(_local(each)) for name, each in sent.items()}


def _local(home: SentFolder) -> Path:
    if Path(home.path).is_dir() and fingerprint(Path(home.path)) == home.sha256:
        return Path(home.path)
    import ray

    copy = cache_folder() / "sent" / home.sha256[:24]
    with locked_folder(copy):
        files = copy / "files"
        if not files.is_dir() or fingerprint(files) != home.sha256:
            part = copy / "part"
            for old in (files, part):
                shutil.rmtree(old, ignore_errors=True)
            with tarfile.open(fileobj=io.BytesIO(ray.get(home.content[0]))) as archive:
                archive.extractall(part, filter="data")
            if fingerprint(part) != home.sha256:
                raise UserError(f"{part} is not what was sent. Remove it, and start the task again.")
            part.rename(files)
    return files


def fingerprint(folder: Path) -> str:
    """Hash the names and contents of a folder's files."""
    digest = hashlib.sha256()
    for path in _files(folder):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def pack(folder: Path, files: Iterable[Path], below: str = "") -> bytes:
    """Pack files of a folder as a tar archive, under their names in the folder, or in `below`."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path in sorted(files):
            archive.add(path, Path(below, path.relative_to(folder)).as_posix())
    return content.getvalue()


def packed_size(content: bytes) -> int:
    """Sum up the sizes of packed files."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return sum(member.size for member in archive)
