"""Damage files of every kind that the program reads, and kill what writes; count what goes wrong.

Each file is read in a forked process, within limits of memory and of the processor's time.
Tables, run files, qrels and vectors are to be read or refused; models and indexes, which have check sums, are
to be refused or to give what they gave. A quarter of the files is damaged inside large files of an index, or
is a bomb (`bombs.py`). What `kills.py` has is killed at random moments; the folder then has its old or its
new state. What is done is kept in --work, with a log of each fault: the same command goes on, and with
--again does once more what went wrong.
"""

import argparse
import gzip
import importlib
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bombs import bomb
from common import add_counts, arguments, parse, write_figures
from damage import damaged, damaged_within
from kills import WAYS, Writing, exported_scores, found_in, scores_of, trained_metrics
from tqdm import tqdm

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, locked_folder
from answer_ranking.data_prep import Vocabulary, load_word_vectors
from answer_ranking.data_prep.own_tables import load_table
from answer_ranking.evaluation import compare_runs
from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.ranking.search import manifest

MEMORY, SECONDS, MOST_SECONDS = 2 * 2**30, 60, 600
WORDS = ["who", "painted", "the", "chapel", "rome", "when", "was", "it", "built"]
IMPORTED = ("spacy", "openpyxl", "h5py", "scipy.stats", "pytrec_eval", "faiss")
COUNTED = ("tracebacks", "wrong", "over_2gb", "over_60s", "lost")
FOUND = {1: "tracebacks", 2: "wrong", 3: "over_2gb"}

Done = dict[str, Any]


def main() -> None:
    options = _options()
    # As in an index of a million answers: only the ends of its files are compared when it is opened.
    manifest._WHOLE, manifest._END = 1_000, 128
    with locked_folder(options.work), tempfile.TemporaryDirectory() as place:
        done = _reached(options.work)
        make_sound(Path(place))
        damage_files(Path(place), options, done)
        kill(Path(place), options, done)
    counts = Counter(done["faults"].values())
    figures = {
        "damaged_files": done["file"],
        "kills": done["kill"],
        **{name: counts[name] for name in COUNTED},
    }
    print(json.dumps(figures))
    write_figures(options.output, figures | {"commits": done["commits"]})


def _options() -> argparse.Namespace:
    parser = arguments(__doc__, "faults.json")
    add_counts(parser, files=(20_000, "damaged files"), kills=(200, "kills"))
    parser.add_argument("--again", action="store_true", help="do once more what went wrong")
    parser.add_argument("--work", type=Path, default=Path("outputs/faults"), help="what is done, and logs")
    return parse(parser)


def make_sound(place: Path) -> None:
    """Make one sound file of each kind, in a process of its own: what it imports must not be forked."""
    forked(lambda: _make_sound(place), place / "log", seconds=MOST_SECONDS, memory=0)
    if not (place / "trained.json").exists():
        raise UserError(f"the sound files could not be made:\n{(place / 'log').read_text()}")


def _make_sound(place: Path) -> None:
    draw = np.random.default_rng(0)
    answers = [" ".join(draw.choice(WORDS, 6)) + f" {number}" for number in range(1_000)]
    _make_tables(place, answers)
    lines = [f"q{i // 10} Q0 c{i} {i % 10 + 1} {1 - i % 10 / 10} tag" for i in range(200)]
    (place / "t.run").write_text("\n".join(lines) + "\n")
    lines = [f"q{i // 10} 0 c{i} {int(i % 10 == 3)}" for i in range(200)]
    (place / "t.qrels").write_text("\n".join(lines) + "\n")
    vectors = draw.normal(size=(len(WORDS), 8)).astype("float32")
    text, binary = "", f"{len(WORDS)} 8\n".encode()
    for word, row in zip(WORDS, vectors, strict=True):
        text += f"{word} {' '.join(map(str, row.round(4)))}\n"
        binary += word.encode() + b" " + row.tobytes()
    (place / "t.txt").write_text(text)
    (place / "t.bin").write_bytes(binary)
    _make_models(place)
    AnswerIndex.build(place / "model", place / "t.csv", place / "index")
    (place / "found.json").write_text(json.dumps(found_in(place / "index")))
    (place / "trained.json").write_text(json.dumps(trained_metrics(place, place)))


