"""The benchmarks: what is wrong is said at once, and figures say on what they were measured."""

import json
import os
import sys
from pathlib import Path

import pytest
import recurrent_epoch

from answer_ranking.base.command import run_command

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


def test_figures_say_on_what_they_were_measured(until_exit, tmp_path, monkeypatch):
    words = "--dataset sample --dimensions 4 --batch-size 8 --batches 1 --rounds 2 --lengths"
    output, chart = tmp_path / "figures" / "record.json", tmp_path / "chart.png"
    times = {"LSTM": [4.0, 6.0], "AP-BiLSTM": [3.0, 8.0], "QRNN": [0.5, 1.0], "CTRN": [1.0, 2.0]}
    kinds = {kind: {**times, "products": [0.5, 0.5]} for kind in recurrent_epoch.KINDS}
    measured = {"seconds": kinds, "pairs": 8, "real_words": dict.fromkeys(kinds, 0.5)}
    monkeypatch.setattr(recurrent_epoch, "measure", lambda *_: measured)
    code, _, err = until_exit(
        lambda: run_command(recurrent_epoch.main),
        *(ROOT / "benchmarks" / "recurrent_epoch.py", *words.split(), "--output", output, "--draw", chart),
    )
    assert not code, err
    figures = json.loads(output.read_text())
    assert chart.read_bytes().startswith(b"\x89PNG")
    for of_kind in figures["ratios"]["4"].values():
        assert of_kind == {"LSTM / CTRN": [4, 3], "AP-BiLSTM / CTRN": [3, 4], "CTRN / QRNN": [2, 2]}
    measured = figures["measured"]
    assert measured["command"].startswith("python benchmarks/recurrent_epoch.py --dataset sample")
    assert str(tmp_path) not in measured["command"]
    threads = os.environ.get("TF_NUM_INTRAOP_THREADS") or len(os.sched_getaffinity(0))
    assert measured["threads"] == int(threads)
    assert measured["versions"]["python"] == sys.version.split()[0]
    assert measured["processor"]
