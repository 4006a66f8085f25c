"""SemEvalCQA (SemEval-2016 Task 3, subtask A): threads of the Qatar Living forum, candidates are comments."""

import json
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import defusedxml
import defusedxml.ElementTree
import pandas as pd
from defusedxml.ElementTree import ParseError

from answer_ranking.base.errors import UserError, damaged
from answer_ranking.base.files import DAMAGED, bounded, open_content
from answer_ranking.data_prep.description import DatasetDescription, known_files
from answer_ranking.data_prep.downloads.data_files import DataFiles, data_folders, find_file
from answer_ranking.data_prep.readers.rows import TableRows, as_identifier, join_tables, refuse_malformed
from answer_ranking.data_prep.tables import numbered_lines
from answer_ranking.data_prep.vocabulary import Tokenizer

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_LABELS = {"Good": 1, "PotentiallyUseful": 0, "Bad": 0}
_NO_TEXT = "comments without text"
_TEXT_TAGS = frozenset({"RelQSubject", "RelQBody", "RelCText"})
_DEEPEST = 100
_TEXTS_AT_ONCE = 10_000


def read_semeval_xml(text: str, where: str | Path) -> pd.DataFrame:
    """Read a file of subtask A in the official XML (Nakov et al. 2016, version 3.2 of the distribution).

    The question is the subject followed by the body; `Good` comments are correct, `PotentiallyUseful` and
    `Bad` ones wrong, as the task's own scorer has it. The comments stand in the order of their dates.
    """
    threads = _parse(text, where)
    if threads.find("Thread") is None:
        raise UserError(f"{where}: there is no <Thread> in it; is this a file of subtask A?")
    rows = TableRows(where)
    for number, thread in enumerate(threads, start=1):
        name = thread.get("THREAD_SEQUENCE", number)
        element = thread.find("RelQuestion")
        identifier = None if element is None else element.get("RELQ_ID")
        if element is None or not identifier:
            what = "no <RelQuestion RELQ_ID=...>, as files of subtask A have"
            raise damaged(f"{where}, thread {name}", what)
        comments = thread.findall("RelComment")
        if thread.tag != "Thread" or len(comments) + 1 != len(thread):
            what = "not a <Thread> of one <RelQuestion> and <RelComment>s alone"
            raise damaged(f"{where}, thread {name}", what)
        question = _joined(
            _text_of(element, "RelQSubject", f"{where}, question {identifier}"),
            _text_of(element, "RelQBody", f"{where}, question {identifier}"),
        )
        if not question:
            raise damaged(where, f"question {identifier} has no text")
        rows.n_questions += 1
        for place, comment in enumerate(comments, start=1):
            label = comment.get("RELC_RELEVANCE2RELQ")
            if label not in _LABELS:
                raise UserError(
                    f"{where}, question {identifier}, comment {place}: the label {label!r} is not one of "
                    f"{', '.join(_LABELS)}. The edition with the gold labels is needed."
                )
            comment_id = comment.get("RELC_ID") or f"{identifier}_C{place}"
            answer = _joined(_text_of(comment, "RelCText", f"{where}, comment {comment_id}"))
            if answer:
                rows.add(None, identifier, question, comment_id, answer, _LABELS[label])
            else:
                rows.skipped[_NO_TEXT] += 1
    return rows.table()


def _parse(text: str, where: str | Path) -> "Element":
    try:
        return defusedxml.ElementTree.fromstring(text)
    except ParseError as error:
        line = f"{where}, line {error.position[0]}"
        raise damaged(line, f"not well-formed XML ({error})") from error
    except defusedxml.DefusedXmlException as error:
        raise UserError(
            f"{where}: the file declares XML entities, which the published files do not ({error!r}). "
            "It is not read. Fetch the file from its source."
        ) from error
    except ValueError as error:
        raise damaged(where, f"not XML that can be read ({error})") from error


def read_lemmatised(text: str, where: str | Path, left_out: frozenset[str] = frozenset()) -> pd.DataFrame:
    """Read the threads of 2015 in lower-cased and lemmatised text without punctuation, as JSON lines.

    A line is `{"qid", "subject", "body", "comments": [{"text", "label"}]}`. `left_out` names threads to leave
    out. Of some comments lemmatising left nothing.
    """
    rows = TableRows(where)
    for line_number, line in numbered_lines(text):
        with refuse_malformed(f"{where}, line {line_number}", "not a thread with its comments"):
            record = json.loads(line)
            identifier = as_identifier(record["qid"])
            question = _joined(record["subject"], record["body"])
            comments = [(_joined(each["text"]), _LABELS[each["label"]]) for each in record["comments"]]
        if identifier in left_out:
            continue
        rows.n_questions += 1
        for number, (answer, label) in enumerate(comments, start=1):
            if answer:
                rows.add(line_number, identifier, question, f"{identifier}_C{number}", answer, label)
            else:
                rows.skipped[_NO_TEXT] += 1
    return rows.table()


def _text_of(element: "Element", tag: str, where: str) -> str:
    found = element.findall(tag)
    if len(found) != 1:
        raise damaged(where, f"{len(found) or 'no'} <{tag}>, and files of subtask A have one")
    return "".join(found[0].itertext())


def _joined(*parts: str) -> str:
    return " ".join(word for part in parts for word in part.split())