def _make_tables(place: Path, answers: list[str]) -> None:
    table = pd.DataFrame(
        {"question": ["who painted it", "when"] * 500, "candidate": answers, "label": [1, 0] * 500}
    )
    table.to_csv(place / "t.csv", index=False)
    table.to_csv(place / "t.tsv", index=False, sep="\t")
    table.to_json(place / "t.jsonl", orient="records", lines=True)
    table.to_parquet(place / "t.parquet")
    table.head(50).to_excel(place / "t.xlsx", index=False)
    (place / "t.csv.gz").write_bytes(gzip.compress((place / "t.csv").read_bytes()))
    questions = [f"when was it built {number // 10}" for number in range(1_000)]
    labels = [int(number % 10 == 0) for number in range(1_000)]
    table.assign(question=questions, label=labels).to_csv(place / "train.csv", index=False)


def _make_models(place: Path) -> None:
    """Make two rankers with other weights and other words, and the export of the first."""
    from answer_ranking.models import hyperqa
    from answer_ranking.ranking.export import export_onnx

    for seed, name, words in ((0, "", WORDS), (1, "new-", WORDS[::-1])):
        vectors = np.random.default_rng(seed).normal(size=(len(WORDS) + 2, 8)).astype("float32")
        # Not to the edge of the ball, where float32 has few digits and exports differ.
        network = hyperqa(vectors, 6, max_norm=0.9, seed=seed)
        Ranker(network, Vocabulary(words)).save(place / f"{name}model")
        (place / f"{name}scores.json").write_text(json.dumps(scores_of(place / f"{name}model")))
    export_onnx(Ranker.load(place / "model"), place / "export" / "model.onnx")
    scores = exported_scores(place / "export" / "model.onnx")
    np.testing.assert_allclose(scores, scores_of(place / "model"), atol=1e-3)


def damage_files(place: Path, options: argparse.Namespace, done: Done) -> None:
    """Damage and read one file after the other, each by its own seed."""
    sound = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for name in IMPORTED:
        importlib.import_module(name)

    def read(folder: Path, seed: int, log: Path) -> str:
        way = READ[seed % len(READ)]
        return _fault(*forked(lambda: way(place, folder, sound, seed), log, MOST_SECONDS, MEMORY))

    _work(read, "file", options.files, place, options, done)


def kill(place: Path, options: argparse.Namespace, done: Done) -> None:
    """Kill what writes at random moments, and look at what is left."""
    longest: dict[str, float] = {}

    def try_one(folder: Path, seed: int, log: Path) -> str:
        way = WAYS[seed % len(WAYS)]
        if way.__name__ not in longest:
            longest[way.__name__] = _seconds(way, place)
        writing = way(place, folder)
        moment = random.Random(seed).uniform(0, longest[way.__name__])
        _begun(writing, folder, log, moment)
        fault = _fault(*forked(writing.check, log, MOST_SECONDS, 0))
        return "lost" if fault == "wrong" else fault

    _work(try_one, "kill", options.kills, place, options, done)


def _seconds(way: Callable[..., Writing], place: Path) -> float:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        writing = way(place, Path(folder))
        return _begun(writing, Path(folder), Path(folder) / "log", MOST_SECONDS)


def _begun(writing: Writing, folder: Path, log: Path, moment: float) -> float:
    """Write, and kill it at that moment; gives how long it wrote."""
    begun = folder / "begun"

    def write() -> None:
        for name in writing.imports:
            importlib.import_module(name)
        begun.touch()
        writing.write()

    began = time.monotonic()
    forked(write, log, moment, 0, begun)
    return time.monotonic() - max(began, _clock_of(begun))


def _clock_of(path: Path) -> float:
    """Give when a file was made, by the clock that is monotonic."""
    return path.stat().st_mtime - time.time() + time.monotonic() if path.exists() else 0.0


def _work(
    one: Callable[[Path, int, Path], str],
    kind: str,
    number: int,
    place: Path,
    options: argparse.Namespace,
    done: Done,
) -> None:
    """Do one seed after the other, and keep what went wrong and how far it is."""
    for seed in _seeds(kind, number, options.again, done):
        name = f"{kind}-{seed}"
        log = options.work / f"{name}.log"
        with tempfile.TemporaryDirectory(dir=place) as folder:
            fault = one(Path(folder), seed, log)
        if fault:
            done["faults"][name] = fault
        else:
            done["faults"].pop(name, None)
            log.unlink(missing_ok=True)
        done[kind] = max(done[kind], seed + 1)
        if fault or kind == "kill" or seed % 50 == 49 or seed == number - 1:
            with atomic_write(options.work / "done.json") as file:
                json.dump(done, file)


def _seeds(kind: str, number: int, again: bool, done: Done) -> Iterator[int]:
    if again:
        yield from sorted(int(name.split("-")[1]) for name in done["faults"] if name.startswith(kind))
    with tqdm(total=number, initial=done[kind], unit=kind, disable=None) as bar:
        for seed in range(done[kind], number):
            yield seed
            bar.set_postfix(faults=len(done["faults"]))
            bar.update()


