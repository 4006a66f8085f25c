"""A run that is killed again and again and started again with the same command ends as an unbroken one."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest

import answer_ranking.layers  # noqa: F401  (registers the layers that the saved model names)
from answer_ranking.engine import TRAINED

ROOT = Path(__file__).parents[2]


def finished_epochs(output):
    """How many epochs the states in a folder hold; they can be read at any time."""
    count = 0
    for path in output.glob("*/*/seed-*/state.npz"):
        with np.load(path) as stored:
            count += bytes(stored["facts"]).count(b'"loss"')
    return count


def kill_when(condition, command, environment):
    """Start a command and kill it without warning when the condition holds; tell whether it came to that."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while process.poll() is None and not condition():
            time.sleep(0.002)
    finally:
        ended = process.poll() is not None
        process.kill()
        process.wait()
    return not ended


def facts(path):
    """Everything that a state file holds, but the time that epochs took."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored if name != "facts"}
        held = json.loads(bytes(stored["facts"]))
    for epoch in held["history"]:
        del epoch["seconds"]
    return held, arrays


def assert_same_run(output, sample_run, what):
    """A run's states, run files, record and model are those of the unbroken one."""
    theirs = sample_run.folder
    (ours,) = output.glob("*/*/")
    assert ours.name == theirs.name
    for seed in (0, 1):
        (our_facts, our_arrays), (facts_of, arrays_of) = (
            facts(each / f"seed-{seed}" / "state.npz") for each in (ours, theirs)
        )
        assert our_facts == facts_of, what
        np.testing.assert_equal(our_arrays, arrays_of, err_msg=what)
    for path in sorted((theirs / "runs").iterdir()):
        assert (ours / "runs" / path.name).read_bytes() == path.read_bytes(), (path.name, what)
    records = [type(sample_run)(each).record for each in (output, sample_run.output)]
    for record in records:
        for measured in ("created", "seconds_per_epoch", "peak_memory", "gflops"):
            del record[measured]
    assert records[0] == records[1], what
    models = [keras.models.load_model(each / "model" / "ranker.keras") for each in (ours, theirs)]
    np.testing.assert_equal(*(model.get_weights() for model in models))


@pytest.mark.slow
def test_killed_again_and_again_and_beside_another(
    sample_run, sample_command, environment, run_script, tmp_path
):
    """Killed in the training of one of both seeds, and while runs, model and record are written.

    Meanwhile another process, as an executor starts it, trains seed 1, or waits for it to be trained.
    """
    script, options = sample_command
    command = [sys.executable, ROOT / "reproduce" / script, *options, "--output", tmp_path]
    draw = random.Random(os.urandom(4))
    epochs = draw.randrange(0, 23)
    pause = draw.random() * 0.03

    def soon(condition):
        def now():
            if met := condition():
                time.sleep(pause)
            return met

        return now

    deaths = kill_when(soon(lambda: finished_epochs(tmp_path) > epochs), command, environment)
    of_seed = ("--first-seed", "1", "--seeds", "1", "--train-only")
    beside = subprocess.Popen([*command, *of_seed], env=environment)
    deaths += kill_when(soon(lambda: any(tmp_path.glob("*/*/runs/*.qrels"))), command, environment)
    what = f"killed after epoch {epochs} and in the writing, each {pause:.3f} s later"
    assert beside.wait() == 0 and deaths >= 1, what
    assert any(tmp_path.glob(f"*/*/seed-1/{TRAINED}")), what
    code, _, err = run_script(*command[1:])
    assert code == 0, err[-3000:]
    assert_same_run(tmp_path, sample_run, what)
