import gzip
import json

import pytest

from answer_ranking.data_prep import apply_protocol

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
def test_counts(real_statistics, name, variant):
    rows = real_statistics(name, variant).set_index(["split", "protocol"])
    for key, expected in COUNTS[name, variant].items():
        assert tuple(rows.loc[key, ["questions", "pairs", "correct"]]) == expected, key


def test_order_gives_the_label_away_in_trecqa_only(real_statistics):
    wikiqa = real_statistics("wikiqa", None)
    assert set(wikiqa["order"]) == {""}
    # Tokens of the test split as counted for Table 2 of Bonadiman and Moschitti's paper.
    lengths = wikiqa.set_index(["split", "protocol"]).loc[("test", "all")]
    assert lengths["question_tokens"] == pytest.approx(7.28, abs=5e-3)
    assert lengths["candidate_tokens"] == pytest.approx(25.38, abs=5e-3)
    # The published value of ranking by position in the document.
    test = wikiqa[(wikiqa["split"] == "test") & (wikiqa["protocol"] == "filtered")]
    assert test["order_map"].item() == pytest.approx(0.6421, abs=5e-5)
    trecqa = real_statistics("trecqa", "TRAIN")
    assert set(trecqa["order"]) == {"correct first"}
    assert (trecqa["order_map"] == 1.0).all()


@pytest.mark.parametrize("split", ["dev", "test"])
def test_clean_rule_gives_the_published_clean_split(real, real_folder, split):
    folder = real_folder(f"trecqa/clean-{split}")
    files = {"question": "a.toks", "candidate": "b.toks", "label": "sim.txt", "question_id": "id.txt"}
    published = {
        column: (folder / name).read_text("utf-8").removesuffix("\n").split("\n")
        for column, name in files.items()
    }
    ours = apply_protocol(real("trecqa", "TRAIN").splits[split], "clean")
    for column, texts in published.items():
        assert ours[column].astype(str).str.lower().tolist() == [text.strip() for text in texts]


def test_train_all_has_the_cleaned_up_labels(real, real_folder):
    path = real_folder("trecqa") / "train-all.jsonl.gz"
    if not path.is_file():
        pytest.skip("QA_DATA_HOME holds train-all.jsonl in another form")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        before = [each["label"] for line in file for each in json.loads(line)["candidates"]]
    after = real("trecqa", "TRAIN-ALL").train["label"].tolist()
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 7
