"""An index built on two Ray nodes, of which one is killed, against the index that one process builds."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from ray_clusters import as_soon_as, ray_cluster

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Vocabulary
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.first_stages import nearest

pytestmark = pytest.mark.slow
N, N_SHARDS = 20_000, 10
ROWS = N // N_SHARDS
WORDS = np.array([f"w{i}" for i in range(2000)])


@pytest.fixture(scope="module")
def real_ranker(tmp_path_factory):
    """The folder of a HyperQA of 32 dimensions."""
    from answer_ranking.models import hyperqa

    folder = tmp_path_factory.mktemp("model")
    vocabulary = Vocabulary(WORDS.tolist())
    vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 16)).astype("float32")
    Ranker(hyperqa(vectors, dimension=32), vocabulary).save(folder)
    return folder


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster of two nodes with a processor each."""
    with ray_cluster(1) as made:
        made.second = made.add_node(num_cpus=1)
        yield made


def texts(n, seed):
    return [" ".join(row) for row in np.random.default_rng(seed).choice(WORDS, (n, 5)).tolist()]


def write_shards(folder, n=N):
    """Ten shards of Parquet and CSV; those of even numbers have no identifiers."""
    folder.mkdir()
    for i in range(N_SHARDS):
        table = pd.DataFrame({"answer": texts(n // N_SHARDS, i), "shard": str(i)})
        if i % 2:
            table["candidate_id"] = [f"own-{i}-{row}" for row in range(len(table))]
        path = folder / f"part-{i}.parquet"
        table.to_csv(path.with_suffix(".csv"), index=False) if i == 3 else table.to_parquet(path)
    return folder


def segments(folder):
    """The segments that are finished."""
    return list((folder / "segments").glob("[!.]*"))


def test_what_is_wrong_with_a_shard_is_said_as_on_one_machine(real_ranker, cluster, tmp_path):
    shards = write_shards(tmp_path / "shards", 1000)
    pd.DataFrame({"answer": ["fine", " "], "shard": "5"}).to_parquet(shards / "part-5.parquet")
    for address in (None, cluster.address):
        with pytest.raises(
            UserError, match=r"shards/part-5\.parquet, row 2: the candidate is empty"
        ) as error:
            AnswerIndex.build(real_ranker, shards, tmp_path / "index", ray=address)
        assert "Traceback" not in str(error.value) and "\n" not in str(error.value)


@pytest.fixture
def one_thread():
    """Sums in this process are rounded as in a task of the cluster, which has one thread."""
    library = pytest.importorskip("threadpoolctl", reason="limits the threads of NumPy's library")
    with library.threadpool_limits(1):
        yield


def test_a_driver_and_a_node_are_killed(real_ranker, cluster, tmp_path, monkeypatch, one_thread):
    monkeypatch.setattr(nearest, "EXACT_UP_TO", N // 2)
    shards = write_shards(tmp_path / "shards")
    alone = AnswerIndex.build(real_ranker, shards, tmp_path / "alone")
    assert "nearest" in alone.manifest.stages and len(alone) == N

    folder = tmp_path / "index"
    code = "from answer_ranking.cli.main import main; main()"
    options = [shards, "--model", real_ranker, "--output", folder, "--ray", cluster.address]
    driver = subprocess.Popen([sys.executable, "-c", code, "index", *map(str, options)])
    with as_soon_as(lambda: len(segments(folder)) >= 2, driver.kill):
        driver.wait()
    finished = {path: path.stat().st_mtime_ns for path in (folder / "segments").glob("[!.]*/texts.parquet")}
    assert 2 <= len(finished) < N_SHARDS - 3 and not (folder / "manifest.json").exists()

    left = []

    def kill():
        cluster.remove_node(cluster.second, allow_graceful=False)
        left.append(len(segments(folder)))

    with as_soon_as(lambda: len(segments(folder)) > len(finished), kill):
        index = AnswerIndex.build(real_ranker, shards, folder, ray=cluster.address)
    assert left[0] < N_SHARDS
    # What was finished before was not made again.
    assert finished.items() <= {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}.items()

    assert index.manifest.segments == alone.manifest.segments
    own = [each.segments.column("candidate_id").to_pylist() for each in (index._state, alone._state)]
    assert own[0] == own[1] and len(set(own[0])) == N
    assert own[0][ROWS - 1 : ROWS + 1] == [f"c{ROWS}", "own-1-0"]
    assert own[0][2 * ROWS] == f"c{2 * ROWS + 1}"
    questions = texts(50, seed=99)
    for stage in ("nearest", "bm25", "both"):
        found, expected = (each.search(questions, first_stage=stage) for each in (index, alone))
        assert found["candidate_id"].tolist() == expected["candidate_id"].tolist()
        np.testing.assert_allclose(found["score"], expected["score"], atol=1e-6, rtol=0)

    more = pd.DataFrame({"text": texts(1000, seed=100)})
    index.add(more, ray=cluster.address)
    alone.add(more)
    found, expected = (each.search(questions, first_stage="both") for each in (index, alone))
    pd.testing.assert_frame_equal(found, expected)
