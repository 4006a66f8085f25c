"""The study on a Ray cluster: what it costs, and what survives when nodes, workers and drivers are killed.

    python benchmarks/cluster.py

1. Overhead: --tasks trainings of one epoch on the bundled sample, in turn (`--jobs 1`), two at a time
   (`--jobs 2`), and on a local Ray of two processors. Ratios to the first.
2. Kills: the same trainings on two nodes of one processor each, both on this machine, while --kills times
   something is killed at random: a node, which comes back, a worker, or the driver, which is started again.
   `lost` counts seeds without a result, `doubled` seeds with more than one, `different` those whose values
   are not those of the run of two at a time.

Needs Ray (pip install -e '.[cluster]') and Linux.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from common import add_counts, arguments, parse, write_figures
from tqdm import tqdm

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError

NAME = "hyperqa/sample/one-epoch"
EXPERIMENT = f"python reproduce/hyperqa_wikiqa.py --dataset sample --epochs 1 --seeds {{}} --record {NAME}\n"
KINDS = ("node", "worker", "driver")
DRIVER = """
import sys
from pathlib import Path
from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments import experiment_list

experiment_list.ROOT = folder = Path(sys.argv[1])
options = {"jobs": int(sys.argv[2])} if sys.argv[2].isdigit() else {"ray": sys.argv[2]}
places = {"experiments": folder / "list", "results": folder / "results"}
run_command(lambda: experiment_list.reproduce(**options, **places))
"""


def main() -> None:
    """Measure both parts and write the figures."""
    parser = arguments(__doc__, "cluster.json")
    add_counts(parser, tasks=(50, "trainings of one epoch"), kills=(10, "kills"))
    parser.add_argument("--seed", type=int, default=0, help="of the moments and kinds of the kills")
    options = parse(parser)
    figures: dict[str, Any] = {"tasks": options.tasks, "seconds": {}}
    with tempfile.TemporaryDirectory(prefix="cluster-") as place:
        for name, how in (("in turn", "1"), ("--jobs 2", "2"), ("--ray local", "local")):
            began = time.monotonic()
            if start(new_folder(Path(place), name, options.tasks), how).wait():
                raise UserError(f"the trainings {name} failed: see above.")
            figures["seconds"][name] = round(time.monotonic() - began, 1)
            print(json.dumps(figures), flush=True)
        in_turn = figures["seconds"]["in turn"]
        figures["ratios"] = {name: round(each / in_turn, 3) for name, each in figures["seconds"].items()}
        killed = new_folder(Path(place), "killed", options.tasks)
        figures |= survive(killed, options.kills, random.Random(options.seed))
        figures |= compare(killed, Path(place) / "--jobs 2", options.tasks)
    print(json.dumps(figures))
    write_figures(options.output, figures)


def new_folder(place: Path, name: str, tasks: int) -> Path:
    """Make a folder with the list of experiments."""
    folder = place / name
    folder.mkdir()
    (folder / "list").write_text(EXPERIMENT.format(tasks))
    return folder


def start(folder: Path, how: str) -> subprocess.Popen:
    """Start `answer-ranking reproduce` on the list of a folder."""
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-c", DRIVER, str(folder), how], stdout=log)


def survive(folder: Path, kills: int, rng: random.Random) -> dict[str, Any]:
    """Run the list on two nodes, and kill at random until it is finished."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node, kinds, starts = cluster.add_node(num_cpus=1), Counter[str](), 1
    began, driver = time.monotonic(), start(folder, cluster.address)
    try:
        with tqdm(total=kills, desc="kills", disable=None) as bar:
            while driver.poll() is None:
                if kinds.total() == kills:
                    driver.wait()
                    break
                time.sleep(rng.uniform(4, 12))
                # Each kind in turn, in an order of its own each time round.
                kind = min(KINDS, key=lambda each: (kinds[each], rng.random()))
                if kind == "worker":
                    if not (running := workers()):
                        continue
                    os.kill(rng.choice(running), signal.SIGKILL)
                elif kind == "node":
                    cluster.remove_node(node, allow_graceful=False)
                    node = cluster.add_node(num_cpus=1)
                elif driver.poll() is None:
                    driver.kill()
                    driver.wait()
                    driver = start(folder, cluster.address)
                    starts += 1
                kinds[kind] += 1
                bar.update()
        if driver.returncode:
            raise UserError("the run that was killed ended with an error: see above.")
    finally:
        driver.kill()
        cluster.shutdown()
    return {
        "kills": kinds.total(),
        "kinds": dict(kinds),
        "driver_starts": starts,
        "seconds_with_kills": round(time.monotonic() - began, 1),
    }


def workers() -> list[int]:
    """Find Ray's workers that train."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "ray::run_on_node" in line]


def compare(killed: Path, sound: Path, tasks: int) -> dict[str, int]:
    """Count seeds that are lost, doubled, or of other values than in a run without kills."""
    trained = Counter(path.parent.name for path in killed.glob("outputs/*/*/seed-*/state.npz"))
    mine, theirs = read_record(killed), read_record(sound)
    seeds = mine["seeds"]
    lost, doubled, different = tasks - len(set(seeds)), len(seeds) - len(set(seeds)), 0
    for number in range(tasks):
        states = trained[f"seed-{number}"]
        lost += states == 0
        doubled += states > 1
    scores = (record["metrics"]["map"]["per_seed"] for record in (mine, theirs))
    for own, expected in zip(*scores, strict=True):
        different += own != expected
    return {"lost": lost, "doubled": doubled, "different": different}


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record that a run has left."""
    return json.loads((folder / "results" / f"{NAME}.json").read_text())


if __name__ == "__main__":
    run_command(main)
