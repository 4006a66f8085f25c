"""Processes that are killed while they build an index or add to it: three times, 20 with `--fuzz 160`."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex

# Imports once, and forks a process for each build or addition. It has no threads: it calls nothing of faiss.
BUILDERS = f"""
import json, os, signal, sys, time, traceback
sys.path.insert(0, {str(Path(__file__).parent)!r})
import bm25s, faiss, pandas
from stub_ranker import StubRanker
from answer_ranking.ranking import ranker
from answer_ranking.ranking.search.index import AnswerIndex
ranker.Ranker = StubRanker

def begin(action, folder, table):
    ours, theirs = os.pipe()
    child = os.fork()
    if child:
        os.close(theirs)
        return child, open(ours)
    code = 1
    try:
        os.dup2(theirs, 1)
        table = pandas.read_csv(table)
        print(flush=True)  # It is ready.
        if action == "build":
            AnswerIndex.build(StubRanker(), table, folder, chunk_rows=100)
        else:
            AnswerIndex.open(folder).add(table)
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    finally:
        sys.stdout.flush()
        os._exit(code)

def end(child, pipe, kill_after):
    pipe.readline()
    start = time.monotonic()
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, said, time.monotonic() - start

for line in sys.stdin:
    *job, times, kill_after = json.loads(line)
    begun = [begin(*job) for _ in range(times)]
    print(json.dumps([end(*each, kill_after) for each in begun]), flush=True)
"""


@pytest.fixture
def kills(request):
    return request.config.getoption("--fuzz") // 8


@pytest.fixture(scope="module")
def together():
    """Run processes side by side: the exit code of each, what it said, and its seconds from being ready."""
    words = [sys.executable, "-c", BUILDERS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as builders:

        def run(action, folder, table, times, kill_after=None):
            job = [action, str(folder), str(table), times, kill_after]
            print(json.dumps(job), file=builders.stdin, flush=True)
            return json.loads(builders.stdout.readline())

        yield run
        builders.stdin.close()


@pytest.fixture
def run(together):
    """Run one process; kill it so many seconds after it is ready. Gives the seconds that it took."""

    def run(*job, kill_after=None):
        ((code, said, seconds),) = together(*job, 1, kill_after)
        assert code == 0 or (code == -9 and kill_after is not None), said
        return seconds

    return run


def found(index, stub):
    questions = stub.texts(5, seed=3)
    return pd.concat(
        [index.search(questions, k=50, first_stage=stage) for stage in ("nearest", "bm25", "both")]
    )


def test_a_killed_build_goes_on(run, stub, tmp_path, kills):
    table = pd.DataFrame({"answer": stub.texts(4000)})
    table.to_csv(tmp_path / "answers.csv", index=False)
    whole = AnswerIndex.build(stub.StubRanker(), table, tmp_path / "whole")
    draw, longest = random.Random(0), run("build", tmp_path / "timed", tmp_path / "answers.csv")
    for _ in range(kills):
        run("build", tmp_path / "index", tmp_path / "answers.csv", kill_after=draw.uniform(0, longest))
        if (tmp_path / "index" / "manifest.json").exists():  # Killed after its end.
            break
        with pytest.raises(UserError, match=r"is not finished|is not an index"):
            AnswerIndex.open(tmp_path / "index")
    else:
        run("build", tmp_path / "index", tmp_path / "answers.csv")
    index = AnswerIndex.open(tmp_path / "index")
    pd.testing.assert_frame_equal(found(index, stub), found(whole, stub))
    assert not list((tmp_path / "index").rglob("*.part*"))


def test_a_killed_addition_leaves_the_old_or_the_new_answers(run, stub, tmp_path, kills):
    AnswerIndex.build(stub.StubRanker(), pd.DataFrame({"answer": stub.texts(500)}), tmp_path / "index")
    index, draw, longest = AnswerIndex.open(tmp_path / "index"), random.Random(1), 0.1
    for number in range(kills):
        pd.DataFrame({"answer": stub.texts(1000, seed=number)}).to_csv(tmp_path / "more.csv", index=False)
        old, old_length = found(index, stub), len(index)
        run("add", tmp_path / "index", tmp_path / "more.csv", kill_after=draw.uniform(0, longest))
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


def test_the_second_of_two_builders_is_told(together, stub, tmp_path):
    pd.DataFrame({"answer": stub.texts(4000)}).to_csv(tmp_path / "answers.csv", index=False)
    ended = together("build", tmp_path / "index", tmp_path / "answers.csv", 2)
    (_, nothing, _), (code, said, _) = sorted(ended)
    assert not nothing and code == 1 and "is an index already" in said
    assert len(AnswerIndex.open(tmp_path / "index")) == 4000
