"""SemEvalCQA (SemEval-2016 Task 3, subtask A): threads of the Qatar Living forum, candidates are comments."""

import json
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

import defusedxml
import defusedxml.ElementTree
import pandas as pd

from data_prep.data_files import DataFiles
from data_prep.description import DataFile, DatasetDescription, github_urls
from data_prep.errors import UserError
from data_prep.tables import check_table, join_tables

_COLUMNS = ["question_id", "question", "candidate_id", "candidate", "label"]
_LABELS = {"Good": 1, "PotentiallyUseful": 0, "Bad": 0}
_NO_TEXT = "comments without text"


def read_semeval_xml(text: str, where: str | Path) -> pd.DataFrame:
    """Read a file of subtask A in the official XML (Nakov et al. 2016, version 3.2 of the distribution).

    The question is the subject followed by the body; `Good` comments are correct, `PotentiallyUseful` and
    `Bad` ones wrong, as the task's own scorer has it. The comments stand in the order of their dates.

    Args:
        text: the file's text.
        where: its name, for messages.

    Returns:
        The checked table. `attrs["questions_without_candidates"]` counts threads without any comment that
        has a text, and `attrs["skipped"]` comments without text.

    Raises:
        UserError: no XML, XML with entities, or not of this form: a thread without its question, a comment
            without a known label.

    Example:
        >>> text = '<xml><Thread><RelQuestion RELQ_ID="Q1"><RelQSubject>Bank</RelQSubject>'
        >>> text += '<RelQBody>Which one?</RelQBody></RelQuestion>'
        >>> text += '<RelComment RELC_ID="Q1_C1" RELC_RELEVANCE2RELQ="Good">'
        >>> text += '<RelCText>Mine.</RelCText></RelComment></Thread></xml>'
        >>> read_semeval_xml(text, "a.xml").values.tolist()
        [['Q1', 'Bank Which one?', 'Q1_C1', 'Mine.', 1]]
    """
    try:
        root = defusedxml.ElementTree.fromstring(text)
    except ParseError as error:
        raise UserError(
            f"{where}, line {error.position[0]}: not well-formed XML ({error}). Fetch the file again."
        ) from error
    except defusedxml.DefusedXmlException as error:
        raise UserError(
            f"{where}: the file declares XML entities, which the published files do not ({error!r}). "
            "It is not read. Fetch the file from its source."
        ) from error
    except ValueError as error:
        raise UserError(f"{where}: not XML that can be read ({error}). Fetch the file again.") from error
    rows: list[tuple[str, str, str, str, int]] = []
    threads = root.findall("Thread")
    if not threads:
        raise UserError(f"{where}: there is no <Thread> in it; is this a file of subtask A?")
    n_empty_threads = n_empty_comments = 0
    for thread in threads:
        name = thread.get("THREAD_SEQUENCE", "without a name")
        question_element = thread.find("RelQuestion")
        identifier = None if question_element is None else question_element.get("RELQ_ID")
        if not identifier:
            raise UserError(
                f"{where}, thread {name}: no <RelQuestion RELQ_ID=...>. "
                "Is this a file of subtask A? Fetch it again."
            )
        question = _joined(
            _text_of(question_element, "RelQSubject", f"{where}, question {identifier}"),
            _text_of(question_element, "RelQBody", f"{where}, question {identifier}"),
        )
        if not question:
            raise UserError(f"{where}: question {identifier} has no text. Fetch the file again.")
        comments = thread.findall("RelComment")
        n_rows = len(rows)
        for number, comment in enumerate(comments, start=1):
            label = comment.get("RELC_RELEVANCE2RELQ")
            if label not in _LABELS:
                raise UserError(
                    f"{where}, question {identifier}, comment {number}: the label {label!r} is not one of "
                    f"{', '.join(_LABELS)}. The edition with the gold labels is needed."
                )
            comment_id = comment.get("RELC_ID") or f"{identifier}_C{number}"
            answer = _joined(_text_of(comment, "RelCText", f"{where}, comment {comment_id}"))
            if answer:
                rows.append((identifier, question, comment_id, answer, _LABELS[label]))
            else:
                n_empty_comments += 1
        n_empty_threads += len(rows) == n_rows
    return _checked(rows, where, None, n_empty_threads, n_empty_comments)


