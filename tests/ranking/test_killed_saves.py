"""A save over a ranker's folder that is killed before any of its steps leaves the old or the new ranker."""

import hashlib
import shutil
import subprocess
import sys

import numpy as np

from answer_ranking.data_prep import Vocabulary
from answer_ranking.models import hyperqa
from answer_ranking.ranking import Ranker
from answer_ranking.ranking.search.building import copy_model

WORDS = ["who", "painted", "the", "chapel", "rome"]
PAIRS = [("who painted", "the chapel"), ("rome", "the chapel rome")]

# Ends its process before the step of that number: a file is opened, renamed or removed in the folder.
SAVE = """
import os, sys
from answer_ranking.ranking import Ranker
new, folder = sys.argv[1:]
ranker, left = Ranker.load(new), 0

def count(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove") and str(arguments[0]).startswith(folder):
        left -= 1
        if left == 0:
            os._exit(9)

print("ready", flush=True)
sys.addaudithook(count)
for line in sys.stdin:
    left = int(line)
    child = os.fork()
    if child == 0:
        ranker.save(folder)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def saved(folder, words, seed):
    vectors = np.random.default_rng(seed).normal(size=(len(words) + 2, 6)).astype("float32")
    Ranker(hyperqa(vectors, 4, seed=seed), Vocabulary(words)).save(folder)
    return Ranker.load(folder).score(PAIRS)


def test_a_killed_save_leaves_the_old_or_the_new_ranker(tmp_path):
    old, new, folder = tmp_path / "old", tmp_path / "new", tmp_path / "model"
    scores = [saved(old, WORDS, 0), saved(new, WORDS[::-1], 1)]
    assert np.abs(scores[0] - scores[1]).min() > 1e-3
    words = [sys.executable, "-c", SAVE, new, folder]
    found = []
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as saver:
        assert saver.stdout.readline() == "ready\n"
        code = 9
        while code == 9:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(old, folder)
            print(len(found) + 1, file=saver.stdin, flush=True)
            code = int(saver.stdout.readline())
            score = Ranker.load(folder).score(PAIRS)
            found.append([np.array_equal(score, each) for each in scores].index(True))
            copy_model(folder, tmp_path / "index")
            copied = {path.name for path in (tmp_path / "index").iterdir()}
            assert copied == {"ranker.keras", "vocabulary.json"}
            np.testing.assert_array_equal(Ranker.load(tmp_path / "index").score(PAIRS), score)
            # What a killed save left does not outlive the next one.
            Ranker.load(new).save(folder)
            assert {path.name for path in folder.iterdir()} == copied
            np.testing.assert_array_equal(Ranker.load(folder).score(PAIRS), scores[1])
        saver.stdin.close()
    assert code == 0
    assert found == sorted(found) and set(found) == {0, 1} and len(found) > 8


def test_a_killed_first_save_leaves_the_new_ranker_once_its_model_is_there(tmp_path):
    score = saved(tmp_path, WORDS, 0)
    words = tmp_path / "vocabulary.json"
    words.rename(tmp_path / f"vocabulary.{hashlib.sha256(words.read_bytes()).hexdigest()}.json")
    np.testing.assert_array_equal(Ranker.load(tmp_path).score(PAIRS), score)
