import json

import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.data_prep.readers.qed import read_qed
from answer_ranking.data_prep.statistics import dataset_statistics

QED = {
    "example_id": 4,
    "title_text": "Otter",
    "question_text": "what do otters eat",
    "paragraph_text": "Otters swim . They eat fish . Yes .",
    "sentence_starts": [0, 14, 30],
    "answer_spans": [[23, 27]],
}


def qed(**changes):
    return json.dumps({**QED, **changes})


def test_qed_in_both_forms():
    dev = {name: value for name, value in QED.items() if name != "answer_spans"}
    dev["original_nq_answers"] = [[{"start": 23, "end": 27}], [{"start": 7, "end": 20}]]
    for text, labels in ((qed(), [0, 1, 0]), (json.dumps(dev), [1, 1, 0])):
        table = read_qed(text, "a.jsonlines")
        assert table["candidate"].tolist() == ["Otters swim .", "They eat fish .", "Yes ."]
        assert table["label"].tolist() == labels


def test_what_qed_does_not_divide_is_counted():
    text = "\n".join([qed(sentence_starts=[]), qed(example_id=5, sentence_starts=[28]), qed(example_id=6)])
    table = read_qed(text, "a.jsonlines")
    assert table.groupby("question_id")["label"].sum().to_dict() == {"5": 0, "6": 1}
    assert table.attrs["skipped"] == {"questions about a paragraph without sentence boundaries": 1}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        qed(sentence_starts=[14, 0]),
        qed(sentence_starts=[0, 99]),
        qed(answer_spans=[[99, 100]]),
        qed(paragraph_text=None),
    ],
)
def test_damaged_qed_is_a_user_error(line):
    with pytest.raises(UserError, match=r"a\.jsonlines, line 2: not an example of QED"):
        read_qed(f"{qed()}\n{line}", "a.jsonlines")


@pytest.mark.real_data
def test_real_qed_counts(real_folder):
    real_data_home = real_folder("qed-nq").parent
    dataset = load_dataset("qed", data_home=real_data_home)
    rows = dataset_statistics(dataset).set_index(["split", "protocol"])

    def total(split, key):
        counts = dataset.splits[split].attrs["skipped"]
        return sum(count for reason, count in counts.items() if reason.startswith(key))

    parts = {split: dataset.splits[split] for split in ("train", "dev")}
    questions = sum(table["question_id"].nunique() for table in parts.values())
    assert questions + total("train", "questions") == 7167
    assert sum(map(len, parts.values())) + total("train", "sentences") == 33531
    assert rows.loc[("test", "all"), "questions"] + total("test", "questions") == 1355
    assert rows.loc[("test", "all"), "pairs"] + total("test", "sentences") == 5658