def _fault(code: int, peak: int, late: bool) -> str:
    """Say what went wrong; empty where nothing did."""
    if late or code == -signal.SIGXCPU:
        return "over_60s"
    if code:
        return FOUND.get(code, "tracebacks")
    return "over_2gb" if peak > MEMORY else ""


def forked(
    read: Callable[[], Any], log: Path, seconds: float, memory: int, begun: Path | None = None
) -> tuple[int, int, bool]:
    """Run in a forked process: its exit code, how much memory it took beside ours, whether it was too slow.

    0: it gave something sound or was refused; else see `FOUND`. Where `begun` is given, the time counts from
    the moment at which that file is there.
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
        if begun is not None and not begun.exists():
            began = time.monotonic()
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
            # Of the processor's time: others may use the machine.
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        try:
            return 2 if read() is False else 0
        except UserError as error:
            print(error)
            return 3 if "more memory than there is" in str(error) else 0
        except MemoryError:
            return 3
        except BaseException:
            traceback.print_exc(file=said)
            said.flush()
            return 1


Sound = dict[Path, bytes]


def _table(suffix: str) -> Callable[[Path, Path, Sound, int], None]:
    def read(place: Path, folder: Path, sound: Sound, seed: int) -> None:
        path = folder / f"t.{suffix}"
        path.write_bytes(damaged(sound[place / path.name], seed))
        load_table(path)

    return read


def _run(place: Path, folder: Path, sound: Sound, seed: int) -> None:
    (folder / "t.run").write_bytes(damaged(sound[place / "t.run"], seed))
    str(compare_runs(folder / "t.run", place / "t.qrels"))


def _qrels(place: Path, folder: Path, sound: Sound, seed: int) -> None:
    (folder / "t.qrels").write_bytes(damaged(sound[place / "t.qrels"], seed))
    str(compare_runs(place / "t.run", folder / "t.qrels"))


def _vectors(place: Path, folder: Path, sound: Sound, seed: int) -> bool:
    name = ("t.txt", "t.bin")[seed // len(READ) % 2]
    (folder / name).write_bytes(damaged(sound[place / name], seed))
    vectors = load_word_vectors([str(folder / name)], Vocabulary(WORDS), cache_home=folder, keep=False)
    return bool(np.isfinite(vectors.matrix).all())


def _model(place: Path, folder: Path, sound: Sound, seed: int) -> bool:
    shutil.copytree(place / "model", folder / "model")
    path = folder / "model" / ("ranker.keras", "vocabulary.json")[seed // len(READ) % 2]
    path.write_bytes(damaged(sound[place / "model" / path.name], seed))
    return scores_of(folder / "model") == json.loads(sound[place / "scores.json"])


def _index(place: Path, folder: Path, sound: Sound, seed: int) -> bool:
    return _damaged_index(place, folder, sound, seed, least=0)


def _large_file(place: Path, folder: Path, sound: Sound, seed: int) -> bool:
    """Damage an index within a file of which only the ends are compared when it is opened."""
    return _damaged_index(place, folder, sound, seed, least=manifest._WHOLE + 1)


def _damaged_index(place: Path, folder: Path, sound: Sound, seed: int, least: int) -> bool:
    copy = folder / "index"
    shutil.copytree(place / "index", copy)
    files = []
    for path in sorted(copy.rglob("*")):
        if path.is_file() and path.name != "lock" and path.stat().st_size >= least:
            files.append(path)
    path = random.Random(seed).choice(files)
    content = sound[place / path.relative_to(folder)]
    path.write_bytes((damaged_within if least else damaged)(content, seed))
    return found_in(copy) == json.loads(sound[place / "found.json"])


def _bomb(place: Path, folder: Path, sound: Sound, seed: int) -> None:
    bomb(place, folder, seed // len(READ))


READ = (
    *(_table(suffix) for suffix in ("csv", "tsv", "jsonl", "parquet", "xlsx", "csv.gz")),
    *(_run, _qrels, _vectors, _vectors, _model, _model, _index, _index, _index),
    *(_large_file, _large_file, _large_file, _large_file, _bomb),
)
"""Of 20 files 5 are damaged inside large files, or bombs."""


def _reached(work: Path) -> Done:
    from answer_ranking.evaluation.records import environment

    path = work / "done.json"
    done = {"file": 0, "kill": 0, "faults": {}, "commits": []}
    if path.exists():
        done = json.loads(path.read_text())
    commit = environment()["commit"]
    if commit not in done["commits"]:
        done["commits"].append(commit)
    return done


if __name__ == "__main__":
    run_command(main)
