"""Damage files of every kind that the program reads, and kill what writes; count what goes wrong.

Each file is read in a process forked from one that has imported everything, under limits of memory and time.
Tables, run files, qrels and vectors are to be read or refused; models and indexes, which have check sums, are
to be refused or to give what they gave. Kills hit a save, a build, an addition and a deletion at random
moments; the folder then has its old or its new state. Trainings and clusters are killed by the tests
(`tests/reproduce`) and by `cluster.py`. What is done is kept: the same command goes on.
"""

import gzip
import json
import os
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from common import arguments, check_options, write_figures
from damage import damaged, damaged_within
from tqdm import tqdm

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, locked_folder
from answer_ranking.data_prep import Vocabulary, load_word_vectors
from answer_ranking.data_prep.own_tables import load_table
from answer_ranking.evaluation import compare_runs
from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.ranking.search import manifest

MEMORY, SECONDS = 2 * 2**30, 60
WORDS = ["who", "painted", "the", "chapel", "rome", "when", "was", "it", "built"]
PAIRS = [("who painted it", "the chapel"), ("when", "it was built in rome")]
COUNTED = ("damaged_files", "kills", "tracebacks", "wrong", "over_2gb", "over_60s", "lost")
FOUND = {1: "tracebacks", 2: "wrong", 3: "over_2gb"}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--output", default="benchmarks/results/faults.json")
    parser.add_argument("--work", type=Path, default=Path("outputs/faults"), help="what is done, and reports")
    options = parser.parse_args()
    check_options(options, "files", "kills", output=options.output)
    # As in an index of a million answers: only the ends of its files are compared when it is opened.
    manifest._WHOLE, manifest._END = 1_000, 128
    with locked_folder(options.work), tempfile.TemporaryDirectory() as place:
        done = _reached(options.work)
        make_sound(Path(place))
        damage_files(Path(place), options.files, options.work, done)
        kill(Path(place), options.kills, options.work, done)
    figures = {name: done[name] for name in COUNTED}
    print(json.dumps(figures))
    write_figures(options.output, figures)


def make_sound(place: Path) -> None:
    """Make one sound file of each kind, in a process of its own: what it imports must not be forked."""
    if forked(lambda: _make_sound(place), place / "log", seconds=600, memory=0)[0]:
        raise UserError(f"the sound files could not be made:\n{(place / 'log').read_text()}")


def _make_sound(place: Path) -> None:
    import numpy as np

    from answer_ranking.models import hyperqa

    draw = np.random.default_rng(0)
    answers = [" ".join(draw.choice(WORDS, 6)) + f" {number}" for number in range(1_000)]
    table = pd.DataFrame(
        {"question": ["who painted it", "when"] * 500, "candidate": answers, "label": [1, 0] * 500}
    )
    table.to_csv(place / "t.csv", index=False)
    table.to_csv(place / "t.tsv", index=False, sep="\t")
    table.to_json(place / "t.jsonl", orient="records", lines=True)
    table.to_parquet(place / "t.parquet")
    table.head(50).to_excel(place / "t.xlsx", index=False)
    (place / "t.csv.gz").write_bytes(gzip.compress((place / "t.csv").read_bytes()))
    lines = [f"q{i // 10} Q0 c{i} {i % 10 + 1} {1 - i % 10 / 10} tag" for i in range(200)]
    (place / "t.run").write_text("\n".join(lines) + "\n")
    lines = [f"q{i // 10} 0 c{i} {int(i % 10 == 3)}" for i in range(200)]
    (place / "t.qrels").write_text("\n".join(lines) + "\n")
    for name, seed in (("model", 0), ("new-model", 1)):
        vectors = np.random.default_rng(seed).normal(size=(len(WORDS) + 2, 8)).astype("float32")
        Ranker(hyperqa(vectors, 6, seed=seed), Vocabulary(WORDS)).save(place / name)
    rows = (
        f"{word} {' '.join(map(str, row.round(4)))}" for word, row in zip(WORDS, vectors[2:], strict=True)
    )
    (place / "t.txt").write_text("\n".join(rows) + "\n")
    AnswerIndex.build(place / "model", place / "t.csv", place / "index")
    for folder, name in (("model", "scores"), ("new-model", "new-scores")):
        (place / f"{name}.json").write_text(json.dumps(_scores(place / folder)))
    (place / "found.json").write_text(json.dumps(_found(place / "index")))


