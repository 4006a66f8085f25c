"""Token lists of SemEvalCQA's texts, for word vectors trained on the task itself."""

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import ParseError

import defusedxml
import defusedxml.ElementTree

from data_prep.errors import UserError
from data_prep.locations import data_folders, find_file
from data_prep.registry import load_dataset
from data_prep.semevalcqa import UNANNOTATED
from data_prep.tokens import Tokenizer

_TEXT_TAGS = frozenset({"RelQSubject", "RelQBody", "RelCText"})
_CHUNK = 10_000


class SemEvalTexts:
    """The texts on which HyperQA's skip-gram vectors for SemEvalCQA are trained (Tay et al. 2018, Sec. 4.3).

    The paper takes the task's own texts without annotation, `QL-unannotated-data-subtaskA.xml` (189,941
    questions and 1,894,456 comments, fetched by the user from the task's page, also in its `.zip`). Where
    that is absent, the questions and comments of the training set serve; dev and test never do. Every pass
    reads anew, so that the object can be iterated as often as gensim wants to.

    Args:
        variant: which training set, if it comes to that, see `load_dataset`. Default None, the first.
        data_home: where the data lie, see `data_prep.locations.data_folders`. Default None.
        lowercase: put tokens in lower case. Default True.

    Attributes:
        source: the path of the unannotated file, or None where the training set serves.

    Raises:
        UserError: while iterating: neither is there, or a file is damaged.

    Example:
        >>> texts = SemEvalTexts(data_home="/tmp/empty")
        >>> texts.source is None
        True
    """

    def __init__(
        self, variant: str | None = None, data_home: str | Path | None = None, lowercase: bool = True
    ) -> None:
        self.variant = variant
        self.data_home = data_home
        self.source = find_file(UNANNOTATED, data_home)
        for folder in data_folders(data_home) if self.source is None else ():
            archive = folder / f"{UNANNOTATED.path}.zip"
            if self.source is None and archive.is_file():
                self.source = archive
        self._tokenizer = Tokenizer(pretokenised=False, lowercase=lowercase)

    def __iter__(self) -> Iterator[list[str]]:
        """Give one list of tokens per subject, body or comment."""
        chunk: list[str] = []
        for text in self._training_texts() if self.source is None else self._unannotated_texts():
            chunk.append(text)
            if len(chunk) == _CHUNK:
                yield from self._tokenizer(chunk)
                chunk = []
        yield from self._tokenizer(chunk)

    def _training_texts(self) -> Iterator[str]:
        train = load_dataset("semevalcqa", self.variant, self.data_home).train
        yield from train.loc[~train["question_id"].duplicated(), "question"]
        yield from train["candidate"]

    def _unannotated_texts(self) -> Iterator[str]:
        try:
            if self.source.suffix == ".zip":
                with zipfile.ZipFile(self.source) as archive:
                    names = [name for name in archive.namelist() if name.endswith(".xml")]
                    if len(names) != 1:
                        raise UserError(f"{self.source}: {len(names)} XML files in it instead of one.")
                    with archive.open(names[0]) as stream:
                        yield from _texts(stream)
            else:
                with (gzip.open if self.source.suffix == ".gz" else open)(self.source, "rb") as stream:
                    yield from _texts(stream)
        except (ParseError, ValueError, defusedxml.DefusedXmlException) as error:
            raise UserError(f"{self.source}: not the task's XML ({error!r}). Fetch it again.") from error
        except (EOFError, OSError, zlib.error, zipfile.BadZipFile) as error:
            raise UserError(f"{self.source} is damaged or cut short ({error}). Fetch it again.") from error


def _texts(stream: IO[bytes]) -> Iterator[str]:
    """Read element by element: the file is larger than memory would like."""
    events = defusedxml.ElementTree.iterparse(stream, events=("start", "end"))
    _, root = next(events)
    for event, element in events:
        if event != "end":
            continue
        if element.tag in _TEXT_TAGS:
            text = " ".join("".join(element.itertext()).split())
            if text:
                yield text
        elif element.tag == "Thread":
            root.clear()
