"""The benchmarks: what is wrong is said at once, and figures say on what they were measured."""

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ["attentive_pooling", "cosinet", "encoder", "hyperqa_epoch", "recurrent_epoch"]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_is_wrong_is_refused_by_name(run_script, name, tmp_path):
    (tmp_path / "file").write_text("")
    output = tmp_path / "file" / "deeper" / "figures.json"
    for words, said in (
        (["--rounds", "0"], "--rounds: must be at least 1. Received: 0"),
        (["--dataset", "sample", "--output", output], f"cannot write to {tmp_path / 'file'}"),
        (["--dataset", "absent", "--rounds", "1"], "unknown data set 'absent'"),
    ):
        code, out, err = run_script(ROOT / "benchmarks" / f"{name}.py", *words)
        assert (code, out) == (2, "") and said in err


@pytest.mark.slow
def test_figures_say_on_what_they_were_measured(run_script, tmp_path):
    words = "--dataset sample --dimensions 4 --batch-size 8 --batches 1 --rounds 2 --lengths"
    output, chart = tmp_path / "figures" / "record.json", tmp_path / "chart.png"
    code, _, err = run_script(
        ROOT / "benchmarks" / "recurrent_epoch.py", *words.split(), "--output", output, "--draw", chart
    )
    assert not code, err
    figures = json.loads(output.read_text())
    assert chart.read_bytes().startswith(b"\x89PNG")
    for of_kind in figures["ratios"]["4"].values():
        assert all(len(ratios) == 2 and min(ratios) > 0 for ratios in of_kind.values())
    measured = figures["measured"]
    assert measured["command"].startswith("python benchmarks/recurrent_epoch.py --dataset sample")
    assert str(tmp_path) not in measured["command"]
    threads = os.environ.get("TF_NUM_INTRAOP_THREADS") or len(os.sched_getaffinity(0))
    assert measured["threads"] == int(threads)
    assert measured["versions"]["python"] == sys.version.split()[0]
    assert measured["processor"]
