"""An experiment that trains nothing, but leaves what the real ones leave.

Tests run a copy in a folder of their own. Beside it are the values of the seeds, in `values`, and all else
that the record says, in `record`.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
WORDS = sys.argv[1:]
TRAINED = Path("outputs", "tiny", "key")


def value(option):
    return WORDS[WORDS.index(option) + 1]


def values():
    return [float(each) for each in (HERE / "values").read_text().split()]


def break_off():
    """Fail after an epoch more than there were."""
    state = TRAINED / "seed-0" / "state.npz"
    epochs = len(state.read_text()) if state.exists() else 0
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text("e" * (epochs + 1))
    sys.exit(f"the reason, after {epochs + 1} epochs")


def wait():
    """Say that it has begun, and wait until it may go on, or is ended in order."""

    def end(*_):
        (HERE / f"ended-{os.getpid()}").touch()
        sys.exit(143)

    signal.signal(signal.SIGTERM, end)
    (HERE / f"begun-{os.getpid()}").touch()
    latest = time.monotonic() + float(value("--wait"))
    while time.monotonic() < latest and not (HERE / "goes-on").exists():
        time.sleep(0.05)


def train(seed):
    from answer_ranking.evaluation.records import package_versions
    from answer_ranking.reproduce.experiments.options import training_words

    folder = TRAINED / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.npz").write_text(str(values()[seed]))
    made_by = {"words": training_words(" ".join(["python", "reproduce/tiny.py", *WORDS])), "seed": seed}
    (folder / "trained.json").write_text(json.dumps({**made_by, "versions": package_versions()}))


def measure():
    """Write the record of the trained seeds, or of all where none is trained."""
    name, results = value("--record"), Path(value("--results"))
    trained = sorted(TRAINED.glob("seed-*/state.npz"))
    found = [float(state.read_text()) for state in trained] or values()
    Path("measured").touch()  # in the folder of the outputs
    results.mkdir(parents=True, exist_ok=True)
    if (HERE / "draws").exists():
        (results / "norms-tiny.png").write_text("drawn")
    record = json.loads((HERE / "record").read_text())
    record["seeds"] = list(range(len(found)))
    ci95 = None if len(found) == 1 else 0.1
    record["metrics"] = {"map": {"mean": sum(found) / len(found), "ci95": ci95, "per_seed": found}}
    record["command"] = f"python reproduce/tiny.py --record {name}"
    record["configuration"] = {"name": name}
    path = results / f"{name}-raw.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))


if __name__ == "__main__":
    with (HERE / "starts").open("a") as file:
        print(*WORDS, file=file)
    if "--fail" in WORDS:
        sys.exit("the reason")
    if "--break" in WORDS:
        break_off()
    if "--wait" in WORDS:
        wait()
    if "--train-only" in WORDS:
        train(int(value("--first-seed")))
    else:
        measure()
