import gzip

import pandas as pd
import pytest

from answer_ranking.data_prep import UserError, encode_dataset, load_dataset
from answer_ranking.data_prep.readers.insuranceqa import (
    V1_TRAIN,
    V2_POOL,
    PooledQuestion,
    pooled_table,
    read_questions,
    spell_out,
)
from answer_ranking.data_prep.readers.rows import read_pairs

VOCABULARY = "idx_1\tIs\nidx_2\tit\nidx_3\tcovered\nidx_4\t?\nidx_5\tYes\nidx_6\tNo\n"


V1 = {
    "vocabulary": VOCABULARY,
    "answers.label.token_idx": "1\tidx_5 idx_2\n2\tidx_6\n10\tidx_5\n",
    "question.train.token_idx.label": "idx_1 idx_2\t10 1 10\nidx_3 idx_4\t2\n",
    "question.dev.label.token_idx.pool": "10\tidx_3\t10 2 1\n",
    "question.test1.label.token_idx.pool": "1\tidx_1 idx_3\t1 10\n",
    "question.test2.label.token_idx.pool": "2 1\tidx_4\t2 1 10\n2\tidx_3 idx_3\t2 1\n",
}


POOL = "InsuranceQA.question.anslabel.token.{}.pool.solr.{}.encoded"


V2 = {
    "vocabulary": VOCABULARY,
    "InsuranceQA.label2answer.token.encoded": "1\tidx_5 idx_2\n2\tidx_6\n3\tidx_6 idx_2\n10\tidx_5\n",
    "label2answer.en.tsv": "1\tYes it\n2\tNo.\n3\tNo, it\u00a0is not.\n10\tYes!\n",
    # The correct answer 1 is not in the pool, nor is 10 in the second: they replace its last wrong answers.
    POOL.format(100, "train"): "auto\tidx_1 idx_2\t1\t10 2 3\nlife\tidx_3\t3 10\t2 3\n",
    POOL.format(500, "valid"): "life\tidx_2\t2\t3 2 1\n",
    POOL.format(500, "test"): "auto\tidx_3 idx_4\t10\t10 1\n",
    "question.anslabel.en.train.tsv": "auto\tIs it?\t1\nlife\tCovered\t3 10\n",
    "question.anslabel.en.valid.tsv": "life\tIt?\t2\n",
    "question.anslabel.en.test.tsv": "auto\tCovered?\t10\n",
}


def release(folder, files, name, monkeypatch, packed=True):
    """Write files as released, and let the data set's description expect no other content."""
    (folder / "insuranceqa" / name).mkdir(parents=True)
    for file, text in files.items():
        path = folder / "insuranceqa" / name / file
        if packed:
            path.with_name(f"{file}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(
        "answer_ranking.data_prep.downloads.data_files.matching_content", lambda content, file: content
    )
    return folder


def rows(table):
    return table[["question", "candidate_id", "candidate", "label"]].to_numpy().tolist()


def test_v1_has_two_test_splits(tmp_path, monkeypatch):
    dataset = load_dataset("insuranceqa-v1", data_home=release(tmp_path, V1, "v1", monkeypatch))
    assert list(dataset.splits) == ["train", "dev", "test", "test2"]
    assert rows(dataset.train) == [
        ["Is it", "1", "Yes it", 1],
        ["Is it", "10", "Yes", 1],
        ["covered ?", "2", "No", 1],
    ]
    assert rows(dataset.dev) == [
        ["covered", "1", "Yes it", 0],
        ["covered", "2", "No", 0],
        ["covered", "10", "Yes", 1],
    ]
    assert dataset.test["label"].tolist() == [1, 0]
    assert dataset.further_tests["test2"]["label"].tolist() == [1, 1, 0, 0, 1]
    assert dataset.further_tests["test2"]["question_id"].tolist() == ["test2-1"] * 3 + ["test2-2"] * 2
    # The second test split goes the whole way: arrays, their cache, the statistics.
    for _ in range(2):
        encoded = encode_dataset(dataset, cache_home=tmp_path)
        assert list(encoded.splits) == ["train", "dev", "test", "test2"]
        assert encoded.splits["test2"].labels.tolist() == [1, 1, 0, 0, 1]
        assert encoded.word_counts.sum() == sum(
            len(split.questions.words) + len(split.candidates.words) for split in encoded.splits.values()
        )