def read_lemmatised(text: str, where: str | Path, left_out: frozenset[str] = frozenset()) -> pd.DataFrame:
    """Read the threads of 2015 in lower-cased and lemmatised text without punctuation, as JSON lines.

    Args:
        text: one object a line: `{"qid", "subject", "body", "comments": [{"text", "label"}]}`.
        where: the file's name, for messages.
        left_out: identifiers of threads to leave out.

    Returns:
        The checked table, with `attrs` as in `read_semeval_xml`. Of some comments lemmatising left nothing.

    Raises:
        UserError: a line has not this form.

    Example:
        >>> line = '{"qid": "Q1", "subject": "bank", "body": "", '
        >>> line += '"comments": [{"text": "my", "label": "Good"}]}'
        >>> read_lemmatised(line, "a.jsonl").values.tolist()
        [['Q1', 'bank', 'Q1_C1', 'my', 1]]
    """
    rows: list[tuple[str, str, str, str, int]] = []
    lines: list[int] = []
    n_empty_threads = n_empty_comments = 0
    for line_number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            identifier, question = record["qid"], _joined(record["subject"], record["body"])
            comments = [(_joined(each["text"]), _LABELS[each["label"]]) for each in record["comments"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(
                f"{where}, line {line_number}: not a thread with its comments ({error!r:.100}). "
                "Fetch the file again."
            ) from error
        if identifier in left_out:
            continue
        n_rows = len(rows)
        for number, (answer, label) in enumerate(comments, start=1):
            if answer:
                rows.append((identifier, question, f"{identifier}_C{number}", answer, label))
                lines.append(line_number)
            else:
                n_empty_comments += 1
        n_empty_threads += len(rows) == n_rows
    return _checked(rows, where, lines, n_empty_threads, n_empty_comments)


def _text_of(element: Element, tag: str, where: str) -> str:
    child = element.find(tag)
    if child is None:
        raise UserError(f"{where}: no <{tag}>. Is this a file of subtask A? Fetch it again.")
    return "".join(child.itertext())


def _joined(*parts: str) -> str:
    return " ".join(word for part in parts for word in part.split())


def _checked(
    rows: list[tuple], where: str | Path, lines: list[int] | None, n_empty_threads: int, n_empty_comments: int
) -> pd.DataFrame:
    table = check_table(pd.DataFrame(rows, columns=_COLUMNS, dtype=object), where, lines)
    table.attrs["questions_without_candidates"] = n_empty_threads
    table.attrs["skipped"] = {_NO_TEXT: n_empty_comments} if n_empty_comments else {}
    return table


_FOLDER = "semeval2016-task3"
_PART_2 = f"{_FOLDER}/SemEval2016-Task3-CQA-QL-train-part2-subtaskA.xml"
_DEV = f"{_FOLDER}/SemEval2016-Task3-CQA-QL-dev-subtaskA.xml"
_TEST = f"{_FOLDER}/SemEval2016-Task3-CQA-QL-test-subtaskA.xml"
# The distribution calls this file "train"; its threads are those of the test set of 2015.
_TEST_2015 = f"{_FOLDER}/SemEval2015-Task3-CQA-QL-train-reformatted-excluding-2016-questions-cleansed.xml"
_DEV_2015 = f"{_FOLDER}/SemEval2015-Task3-CQA-QL-dev-reformatted-excluding-2016-questions-cleansed.xml"
_LEMMATISED = f"{_FOLDER}/SemEval2015-Task3-CQA-QL-all3090.lemmatised.jsonl"
UNANNOTATED = DataFile(f"{_FOLDER}/QL-unannotated-data-subtaskA.xml")
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


def _unlabelled_texts(
    variant: str | None, data_home: str | Path | None, lowercase: bool
) -> tuple[Iterable[list[str]], str]:
    # Imported here, because that module asks the registry, which has this one.
    from data_prep.semevalcqa_texts import SemEvalTexts

    texts = SemEvalTexts(variant, data_home, lowercase)
    missing = f"the training set ({UNANNOTATED.path}, the task's unannotated text, is not at hand)"
    return texts, "the task's unannotated text" if texts.source else missing


_V32 = ("whiskeyromeo/CommunityQuestionAnswering", "56b1b9d1fc5f026e46cc5caa568f141161c472e3")
_GOLD = ("fanmengdan/reranking", "68b87ad1a6a3bc41089f6d7d694ac72e191e1d88")
_UPLOADS = "http://alt.qcri.org/semeval2016/task3/data/uploads"


def _xml(path: str, folder: str, sha256: str, size: int, repository: tuple[str, str] = _V32) -> DataFile:
    archive = "semeval2016_task3_test.zip" if path == _TEST else "semeval2016-task3-cqa-ql-traindev-v3.2.zip"
    urls = github_urls(*repository, f"{folder}/{Path(path).name}")
    return DataFile(path, sha256, size, urls, archives=(f"{_UPLOADS}/{archive}",))


_MORE = "Data/train-more-for-subtaskA-from-2015"

SEMEVALCQA = DatasetDescription(
    name="semevalcqa",
    title="SemEvalCQA",
    variants=("original", "with-lemmatised"),
    protocols={"answerable": "answerable"},
    order_is_signal=True,
    pretokenised=False,
    lists_correct_first=False,
    source="SemEval-2016 Task 3 subtask A, distribution 3.2, http://alt.qcri.org/semeval2016/task3/",
    licence="free for general research use",
    files=(
        _xml(
            _PART_2,
            "Data/train",
            "2df4209306b54047849c3ba30d18413b4685b45d3700f4cdc17daa39e9ea4619",
            1563500,
        ),
        _xml(_DEV_2015, _MORE, "93417473e2f43c644fb6289525e1977f5c8d255f3bace6fbfbdf952e66c15f87", 667017),
        _xml(_TEST_2015, _MORE, "a26596cd9a220560c3bf1aee012e760697fc699b4d26cb489e1c3fc0e84b28ac", 809680),
        _xml(_DEV, "Data/dev", "a93659ab2ea7373fde86959edbc76d5ed713dc0ca758852d136838f7e85102a6", 998329),
        _xml(
            _TEST,
            "test/2016/data",
            "13c4d9af276a503c77b454b6a5589554c87e03c46e2e5ac7ae88243ae5cdf13d",
            1358060,
            _GOLD,
        ),
        DataFile(
            _LEMMATISED,
            "23d0a293c9554c456e1224663d7423674f426c07c687f4f630515139fc2ba35c",
            4054662,
            variants=("with-lemmatised",),
        ),
    ),
    read=_read,
    unlabelled_texts=_unlabelled_texts,
    notes=(
        "MISSING: train part 1 of 2016 (1,411 questions, 14,110 comments, 5,287 Good): no text was to be "
        "had. The papers' 4.8K questions and 36K pairs hold it.",
        "Of the 2015 training set (2,480 questions, 14,893 comments) only lower-cased, lemmatised text was "
        "to be had: the variant with-lemmatised adds it, original leaves it out. Dev and test are complete.",
        "The comments stand in the order of their dates, which a system knows when it ranks them: earlier "
        "ones are Good more often (test: 53 % of the first, 35 % of the tenth). That is a fair signal and "
        "the task's own baseline; the files do not sort by label.",
    ),
)