_FOLDER = "semeval2016-task3"
_PART_2 = f"{_FOLDER}/SemEval2016-Task3-CQA-QL-train-part2-subtaskA.xml"
_DEV = f"{_FOLDER}/SemEval2016-Task3-CQA-QL-dev-subtaskA.xml"
_TEST = f"{_FOLDER}/SemEval2016-Task3-CQA-QL-test-subtaskA.xml"
# The distribution calls this file "train"; its threads are those of the test set of 2015.
_TEST_2015 = f"{_FOLDER}/SemEval2015-Task3-CQA-QL-train-reformatted-excluding-2016-questions-cleansed.xml"
_DEV_2015 = f"{_FOLDER}/SemEval2015-Task3-CQA-QL-dev-reformatted-excluding-2016-questions-cleansed.xml"
_LEMMATISED = f"{_FOLDER}/SemEval2015-Task3-CQA-QL-all3090.lemmatised.jsonl"
(UNANNOTATED,) = known_files(f"{_FOLDER}/QL-unannotated-data-subtaskA.xml")
"""The task's texts without labels, 189,941 questions and 1,894,456 comments; not needed for any split."""


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    parts = [read_semeval_xml(files(path), path) for path in (_PART_2, _DEV_2015, _TEST_2015)]
    if variant == "with-lemmatised":
        known = frozenset(identifier for table in parts for identifier in table["question_id"])
        # The lemmatised file repeats dev and test of 2015, of which the original text is here.
        without = known | {f"Q{number}" for number in range(2481, 3091)}
        parts.append(read_lemmatised(files(_LEMMATISED), _LEMMATISED, without))
    train = join_tables(parts, "semevalcqa, training parts")
    return train, *(read_semeval_xml(files(path), path) for path in (_DEV, _TEST))


def unlabelled_texts(
    train: pd.DataFrame, data_home: str | Path | None, lowercase: bool
) -> tuple[Iterator[list[str]], str]:
    """Give the texts on which HyperQA's skip-gram vectors for SemEvalCQA are trained, and what they are.

    The paper (Tay et al. 2018, Sec. 4.3) takes the task's own texts without annotation,
    `QL-unannotated-data-subtaskA.xml` (189,941 questions and 1,894,456 comments, fetched by the user from the
    task's page, also in its `.zip`). Where that is absent, the questions and comments of the training table
    serve; dev and test never do. A damaged file is a UserError while the texts are read.
    """
    archives = [folder / f"{UNANNOTATED.path}.zip" for folder in data_folders(data_home)]
    source = find_file(UNANNOTATED, data_home)[1] or next(filter(Path.is_file, archives), None)
    if source is None:
        questions = train.loc[~train["question_id"].duplicated(), "question"]
        texts: Iterable[str] = chain(questions, train["candidate"])
        origin = f"the training set ({UNANNOTATED.path}, the task's unannotated text, is not at hand)"
    else:
        texts, origin = _unannotated_texts(source), "the task's unannotated text"
    return _token_lists(texts, Tokenizer(pretokenised=False, lowercase=lowercase)), origin


def _token_lists(texts: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[str]]:
    texts = iter(texts)
    while chunk := list(islice(texts, _TEXTS_AT_ONCE)):
        yield from tokenizer(chunk)


def _unannotated_texts(source: Path) -> Iterator[str]:
    try:
        if source.suffix != ".zip":
            with open_content(source) as stream:
                yield from _texts(stream)
            return
        with zipfile.ZipFile(source) as archive:
            names = [name for name in archive.namelist() if name.endswith(".xml")]
            if len(names) != 1:
                raise UserError(f"{source}: {len(names)} XML files in it instead of one.")
            with archive.open(names[0]) as packed:
                yield from _texts(bounded(packed, source))
    # LookupError: an encoding that there is none of.
    except (ParseError, LookupError, UnicodeError, defusedxml.DefusedXmlException) as error:
        raise damaged(source, f"not the task's XML ({error!r:.100})") from error
    except DAMAGED as error:
        raise damaged(source, f"it is damaged or cut short ({error})") from error


def _texts(stream: Any) -> Iterator[str]:
    """Read element by element: the file is larger than memory would like."""
    parents: list[Element] = []
    n_texts = 0  # that are open
    for event, element in defusedxml.ElementTree.iterparse(stream, events=("start", "end")):
        is_text = element.tag in _TEXT_TAGS
        if event == "start":
            parents.append(element)
            if len(parents) > _DEEPEST:
                raise ValueError(f"elements are nested more than {_DEEPEST} deep")
            n_texts += is_text
            if element.keys():  # To ask for `attrib` makes a dictionary where there is none.
                element.attrib.clear()
            continue
        parents.pop()
        n_texts -= is_text
        if is_text and (text := " ".join("".join(element.itertext()).split())):
            yield text
        if parents and not n_texts:
            parents[-1].clear()


SEMEVALCQA = DatasetDescription(
    name="semevalcqa",
    title="SemEvalCQA",
    variants=("original", "with-lemmatised"),
    order_is_signal=True,
    source="SemEval-2016 Task 3 subtask A, distribution 3.2, http://alt.qcri.org/semeval2016/task3/",
    licence="free for general research use",
    files=known_files(_PART_2, _DEV_2015, _TEST_2015, _DEV, _TEST, _LEMMATISED),
    read=_read,
    unlabelled_texts=unlabelled_texts,
    notes=(
        "MISSING: train part 1 of 2016 (1,411 questions, 14,110 comments, 5,287 Good): no text was to be "
        "had. The papers' 4.8K questions and 36K pairs hold it.",
        "Of the 2015 training set (2,480 questions, 14,893 comments) only lower-cased, lemmatised text was "
        "to be had: the variant with-lemmatised adds it, original leaves it out. Dev and test are complete.",
        "5 of test's 327 questions stand in train, too, with 21 of their 50 comments: Q350_R26, Q358_R42, "
        "Q367_R18, Q373_R23 and Q383_R34.",
        "The comments stand in the order of their dates, which a system knows when it ranks them: earlier "
        "ones are Good more often (test: 53 % of the first, 35 % of the tenth). That is a fair signal and "
        "the task's own baseline; the files do not sort by label.",
    ),
)
