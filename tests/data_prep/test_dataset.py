import pytest

from answer_ranking.data_prep import DATASETS, UserError, load_dataset
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.data_prep.statistics import dataset_statistics


def test_sample_has_the_promised_size():
    dataset = load_dataset("sample")
    assert set(dataset_statistics(dataset)["order"]) == {""}
    counts = {name: table["question_id"].nunique() for name, table in dataset.splits.items()}
    assert sum(counts.values()) >= 120
    for table in dataset.splits.values():
        by_question = table.groupby("question_id")["label"].agg(["size", "sum"])
        assert by_question["size"].between(6, 10).all()
        assert by_question["sum"].between(1, 3).all()


def test_absent_data_say_how_to_get_them(tmp_path):
    with pytest.raises(UserError, match=r"answer-ranking data get wikiqa.*--data-home or QA_DATA_HOME"):
        load_dataset("wikiqa", data_home=tmp_path)


def test_another_content_is_a_user_error(tmp_path):
    (tmp_path / "wikiqa").mkdir()
    (tmp_path / "wikiqa" / "WikiQA-train.tsv").write_text("another")
    with pytest.raises(UserError, match="is not the published file"):
        load_dataset("wikiqa", data_home=tmp_path)


@pytest.mark.parametrize(("name", "variant"), [("wiki", None), ("trecqa", "TRAIN-SOME"), ("wikiqa", "TRAIN")])
def test_unknown_names_are_a_user_error(name, variant):
    with pytest.raises(UserError, match="unknown"):
        load_dataset(name, variant)


@pytest.mark.parametrize("name", DATASETS)
def test_descriptions_are_complete(name):
    description = find_description(name)
    assert set(description.protocols.values()) <= {"answerable", "clean"}
    for file in description.files:
        # Without a public address, a file can be checked or the source says where to get it.
        assert len(file.sha256) == 64 or not file.urls
        assert len(file.urls) >= 2 or (not file.urls and "http" in description.source)
