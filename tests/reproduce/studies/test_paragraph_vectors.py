"""Paragraph Vector with and without counts, on the sample."""

import numpy as np
import pytest

from answer_ranking.evaluation.records import load_records
from answer_ranking.reproduce.experiments.data_options import OverlapData
from answer_ranking.reproduce.studies.paragraph_vectors import Config, main, pair_features, train_vectors

OPTIONS = {"dataset": "sample", "dimension": 8, "epochs": 2, "seeds": 2}


def test_the_cosine_is_that_of_the_inferred_vectors_and_the_counts_follow():
    train = OverlapData(dataset="sample", overlap_features=True).load().train
    vectors = train_vectors(train, Config(**OPTIONS), seed=0)
    features = pair_features(vectors, train)
    np.testing.assert_array_equal(features[:, 1:], train.features)
    row = 7
    pair = []
    for text in (train.questions.take([train.question_of_row[row]]), train.candidates.take([row])):
        vectors.random.seed(0)
        pair.append(np.float64(vectors.infer_vector(list(map(str, text.words)))))
    cosine = pair[0] @ pair[1] / np.prod(np.linalg.norm(pair, axis=1))
    assert features[row, 0] == pytest.approx(cosine)


def test_both_systems_get_records_that_a_second_run_repeats(tmp_path):
    runs = []
    for name in ("first", "second"):
        main(Config(**OPTIONS, record="field/sample/pv", results=tmp_path / name))
        runs.append(sorted(load_records(tmp_path / name), key=lambda record: record.model))
    assert [record.model for record in runs[0]] == ["PV", "PV + Cnt"]
    for one, again in zip(*runs, strict=True):
        assert one.metrics == again.metrics
        assert len(one.metrics["map"]["per_seed"]) == 2
    assert runs[0][1].parameters == runs[0][0].parameters + 5