def _scores(folder: Path) -> list[float]:
    return Ranker.load(folder).score(PAIRS).tolist()


def _found(folder: Path) -> list[list[Any]]:
    found = AnswerIndex.open(folder).search([pair[0] for pair in PAIRS], k=200, first_stage="both")
    return found[["candidate_id", "score"]].astype(str).to_numpy().tolist()


def damage_files(place: Path, files: int, work: Path, done: Counter) -> None:
    """Damage and read one file after the other, each by its own seed."""
    ways = [*(_read_table(name) for name in ("csv", "tsv", "jsonl", "parquet", "xlsx", "csv.gz"))]
    ways += [_read_run, _read_qrels, _read_vectors, _read_model, _read_index, _read_index, _read_bomb]
    sound = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    with tqdm(total=files, initial=done["damaged_files"], unit="file", disable=None) as bar:
        for seed in range(done["damaged_files"], files):
            way, log = ways[seed % len(ways)], work / f"file-{seed}.log"
            with tempfile.TemporaryDirectory(dir=place) as folder:
                read = _prepared(way, place, Path(folder), sound, seed)
                code, peak, late = forked(read, log, SECONDS, MEMORY)
            done["damaged_files"] += 1
            _count(done, code, peak, late, log)
            bar.update()
            if seed % 100 == 99 or seed == files - 1:
                _keep(work, done)


def _prepared(way: Callable, *words: Any) -> Callable[[], bool]:
    return lambda: way(*words)


def _count(done: Counter, code: int, peak: int, late: bool, log: Path) -> None:
    if late:
        done["over_60s"] += 1
    elif code:
        done[FOUND.get(code, "tracebacks")] += 1
    elif peak > MEMORY:
        done["over_2gb"] += 1
    else:
        log.unlink(missing_ok=True)


def forked(read: Callable[[], Any], log: Path, seconds: float, memory: int) -> tuple[int, int, bool]:
    """Run in a forked process: its exit code, how much memory it took beside ours, whether it was too slow.

    0: it gave something sound or was refused; else see `FOUND`.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = os.fork()
    if child == 0:
        os._exit(_child(read, log, memory))
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), (usage.ru_maxrss - before) * 1024, False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.wait4(child, 0)
    return -signal.SIGKILL, 0, True


def _child(read: Callable[[], Any], log: Path, memory: int) -> int:
    with log.open("w", encoding="utf-8") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        if memory:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        try:
            return 2 if read() is False else 0
        except UserError as error:
            return 3 if "more memory than there is" in str(error) else 0
        except MemoryError:
            return 3
        except BaseException:
            traceback.print_exc(file=said)
            said.flush()
            return 1


def _read_table(suffix: str) -> Callable:
    def read(place: Path, folder: Path, sound: dict[Path, bytes], seed: int) -> None:
        path = folder / f"t.{suffix}"
        path.write_bytes(damaged(sound[place / path.name], seed))
        load_table(path)

    return read


def _read_run(place: Path, folder: Path, sound: dict[Path, bytes], seed: int) -> None:
    (folder / "t.run").write_bytes(damaged(sound[place / "t.run"], seed))
    str(compare_runs(folder / "t.run", place / "t.qrels"))


def _read_qrels(place: Path, folder: Path, sound: dict[Path, bytes], seed: int) -> None:
    (folder / "t.qrels").write_bytes(damaged(sound[place / "t.qrels"], seed))
    str(compare_runs(place / "t.run", folder / "t.qrels"))


def _read_vectors(place: Path, folder: Path, sound: dict[Path, bytes], seed: int) -> None:
    (folder / "t.txt").write_bytes(damaged(sound[place / "t.txt"], seed))
    load_word_vectors([str(folder / "t.txt")], Vocabulary(WORDS), cache_home=folder, keep=False)


def _read_model(place: Path, folder: Path, sound: dict[Path, bytes], seed: int) -> bool:
    shutil.copytree(place / "model", folder / "model")
    path = folder / "model" / ("ranker.keras", "vocabulary.json")[seed % 2]
    path.write_bytes(damaged(sound[place / "model" / path.name], seed))
    return _scores(folder / "model") == json.loads(sound[place / "scores.json"])


def _read_index(place: Path, folder: Path, sound: dict[Path, bytes], seed: int) -> bool:
    copy = folder / "index"
    shutil.copytree(place / "index", copy)
    files = sorted(path for path in copy.rglob("*") if path.is_file() and path.name != "lock")
    path = random.Random(seed).choice(files)
    content = sound[place / path.relative_to(folder)]
    path.write_bytes((damaged_within if len(content) > 1_000 else damaged)(content, seed))
    return _found(copy) == json.loads(sound[place / "found.json"])


def _read_bomb(place: Path, folder: Path, sound: dict[Path, bytes], seed: int) -> None:
    """Texts that many rows share: a small file, which expands to gigabytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = random.Random(seed)
    rows, length = draw.choice((10**4, 10**5, 10**6)), draw.choice((10**3, 10**5, 10**6))
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * length]))
    name = draw.choice(("question", "candidate", "question_id"))
    others = {each: pa.array(["b"] * rows) for each in ("question", "candidate")}
    pq.write_table(pa.table(others | {name: column}), folder / "t.parquet", compression="zstd")
    load_table(folder / "t.parquet", labelled=False)


