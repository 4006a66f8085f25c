"""What is particular about a data set, and where its files are."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        path: its place under the data folder; it may lie there gzipped, with ".gz" behind its name.
        sha256: of the uncompressed content with line feeds as line ends; "" where it is not known.
        bytes: length of that content; 0 where it is not known.
        urls: where it can be downloaded, plain or gzipped, tried in order.
        archives: `.zip` and `.tar.*` archives that hold the same content under some name, tried last.
        variants: the training sets that need it; () for all.
        substitute: another file that serves as well, looked for where this one is absent.
    """

    path: str
    sha256: str = ""
    bytes: int = 0
    urls: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    substitute: "DataFile | None" = None


def known_files(*paths: str) -> tuple[DataFile, ...]:
    """Describe the files of these paths by what `files.toml` knows of them."""
    return tuple(map(_known_file, paths))


def _known_file(path: str) -> DataFile:
    known = _files_toml().get(path, {})
    urls = tuple(known.get("urls", ()))
    if "github" in known:
        urls = (*github_urls(*known["github"]), *urls)
    return DataFile(
        path,
        sha256=known.get("sha256", ""),
        bytes=known.get("bytes", 0),
        urls=urls,
        archives=tuple(known.get("archives", ())),
        variants=tuple(known.get("variants", ())),
        substitute=_known_file(known["substitute"]) if "substitute" in known else None,
    )


@cache
def _files_toml() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("files.toml").read_text(encoding="utf-8"))


def github_urls(repository: str, commit: str, path: str) -> tuple[str, ...]:
    """Give the public addresses of a file of a GitHub repository: two of GitHub's and a mirror's."""
    return (
        f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",
        f"https://cdn.jsdelivr.net/gh/{repository}@{commit}/{path}",
        f"https://github.com/{repository}/raw/{commit}/{path}",
    )


@dataclass(frozen=True)
class DatasetDescription:
    """Everything in which one data set differs from another, so that nothing else asks for its name.

    Attributes:
        name: the name in commands, such as "wikiqa".
        title: the name in print.
        source: where the data come from.
        licence: what their publisher allows.
        variants: training sets to choose from, the default first; ("",) where there is one only.
        protocols: published evaluation protocols and their rules (see `data_prep.tables`), the main one
            first.
        order_is_signal: the order of a question's candidates is the document's own, and a model may use it.
        pretokenised: tokens are separated by white space.
        lists_correct_first: the files list the correct candidates first, so that order gives the label away.
        files: the files of all variants.
        read: makes (train, dev, test), and perhaps a mapping of further test tables, of a variant and of the
            files, a `DataFiles`; called, these give a file's verified text by its path.
        unlabelled_texts: gives, of the training table, a data folder and `lowercase`, lists of tokens to
            train word vectors on and what they are, in words; None where the training set serves.
        notes: what a user of the data has to know, such as parts that are missing; printed with the counts.
    """

    name: str
    title: str
    source: str
    licence: str
    variants: tuple[str, ...] = ("",)
    protocols: Mapping[str, str] = field(default_factory=partial(dict, answerable="answerable"))
    order_is_signal: bool = False
    pretokenised: bool = False
    lists_correct_first: bool = False
    files: tuple[DataFile, ...] = ()
    read: Callable[[str, Any], tuple] = field(default=lambda variant, files: (), repr=False)
    unlabelled_texts: Callable[..., tuple[Iterable[list[str]], str]] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @property
    def order_seed(self) -> int | None:
        """The seed of the order in which a list-wise model sees candidates; None for the document's.

        Where that order is no fair signal, they are shuffled, in the same way in every run.
        """
        return None if self.order_is_signal else 0
