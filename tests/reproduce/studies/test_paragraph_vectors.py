"""Paragraph Vector with and without counts, on the sample."""

import os
import subprocess
import sys
import zlib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from gensim.models import doc2vec

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.records import load_records
from answer_ranking.reproduce.experiments.data_options import OverlapData
from answer_ranking.reproduce.studies.paragraph_vectors import Config, main, pair_features, train_vectors

OPTIONS = {"dataset": "sample", "dimension": 8, "epochs": 2, "seeds": 2}
SCRIPT = Path(__file__).parents[3] / "reproduce" / "studies" / "paragraph_vectors.py"


def start_of_text(size, seed_string):
    """Start a text's vector from the CRC-32 of its words, as gensim does from Python's hash."""
    random = np.random.Generator(np.random.SFC64(zlib.crc32(seed_string.encode())))
    return (random.random(size).astype(np.float32) - 0.5) / size


def test_the_cosine_is_that_of_inferred_vectors_and_the_counts_follow():
    train = OverlapData(dataset="sample", overlap_features=True).load().train
    vectors = train_vectors(train, Config(**OPTIONS), seed=0)
    features = pair_features(vectors, train)
    np.testing.assert_array_equal(features[:, 1:], train.features)
    row, pair = 7, []
    for text in (train.questions.take([train.question_of_row[row]]), train.candidates.take([row])):
        vectors.random.seed(0)
        with patch.object(doc2vec, "pseudorandom_weak_vector", start_of_text):
            pair.append(np.float64(vectors.infer_vector(list(map(str, text.words)))))
    cosine = pair[0] @ pair[1] / np.prod(np.linalg.norm(pair, axis=1))
    assert features[row, 0] == pytest.approx(cosine)


def test_both_systems_get_records_that_another_process_repeats(tmp_path):
    """Python's hash of a text, from which gensim starts a vector, is another one in every process."""
    main(Config(**OPTIONS, record="field/sample/pv", results=tmp_path / "first"))
    given = [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]
    given += ["--record", "field/sample/pv", "--results", str(tmp_path / "second")]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, SCRIPT, *given], env=environment, check=True, stdout=subprocess.DEVNULL)
    runs = []
    for name in ("first", "second"):
        runs.append(sorted(load_records(tmp_path / name), key=lambda record: record.model))
    assert [record.model for record in runs[0]] == ["PV", "PV + Cnt"]
    for one, again in zip(*runs, strict=True):
        assert one.metrics == again.metrics
        assert len(one.metrics["map"]["per_seed"]) == 2
    assert runs[0][1].parameters == runs[0][0].parameters + 5
    with pytest.raises(UserError, match=r"is a record with more .* seeds: 2"):
        main(Config(**{**OPTIONS, "seeds": 1}, record="field/sample/pv", results=tmp_path / "first"))
