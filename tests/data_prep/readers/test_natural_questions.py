import gzip
import json

import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.data_prep.readers.natural_questions import read_natural_questions

PAGE = (
    "<H1> Otters </H1> <P> Otters swim . </P> <Table> <Tr> <Td> 1 </Td> </Tr> </Table> "
    "<P> They eat <B> fish </B> . </P>"
)


SPANS = [(3, 8), (8, 15), (15, 23)]


def nq(chosen, simplified=True, identifier=-12, **changes):
    tokens = PAGE.split(" ")
    record = {
        "example_id": identifier,
        "question_text": "what do otters eat",
        "document_url": "http://example.org/otter",
        "long_answer_candidates": [
            {"start_token": begin, "end_token": end, "top_level": True} for begin, end in SPANS
        ],
        "annotations": [
            {
                "long_answer": {"candidate_index": index, "start_token": -1, "end_token": -1},
                "yes_no_answer": "NONE",
            }
            for index in chosen
        ],
    }
    if simplified:
        record["document_text"] = PAGE
    else:
        record["document_tokens"] = [
            {"token": token, "html_token": token.startswith("<"), "start_byte": 0, "end_byte": 0}
            for token in tokens
        ]
    return json.dumps({**record, **changes})


@pytest.mark.parametrize("simplified", [True, False])
def test_paragraphs_are_candidates_in_both_forms(simplified):
    table = read_natural_questions([nq([2], simplified) + "\n", "\n"], "a.jsonl")
    assert table["candidate"].tolist() == ["Otters swim .", "They eat fish ."]
    assert table["candidate_id"].tolist() == ["-12/0", "-12/2"]
    assert table["label"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("chosen", "labels"),
    [
        ([-1], [0, 0]),
        ([0], [1, 0]),
        ([-1, -1, -1, -1, 2], [0, 0]),  # one of five annotators: no answer, as in the official evaluation
        ([-1, -1, 0, -1, 2], [1, 1]),
        ([-1, -1, 1, -1, 2], [0, 1]),
    ],
)
def test_annotations(chosen, labels):
    assert read_natural_questions([nq(chosen)], "a.jsonl")["label"].tolist() == labels


def test_answers_that_are_tables_and_pages_without_paragraphs_are_left_out_and_counted():
    lines = [nq([1]), nq([0], identifier=5), nq([-1], long_answer_candidates=[])]
    with pytest.raises(UserError, match="no rows"):
        read_natural_questions(lines[:1], "a.jsonl")
    table = read_natural_questions(lines, "a.jsonl")
    assert table["question_id"].unique().tolist() == ["5"]
    assert table.attrs["skipped"] == {
        "questions whose long answer is a table or a list": 1,
        "questions whose page has no paragraph": 1,
    }


@pytest.mark.parametrize(
    "line",
    [
        "{",
        nq([0], annotations=[{}]),
        nq([99]),
        nq([0], example_id=None),
        nq([0], long_answer_candidates=[{"start_token": 3, "end_token": 900}]),
        nq([0], long_answer_candidates=[{"start_token": -3, "end_token": 4}]),
        nq([0], long_answer_candidates=[{"start_token": 0, "end_token": 1e999}]),
    ],
)
def test_damaged_natural_questions_are_a_user_error(line):
    with pytest.raises(UserError, match=r"a\.jsonl, line 2: not a question of Natural Questions"):
        read_natural_questions([nq([0]), line], "a.jsonl")


@pytest.fixture
def nq_home(tmp_path):
    folder = tmp_path / "natural-questions"
    folder.mkdir()
    for i in range(5):
        line = nq([2], False, identifier=i) + "\n"
        (folder / f"nq-dev-0{i}.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    lines = [nq([0], identifier=100 + i, document_url=f"http://example.org/{i}") for i in range(20)]
    (folder / "v1.0-simplified_simplified-nq-train.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_nq_la_is_loaded_from_the_released_files(nq_home):
    dataset = load_dataset("nq-la", data_home=nq_home)
    assert {name: table["question_id"].nunique() for name, table in dataset.splits.items()} == {
        "train": 18,
        "dev": 2,
        "test": 5,
    }
    path = nq_home / "natural-questions" / "nq-dev-03.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"nq-dev-03\.jsonl\.gz .*damaged or cut short"):
        load_dataset("nq-la", data_home=nq_home)
    path.write_bytes(b'{"\xff')
    with pytest.raises(UserError, match=r"nq-dev-03\.jsonl\.gz, line 1: not UTF-8"):
        load_dataset("nq-la", data_home=nq_home)
    path.unlink()
    with pytest.raises(UserError, match=r"get it from its source .*https://ai\.google\.com"):
        load_dataset("nq-la", data_home=nq_home)
