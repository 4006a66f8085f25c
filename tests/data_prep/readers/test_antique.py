import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.data_prep.readers.antique import read_antique

COLLECTION = '7_0\tBecause "so.\n7_1\tNo.\n7_2\t\n8_0\tAt  noon\x85.\n'


QUERIES = "7\twhy?\n8\twhen?\n9\twhere?\n"


QRELS = "7 U0 7_0 4\n7 Q0 7_1 2\n7 Q0 7_2 1\n8\tQ0\t8_0\t3\n8 E0 7_1 1\n"


NAMES = ("c.txt", "q.txt", "r.qrel")


def test_antique_grades():
    table = read_antique(COLLECTION, QUERIES, QRELS, NAMES)
    assert table.to_dict("list") == {
        "question_id": ["7", "7", "8", "8"],
        "question": ["why?", "why?", "when?", "when?"],
        "candidate_id": ["7_0", "7_1", "8_0", "7_1"],
        "candidate": ['Because "so.', "No.", "At noon .", "No."],
        "label": [1, 0, 1, 0],
    }
    assert table.attrs == {"questions_without_candidates": 1, "skipped": {"judged answers without text": 1}}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((COLLECTION, QUERIES, QRELS.replace(" 4", " 5")), r"r\.qrel, line 1: .* grade from 1 to 4"),
        ((COLLECTION, QUERIES, QRELS[:-3]), r"r\.qrel, line 5: not a question"),
        ((COLLECTION, QUERIES, QRELS.replace("8_0", "8_9")), r"line 4: '8_9' is not in c\.txt"),
        ((COLLECTION, QUERIES[:-17], QRELS), r"line 4: '8' is not in q\.txt"),
        ((COLLECTION + "7_0\tx\n", QUERIES, QRELS), r"c\.txt, line 5: not a name of its own"),
        ((COLLECTION, QUERIES.replace("why?", ""), QRELS), "the question is empty"),
        ((COLLECTION, QUERIES, QRELS + QRELS[:11]), "occurs twice"),
    ],
)
def test_damaged_antique_is_a_user_error(texts, message):
    with pytest.raises(UserError, match=message):
        read_antique(*texts, NAMES)


def test_antique_is_loaded_from_the_released_files(tmp_path):
    folder = tmp_path / "antique"
    folder.mkdir()
    (folder / "antique-collection.txt").write_text("".join(f"{i}_0\tText {i}.\n" for i in range(40)))
    for split, numbers in (("train", range(30)), ("test", range(30, 40))):
        (folder / f"antique-{split}-queries.txt").write_text("".join(f"{i}\tq{i}?\n" for i in numbers))
        (folder / f"antique-{split}.qrel").write_text("".join(f"{i} Q0 {i}_0 {i % 4 + 1}\n" for i in numbers))
    dataset = load_dataset("antique", data_home=tmp_path)
    assert {name: len(table) for name, table in dataset.splits.items()} == {"train": 27, "dev": 3, "test": 10}
    assert not set(dataset.train["question_id"]) & set(dataset.dev["question_id"])
    assert load_dataset("antique", data_home=tmp_path).dev.equals(dataset.dev)