def kill(place: Path, kills: int, work: Path, done: Counter) -> None:
    """Kill what writes at random moments, and look at what is left."""
    ways = (_save, _build, _add, _delete)
    longest = [_seconds(way, place) for way in ways]
    with tqdm(total=kills, initial=done["kills"], unit="kill", disable=None) as bar:
        for seed in range(done["kills"], kills):
            way, log = ways[seed % len(ways)], work / f"kill-{seed}.log"
            moment = random.Random(seed).uniform(0, longest[seed % len(ways)])
            with tempfile.TemporaryDirectory(dir=place) as folder:
                write, check = way(place, Path(folder))
                forked(write, log, moment, 0)
                code, _, late = forked(check, log, 300, 0)
            done["kills"] += 1
            if code == 2:
                done["lost"] += 1
            else:
                _count(done, code, 0, late, log)
            bar.update()
            _keep(work, done)


def _seconds(way: Callable, place: Path) -> float:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        write, _ = way(place, Path(folder))
        began = time.monotonic()
        forked(write, Path(folder) / "log", 300, 0)
        return time.monotonic() - began


def _save(place: Path, folder: Path) -> tuple[Callable, Callable]:
    model = folder / "model"
    shutil.copytree(place / "model", model)
    states = [json.loads((place / name).read_text()) for name in ("scores.json", "new-scores.json")]
    return lambda: Ranker.load(place / "new-model").save(model), lambda: _scores(model) in states


def _build(place: Path, folder: Path) -> tuple[Callable, Callable]:
    index = folder / "index"

    def build() -> None:
        AnswerIndex.build(place / "model", place / "t.csv", index, chunk_rows=100)

    def check() -> bool:
        if not (index / "manifest.json").exists():
            build()
        return len(AnswerIndex.open(index)) == 1_000

    return build, check


def _add(place: Path, folder: Path) -> tuple[Callable, Callable]:
    index = folder / "index"
    shutil.copytree(place / "index", index)
    more = pd.DataFrame({"candidate_id": [f"n{i}" for i in range(500)], "candidate": ["the chapel"] * 500})
    return lambda: AnswerIndex.open(index).add(more), lambda: _whole(index, (1_000, 1_500))


def _delete(place: Path, folder: Path) -> tuple[Callable, Callable]:
    index = folder / "index"
    shutil.copytree(place / "index", index)
    return lambda: AnswerIndex.open(index).delete(["c1", "c2"]), lambda: _whole(index, (1_000, 998))


def _whole(folder: Path, lengths: tuple[int, ...]) -> bool:
    return len(AnswerIndex.open(folder)) in lengths and bool(_found(folder))


def _reached(work: Path) -> Counter:
    path = work / "done.json"
    return Counter(json.loads(path.read_text())) if path.exists() else Counter()


def _keep(work: Path, done: Counter) -> None:
    with atomic_write(work / "done.json") as file:
        json.dump(done, file)


if __name__ == "__main__":
    run_command(main)
