"""A data set: its tables, what is particular about it, and the rules by which its questions count."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError


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


@dataclass(frozen=True)
class DatasetDescription:
    """Everything in which one data set differs from another, so that nothing else asks for its name.

    Attributes:
        name: the name in commands, such as "wikiqa".
        title: the name in print.
        source: where the data come from.
        licence: what their publisher allows.
        variants: training sets to choose from, the default first; ("",) where there is one only.
        protocols: published evaluation protocols and their rules (see `data_prep.dataset`), the main one
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
    protocols: Mapping[str, str] = field(default_factory=lambda: {"answerable": "answerable"})
    order_is_signal: bool = False
    pretokenised: bool = False
    lists_correct_first: bool = False
    files: tuple[DataFile, ...] = ()
    read: Callable[[str, Any], tuple] = field(default=lambda variant, files: (), repr=False)
    unlabelled_texts: Callable[..., tuple[Iterable[list[str]], str]] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """The tables of a data set and what is particular about it.

    Attributes:
        train, dev, test: columns `question_id`, `question`, `candidate_id`, `candidate` (str) and `label`
            (int, 0 or 1), in the document's own order, the rows of a question contiguous. Unfiltered: see
            `apply_protocol`.
        description: the data set's particulars.
        variant: the training set that was chosen, "" where there is one only.
        further_tests: test tables after the first, by name, for a data set that has several, such as
            {"test2": table}. `splits` has them, too.

    Example:
        >>> from answer_ranking.data_prep import load_dataset
        >>> load_dataset("sample").description.title
        'sample'
    """

    train: pd.DataFrame
    dev: pd.DataFrame
    test: pd.DataFrame
    description: DatasetDescription
    variant: str = ""
    further_tests: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if taken := {"train", "dev", "test"} & set(self.further_tests):
            raise ValueError(f"further_tests need names of their own. Received: {sorted(taken)}")

    @property
    def splits(self) -> dict[str, pd.DataFrame]:
        """The tables by name."""
        return {"train": self.train, "dev": self.dev, "test": self.test, **self.further_tests}


def github_urls(repository: str, commit: str, path: str) -> tuple[str, ...]:
    """Give the public addresses of a file of a GitHub repository: two of GitHub's and a mirror's."""
    return (
        f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",
        f"https://cdn.jsdelivr.net/gh/{repository}@{commit}/{path}",
        f"https://github.com/{repository}/raw/{commit}/{path}",
    )


RULES = ("all", "answerable", "clean")


def counts_under(rule: str, n_correct: np.ndarray, n_wrong: np.ndarray) -> np.ndarray:
    """Tell for every question whether it counts, bool (n_questions,), by its correct and wrong candidates.

    The rule is "all"; "answerable", at least one correct candidate; or "clean", one correct and one wrong.
    """
    if rule == "all":
        return np.ones(len(n_correct), bool)
    if rule == "answerable":
        return np.asarray(n_correct) > 0
    if rule == "clean":
        return (np.asarray(n_correct) > 0) & (np.asarray(n_wrong) > 0)
    raise UserError(f"unknown protocol rule {rule!r}: choose one of {', '.join(RULES)}.")


def apply_protocol(table: pd.DataFrame, rule: str) -> pd.DataFrame:
    """Keep the rows of the questions that count under "all", "answerable" or "clean", in their order.

    A UserError is raised for an unknown rule.

    Example:
        >>> table = pd.DataFrame({"question_id": ["a", "a", "b"], "label": [1, 0, 0]})
        >>> apply_protocol(table, "answerable")["question_id"].tolist()
        ['a', 'a']
    """
    questions = table.groupby("question_id", sort=False)["label"].agg(["sum", "size"])
    keep = counts_under(rule, questions["sum"].to_numpy(), (questions["size"] - questions["sum"]).to_numpy())
    kept = table[table["question_id"].isin(questions.index[keep])].reset_index(drop=True)
    # A question without candidates has no row; it counts under "all" only.
    kept.attrs = dict(table.attrs) if rule == "all" else {}
    return kept
