"""What is particular about one data set, stated in one place."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        path: its place under the data folder, such as "wikiqa/WikiQA-dev.tsv"; it may lie there gzipped, with
            ".gz" behind its name.
        sha256: of the uncompressed content with line feeds as line ends; "" where the released file was not
            at hand when its reader was written, so that its content is checked by the reader only.
        bytes: length of that content; 0 where it is not known.
        urls: where it can be downloaded, plain or gzipped, tried in order. Without an address the user has to
            put it there.
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


@dataclass(frozen=True)
class DatasetDescription:
    """Everything in which one data set differs from another, so that nothing else asks for its name.

    Attributes:
        name: the name in commands, such as "wikiqa".
        title: the name in print.
        variants: training sets to choose from, the default first; ("",) where there is one only.
        protocols: published evaluation protocols and their rules (see `data_prep.protocols`), the main one
            first.
        order_is_signal: the order of a question's candidates is the document's own, and a model may use it.
        pretokenised: tokens are separated by white space.
        lists_correct_first: the files list the correct candidates first, so that order gives the label away.
        source: where the data come from.
        licence: what their publisher allows.
        files: the files of all variants.
        read: makes (train, dev, test) of a variant and of the files, a `DataFiles`; called, these give a
            file's verified text by its path. Behind the three may stand a mapping of further test tables, see
            `Dataset`.
        unlabelled_texts: gives, of a variant, a data folder and `lowercase`, lists of tokens to train word
            vectors on and what they are, in words; None where the training set serves.
        notes: what a user of the data has to know, such as parts that are missing; printed with the counts.
    """

    name: str
    title: str
    variants: tuple[str, ...]
    protocols: Mapping[str, str]
    order_is_signal: bool
    pretokenised: bool
    lists_correct_first: bool
    source: str
    licence: str
    files: tuple[DataFile, ...] = ()
    read: Callable[[str, Callable[[str], str]], tuple] | None = field(default=None, repr=False)
    unlabelled_texts: Callable[..., tuple[Iterable[list[str]], str]] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()


def github_urls(repository: str, commit: str, path: str) -> tuple[str, ...]:
    """Give the public addresses of a file of a GitHub repository: two of GitHub's and a mirror's.

    Example:
        >>> github_urls("me/data", "1234", "a.txt")[0]
        'https://raw.githubusercontent.com/me/data/1234/a.txt'
    """
    return (
        f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",
        f"https://cdn.jsdelivr.net/gh/{repository}@{commit}/{path}",
        f"https://github.com/{repository}/raw/{commit}/{path}",
    )
