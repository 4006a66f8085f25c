"""Figures 3 and 4 of Attentive Pooling, of recorded models."""

from dataclasses import replace

import pytest
from made_records import made_record

from answer_ranking.data_prep import Tokenizer, load_dataset
from answer_ranking.evaluation.records import save_record
from answer_ranking.reproduce.studies.accuracy_by_length import Config, accuracy_figure, main


@pytest.fixture
def config(tmp_path):
    """Records of two models and of a variant on the sample, all of whose questions count."""
    ids = load_dataset("sample").test["question_id"].unique().tolist()
    half = [float(number % 2) for number in range(len(ids))]
    record = made_record(
        paper="attentive_pooling",
        dataset="sample",
        model="AP-CNN",
        metrics={"p@1": {"mean": 0.75, "ci95": 3.18, "per_seed": [1.0, 0.5]}},
        per_question={"question_ids": ids, "p@1": [[1.0] * len(ids), half]},
        main=True,
    )
    one_seed = {"mean": 0.5, "ci95": None, "per_seed": [0.5]}
    by_question = {"question_ids": ids, "p@1": [half]}
    other = replace(record, model="QA-CNN", seeds=[0], metrics={"p@1": one_seed}, per_question=by_question)
    for number, each in enumerate([other, record, replace(other, model="AP-BiLSTM", main=False)]):
        save_record(each, tmp_path / "results" / f"{number}.json")
    return Config(dataset="sample", results=tmp_path / "results", output=tmp_path / "a.png")


def test_every_model_of_a_main_record_has_its_line(config, capsys):
    (axes,) = accuracy_figure(config).axes
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert list(lines) == ["AP-CNN (mean of 2 seeds)", "QA-CNN"]
    # The last point is the accuracy over all questions, at the length of the longest correct answer.
    table = load_dataset("sample").test
    correct = table[table["label"] == 1]
    tokens = [len(words) for words in Tokenizer(pretokenised=False)(correct["candidate"].tolist())]
    longest = correct.assign(tokens=tokens).groupby("question_id")["tokens"].mean().max()
    assert lines["QA-CNN"][-1].tolist() == [longest, 50.0]
    assert lines["AP-CNN (mean of 2 seeds)"][-1].tolist() == [longest, 75.0]
    assert axes.get_title() == "sample filtered test"
    main(config)
    assert capsys.readouterr().out.strip() == str(config.output)
    assert config.output.read_bytes().startswith(b"\x89PNG")