def test_v2_pools_hold_every_correct_answer(tmp_path, monkeypatch):
    home = release(tmp_path, V2, "v2", monkeypatch, packed=False)
    dataset = load_dataset("insuranceqa", data_home=home)
    assert rows(dataset.train) == [
        ["Is it?", "1", "Yes it", 1],
        ["Is it?", "2", "No.", 0],
        ["Is it?", "10", "Yes!", 0],
        ["Covered", "3", "No, it is not.", 1],
        ["Covered", "10", "Yes!", 1],
    ]
    assert dataset.dev[["candidate_id", "label"]].to_numpy().tolist() == [["1", 0], ["2", 1], ["3", 0]]
    assert dataset.further_tests == {}
    correct = load_dataset("insuranceqa", "CORRECT", home)
    assert correct.train["candidate_id"].tolist() == ["1", "3", "10"]
    pd.testing.assert_frame_equal(correct.test, dataset.test)
    tokens = load_dataset("insuranceqa-tokens", data_home=home)
    assert tokens.test["question"].tolist() == ["covered ?"] * 2
    for split, table in tokens.splits.items():
        columns = ["question_id", "candidate_id", "label"]
        pd.testing.assert_frame_equal(table[columns], dataset.splits[split][columns])


def test_pools_keep_their_size_and_the_best_wrong_answers():
    answers = {str(label): f"answer {label}" for label in range(1, 20)}
    pool = tuple(str(label) for label in (9, 3, 12, 4, 7))
    table = pooled_table([PooledQuestion("q", ("3", "11", "19"), pool)], answers, "dev", "dev")
    assert table["candidate_id"].tolist() == ["3", "9", "11", "12", "19"]
    assert table["label"].tolist() == [1, 0, 1, 0, 1]
    # More correct answers than places: all of them, and no wrong one.
    table = pooled_table([PooledQuestion("q", ("3", "11", "19"), ("4", "5"))], answers, "dev", "dev")
    assert table["candidate_id"].tolist() == ["3", "11", "19"]


def test_rows_share_their_texts():
    answers = {str(label): f"answer {label}" for label in range(1, 20)}
    questions = [PooledQuestion("q", ("1",), tuple(answers))] * 50
    table = pooled_table(questions, answers, "dev", "dev")
    assert table["candidate"].dtype == object
    assert len({id(text) for text in table["candidate"]}) == len(answers)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: read_questions("idx_1\n", "a", V1_TRAIN), "a, line 1: not the fields question, correct"),
        (lambda: read_questions("life\tidx_1\t1\n", "a", V2_POOL), "a, line 1: not the fields domain"),
        (lambda: read_pairs("1\ta\n1\tb\n", "a"), "a, line 2: not a name of its own"),
        (lambda: spell_out("idx_9", {}, "a"), "a: idx_9 is not in the vocabulary"),
        (lambda: pooled_table([PooledQuestion("q", ("1",))], {}, "dev", "a"), r"a, line 1: no answer .* 1"),
        (lambda: pooled_table([], {}, "dev", "a"), "a: there are no questions"),
    ],
)
def test_damaged_files_are_user_errors(read, message):
    with pytest.raises(UserError, match=message):
        read()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("question.anslabel.en.valid.tsv", "life\tIt?\t3\n", "line 1: another question"),
        ("question.anslabel.en.valid.tsv", "life\tIt?\t2\n" * 2, "2 questions, not 1"),
    ],
)
def test_v2_files_that_do_not_fit_are_user_errors(tmp_path, monkeypatch, file, text, message):
    with pytest.raises(UserError, match=message):
        load_dataset("insuranceqa", data_home=release(tmp_path, V2 | {file: text}, "v2", monkeypatch))


@pytest.mark.real_data
def test_insuranceqa_counts(real_folder):
    real_data_home = real_folder("insuranceqa/v2").parents[1]
    dataset = load_dataset("insuranceqa", data_home=real_data_home)
    counts = {
        split: (table["question_id"].nunique(), table["label"].sum(), len(table))
        for split, table in dataset.splits.items()
    }
    assert counts == {
        "train": (12889, 21325, 1288900),
        "dev": (2000, 3354, 1000000),
        "test": (2000, 3308, 1000000),
    }
    answers = set().union(*(table["candidate_id"] for table in dataset.splits.values()))
    assert len(answers) <= 27413
    for table in dataset.splits.values():
        assert table.groupby("question_id")["label"].max().min() == 1
        assert not table.duplicated(["question_id", "candidate_id"]).any()
    # Candidates by label say nothing: the correct ones stand in the middle on average.
    place = dataset.test.groupby("question_id").cumcount()
    assert place[dataset.test["label"] == 1].mean() == pytest.approx(249.5, abs=10)
