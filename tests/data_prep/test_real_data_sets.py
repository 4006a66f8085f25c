import gzip
import json
from pathlib import Path

import pytest

from data_prep import apply_protocol, load_dataset
from data_prep.insuranceqa import V1_POOL, V1_TRAIN, read_questions, read_words, spell_out
from data_prep.statistics import dataset_statistics
from data_prep.trecqa import read_token_files

pytestmark = pytest.mark.real_data

# Questions, pairs and correct pairs as counted independently when the data were collected.
COUNTS = {
    ("wikiqa", None): {
        ("train", "all"): (2118, 20360, 1040),
        ("train", "filtered"): (873, 8672, 1040),
        ("dev", "all"): (296, 2733, 140),
        ("dev", "filtered"): (126, 1130, 140),
        ("test", "all"): (633, 6165, 293),
        ("test", "filtered"): (243, 2351, 293),
    },
    ("trecqa", "TRAIN"): {("train", "all"): (94, 4718, 348), ("train", "clean"): (78, 4619, 342)},
    ("trecqa", "TRAIN-ALL"): {
        ("train", "all"): (1229, 53417, 6403),
        ("train", "clean"): (1162, 53313, 6299),
        ("dev", "all"): (82, 1148, 222),
        ("dev", "raw"): (78, 1134, 222),
        ("dev", "clean"): (65, 1117, 205),
        ("test", "all"): (100, 1517, 284),
        ("test", "raw"): (89, 1478, 284),
        ("test", "clean"): (68, 1442, 248),
    },
}


@pytest.mark.parametrize(("name", "variant"), COUNTS)
def test_counts(real_data_home, name, variant):
    rows = dataset_statistics(load_dataset(name, variant, real_data_home)).set_index(["split", "protocol"])
    for key, expected in COUNTS[name, variant].items():
        assert tuple(rows.loc[key, ["questions", "pairs", "correct"]]) == expected, key


def test_table_2_of_cosinet_s_page_has_our_counts_of_wikiqa(real_data_home):
    page = (Path(__file__).parents[2] / "docs" / "cosinet.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in page.partition("## Table 2")[2].splitlines() if "| " in line]
    written = {row[0].strip(): row[1].split("/")[1].strip() for row in rows[2:8]}
    dataset = load_dataset("wikiqa", data_home=real_data_home)
    stats = dataset_statistics(dataset).set_index(["split", "protocol"]).loc[("test", "all")]
    answered = 100 * dataset.test.groupby("question_id")["label"].max().mean()
    assert written == {
        "questions": f"{stats['questions']:,}",
        "sentences": f"{stats['pairs']:,}",
        "% answered": f"{answered:.2f}",
        "candidates per question": f"{stats['pairs'] / stats['questions']:.2f}",
        "length of questions": f"{stats['question_tokens']:.2f}",
        "length of candidates": f"{stats['candidate_tokens']:.2f}",
    }


def test_order_gives_the_label_away_in_trecqa_only(real_data_home):
    wikiqa = dataset_statistics(load_dataset("wikiqa", data_home=real_data_home))
    assert set(wikiqa["order"]) == {""}
    # The published value of ranking by position in the document.
    test = wikiqa[(wikiqa["split"] == "test") & (wikiqa["protocol"] == "filtered")]
    assert test["order_map"].item() == pytest.approx(0.6421, abs=5e-5)
    trecqa = dataset_statistics(load_dataset("trecqa", "TRAIN", real_data_home))
    assert set(trecqa["order"]) == {"correct first"}
    assert (trecqa["order_map"] == 1.0).all()


@pytest.mark.parametrize("split", ["dev", "test"])
def test_clean_rule_gives_the_published_clean_split(real_data_home, split):
    folder = real_data_home / "trecqa" / f"clean-{split}"
    if not folder.is_dir():
        pytest.skip(f"QA_DATA_HOME holds no folder trecqa/clean-{split}/")
    published = read_token_files(folder)
    ours = apply_protocol(load_dataset("trecqa", "TRAIN", real_data_home).splits[split], "clean")
    for column in ("question_id", "label"):
        assert ours[column].tolist() == published[column].tolist()
    for column in ("question", "candidate"):
        assert ours[column].str.lower().tolist() == published[column].tolist()


def test_train_all_has_the_cleaned_up_labels(real_data_home):
    path = real_data_home / "trecqa" / "train-all.jsonl.gz"
    if not path.is_file():
        pytest.skip("QA_DATA_HOME holds train-all.jsonl in another form")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        before = [each["label"] for line in file for each in json.loads(line)["candidates"]]
    after = load_dataset("trecqa", "TRAIN-ALL", real_data_home).train["label"].tolist()
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 7


def test_insuranceqa_counts(real_data_home):
    if not (real_data_home / "insuranceqa" / "v2").is_dir():
        pytest.skip("QA_DATA_HOME holds no folder insuranceqa/v2/")
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


def test_insuranceqa_v1_files(real_data_home):
    folder = real_data_home / "insuranceqa" / "v1"
    if not folder.is_dir():
        pytest.skip("QA_DATA_HOME holds no folder insuranceqa/v1/")

    def text(name):
        with gzip.open(folder / f"{name}.gz", "rt", encoding="utf-8", newline="\n") as file:
            return file.read()

    vocabulary = read_words(text("vocabulary"), "vocabulary")
    train = read_questions(text("question.train.token_idx.label"), "train", V1_TRAIN)
    dev_name = "question.dev.label.token_idx.pool"
    dev = read_questions(text(dev_name), "dev", V1_POOL)
    assert (len(vocabulary), len(train), len(dev)) == (22352, 12887, 1000)
    # 500 draws, with replacement: some labels stand in a pool twice.
    drawn = [line.split("\t")[2].split() for line in text(dev_name).splitlines()]
    assert {len(pool) for pool in drawn} == {500}
    assert [len(set(pool)) for pool in drawn] == [len(question.pool) for question in dev]
    # What makes V1 unlike V2: every pool holds all correct answers.
    assert all(set(question.correct) <= set(question.pool) for question in dev)
    lengths = [len(spell_out(question.question, vocabulary, "dev").split()) for question in train]
    assert sum(lengths) / len(lengths) == pytest.approx(7, abs=0.5)
