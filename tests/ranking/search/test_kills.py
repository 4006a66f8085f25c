"""Processes that are killed while they build an index or add to it: three times, 20 with `--fuzz 160`."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex

BEGIN = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import bm25s, faiss, pandas
from stub_ranker import StubRanker
from answer_ranking.ranking import ranker
from answer_ranking.ranking.search.index import AnswerIndex
ranker.Ranker = StubRanker
folder, table = sys.argv[1], pandas.read_csv(sys.argv[2])
print("ready", flush=True)
"""
BUILD = BEGIN + "AnswerIndex.build(StubRanker(), table, folder, chunk_rows=100)"
ADD = BEGIN + "AnswerIndex.open(folder).add(table)"


@pytest.fixture
def kills(request):
    return request.config.getoption("--fuzz") // 8


def run(code, *arguments, kill_after=None):
    """Run a program; kill it so many seconds after it is ready."""
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"ready\n"
        start = time.monotonic()
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
        process.stdout.read()
    return time.monotonic() - start


def found(index, stub):
    questions = stub.texts(5, seed=3)
    return pd.concat(
        [index.search(questions, k=50, first_stage=stage) for stage in ("nearest", "bm25", "both")]
    )


def test_a_killed_build_goes_on(stub, tmp_path, kills):
    table = pd.DataFrame({"answer": stub.texts(4000)})
    table.to_csv(tmp_path / "answers.csv", index=False)
    whole = AnswerIndex.build(stub.StubRanker(), table, tmp_path / "whole")
    draw, longest = random.Random(0), run(BUILD, tmp_path / "timed", tmp_path / "answers.csv")
    for _ in range(kills):
        run(BUILD, tmp_path / "index", tmp_path / "answers.csv", kill_after=draw.uniform(0, longest))
        if (tmp_path / "index" / "manifest.json").exists():  # Killed after its end.
            break
        with pytest.raises(UserError, match=r"is not finished|is not an index"):
            AnswerIndex.open(tmp_path / "index")
    else:
        run(BUILD, tmp_path / "index", tmp_path / "answers.csv")
    index = AnswerIndex.open(tmp_path / "index")
    pd.testing.assert_frame_equal(found(index, stub), found(whole, stub))
    assert not list((tmp_path / "index").rglob("*.part*"))


def test_a_killed_addition_leaves_the_old_or_the_new_answers(stub, tmp_path, kills):
    AnswerIndex.build(stub.StubRanker(), pd.DataFrame({"answer": stub.texts(500)}), tmp_path / "index")
    index, draw, longest = AnswerIndex.open(tmp_path / "index"), random.Random(1), 0.1
    for number in range(kills):
        pd.DataFrame({"answer": stub.texts(1000, seed=number)}).to_csv(tmp_path / "more.csv", index=False)
        old, old_length = found(index, stub), len(index)
        run(ADD, tmp_path / "index", tmp_path / "more.csv", kill_after=draw.uniform(0, longest))
        # What was open is as it was; what is opened is the old or the new state.
        pd.testing.assert_frame_equal(found(index, stub), old)
        index = AnswerIndex.open(tmp_path / "index")
        if len(index) == old_length:
            pd.testing.assert_frame_equal(found(index, stub), old)
            index.add(tmp_path / "more.csv", keep_duplicates=True)
        assert len(index) == old_length + 1000
    texts = stub.texts(500) + [text for number in range(kills) for text in stub.texts(1000, seed=number)]
    whole = AnswerIndex.build(stub.StubRanker(), pd.DataFrame({"answer": texts}), tmp_path / "whole")
    pd.testing.assert_frame_equal(found(index, stub), found(whole, stub))


def test_the_second_of_two_builders_is_told(stub, tmp_path):
    pd.DataFrame({"answer": stub.texts(4000)}).to_csv(tmp_path / "answers.csv", index=False)
    words = [sys.executable, "-c", BUILD, str(tmp_path / "index"), str(tmp_path / "answers.csv")]
    processes = [
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab"
    ]
    ended = [process.communicate() for process in processes]
    assert sorted(process.returncode for process in processes) == [0, 1]
    (err,) = [err for (_, err), process in zip(ended, processes, strict=True) if process.returncode]
    assert "is an index already" in err
    assert len(AnswerIndex.open(tmp_path / "index")) == 4000
