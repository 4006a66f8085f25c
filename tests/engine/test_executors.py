"""Tasks side by side: processes of this machine, and a Ray cluster of two nodes, of which one is lost."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray_clusters import as_soon_as, ray_cluster

from answer_ranking.base.errors import UserError
from answer_ranking.engine import data_transfer, executors
from answer_ranking.evaluation.records import environment
from answer_ranking.reproduce.experiments import experiment_list

LIST = """python reproduce/tiny.py --seeds 3 --record tiny/a
python reproduce/tiny.py --fail --seeds 2 --record tiny/bad
"""
# A search whose trials take half a second each. It says how many there are already, and which node runs it:
# the parent of its parent.
SEARCH = """
import json, os, sys, time
from pathlib import Path

import psutil

from answer_ranking.base.files import atomic_write

words = sys.argv[1:]
path = Path(words[words.index("--results") + 1], "tiny", "a.trials.jsonl")
lines = path.read_text().splitlines() if path.exists() else []
with open(Path(__file__).parent / "starts", "a") as file:
    print(len(lines), psutil.Process(os.getppid()).ppid(), file=file)
while len(lines) < 16:
    time.sleep(0.5)
    lines.append(json.dumps({"trial": len(lines)}))
    with atomic_write(path) as file:
        file.write("\\n".join(lines))
path.with_name("a.json").write_text(json.dumps({"command": " ".join(["python", *words])}))
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = tmp_path / "reproduce"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "tiny_experiment.py", folder / "tiny.py")
    (folder / "record").write_text("{}")
    (folder / "values").write_text("0.5 0.6 0.7")
    (tmp_path / "list").write_text(LIST)
    for module in (experiment_list, executors):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


def reproduce(root, **options):
    places = {"experiments": root / "list", "results": root / "results", **options}
    return experiment_list.reproduce(**places)


def values(root, results="results"):
    record = json.loads((root / results / "tiny" / "a-raw.json").read_text())
    return record["metrics"]["map"]["per_seed"]


def starts(root):
    return (root / "reproduce" / "starts").read_text().splitlines()


def test_seeds_side_by_side_and_one_that_fails(root, capfd):
    assert reproduce(root, jobs=2, dry_run=True) == 0
    assert "to train: tiny/a 0, tiny/a 1, tiny/a 2" in capfd.readouterr().out
    assert not (root / "outputs").exists()
    assert reproduce(root, jobs=2) == 1
    said = capfd.readouterr().err
    assert said.count("the reason") == 2 and said.splitlines()[-1] == f"failed: {LIST.splitlines()[1]}"
    assert values(root) == [0.5, 0.6, 0.7]
    # Three seeds, their record, and two seeds that failed once each and have none.
    assert len(starts(root)) == 6 and not list((root / "results").rglob("bad*"))


def test_the_same_command_goes_on_from_the_seeds_that_are_there(root):
    reproduce(root, only="tiny/a", jobs=1)
    (root / "results" / "tiny" / "a-raw.json").unlink()
    for path in (root / "outputs" / "tiny" / "key" / "seed-1").iterdir():
        path.unlink()
    (root / "outputs" / "tiny" / "key" / "seed-1").rmdir()
    (root / "reproduce" / "starts").unlink()
    assert reproduce(root, only="tiny/a", jobs=2) == 0
    trained, measured = starts(root)
    assert "--first-seed 1 --train-only" in trained and "--record tiny/a" in measured


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_an_interruption_ends_what_runs(root, kind):
    """In order, if the command can still do so."""
    (root / "list").write_text("python reproduce/tiny.py --wait 60 --seeds 2 --record tiny/a\n")
    code = (
        "import sys; from pathlib import Path\n"
        "from answer_ranking.base.command import run_command\n"
        "from answer_ranking.engine import executors\n"
        "from answer_ranking.reproduce.experiments import experiment_list\n"
        "root = Path(sys.argv[1]); experiment_list.ROOT = executors.ROOT = root\n"
        "places = {'experiments': root / 'list', 'results': root / 'results'}\n"
        "run_command(lambda: experiment_list.reproduce(jobs=2, **places))\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", code, str(root)], stdout=subprocess.DEVNULL)
    while len(begun := list((root / "reproduce").glob("begun-*"))) < 2:
        time.sleep(0.05)
    driver.send_signal(kind)
    assert driver.wait(30) == (143 if kind == signal.SIGTERM else -kind)
    trainings = [int(path.name.partition("-")[2]) for path in begun]
    psutil = pytest.importorskip("psutil")
    for _ in range(600):
        left = [pid for pid in trainings if psutil.pid_exists(pid)]
        if all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in left):
            break
        time.sleep(0.05)
    else:
        pytest.fail(f"still running: {left}")
    ended = {int(path.name.partition("-")[2]) for path in (root / "reproduce").glob("ended-*")}
    assert ended == (set(trainings) if kind == signal.SIGTERM else set())


def test_a_folder_is_read_where_it_is_or_from_a_copy(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="needs Ray: pip install -e '.[cluster]'")
    home = tmp_path / "home"
    (home / "set").mkdir(parents=True)
    (home / "set" / "train.tsv").write_text("a question")
    monkeypatch.setenv("QA_DATA_HOME", str(home))
    monkeypatch.delenv("QA_EMBEDDINGS_HOME", raising=False)
    monkeypatch.setattr(data_transfer, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(ray, "put", lambda content: content)
    monkeypatch.setattr(ray, "get", lambda content: content)
    sent = data_transfer.send_homes(ray)
    assert data_transfer.local_homes(sent) == {"QA_DATA_HOME": str(home)}
    (home / "set" / "train.tsv").write_text("another")
    for _ in range(2):
        copy = Path(data_transfer.local_homes(sent)["QA_DATA_HOME"])
        assert copy != home and (copy / "set" / "train.tsv").read_text() == "a question"
        (copy / "set" / "train.tsv").write_text("damaged")  # The next call mends it.


def test_a_node_s_files_come_to_where_a_run_here_writes_them(tmp_path, monkeypatch):
    results, docs = tmp_path / "results", tmp_path / "docs"
    node = tmp_path / "node"
    for name in ("outputs/run/model.keras", "results/eq9/wikiqa.json", "results/eq9-wikiqa.png"):
        (node / name).parent.mkdir(parents=True, exist_ok=True)
        (node / name).write_text(name)
    content = data_transfer.pack(node, [path for path in node.rglob("*") if path.is_file()])
    executors.unpack(content, executors.Task("", (), tmp_path, results, docs))
    places = {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*") if node not in path.parents
    }
    assert places == {"outputs/run/model.keras", "results/eq9/wikiqa.json", "docs/eq9-wikiqa.png"}


def test_two_ways_at_once_and_no_cluster(root):
    with pytest.raises(UserError, match="--jobs N, at least 1, or --ray"):
        reproduce(root, jobs=2, ray="local")
    with pytest.raises(UserError, match="at least 1"):
        reproduce(root, jobs=-1)
    pytest.importorskip("ray", reason="needs Ray: pip install -e '.[cluster]'")
    with pytest.raises(UserError, match="no Ray cluster answers"):
        reproduce(root, ray="127.0.0.1:1")


def test_a_log_that_cannot_be_written_ends_the_task(root, capfd):
    (root / "outputs").write_text("a file in the folder's place")
    assert reproduce(root, only="tiny/a", jobs=1) == 1
    assert "Not a directory" in capfd.readouterr().err


def node_task(*words):
    results = Path("results")
    return executors.Task("tiny/a 0", ("reproduce/tiny.py", *words), Path(), results, results)


def test_what_fails_on_a_node_goes_on_there(root, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(root))
    nothing = data_transfer.pack(root, ())
    started = SimpleNamespace(future=lambda: SimpleNamespace(result=lambda: nothing))
    progress = SimpleNamespace(start=SimpleNamespace(remote=lambda *_: started))
    for epochs in (1, 2):
        commit = environment()["commit"]
        done = executors.run_on_node(node_task("--break", "--train-only"), nothing, {}, commit, progress)
        assert done.status == 1 and f"the reason, after {epochs} epochs" in done.log and not done.files


def test_a_node_at_another_commit_runs_nothing(root):
    done = executors.run_on_node(node_task(), b"", {}, "another", None)
    assert done.status == 1 and "not another. Update it" in done.log
    assert not (root / "reproduce/starts").exists()


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster whose head runs no task: each test adds the nodes that it loses."""
    with ray_cluster(0) as made:
        yield made


@pytest.fixture
def nodes(cluster, tmp_path, monkeypatch):
    """Two nodes with a processor each, which know no data set and keep their files in the test's folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in data_transfer.HOMES:
        monkeypatch.delenv(name, raising=False)
    made = [cluster.add_node(num_cpus=1) for _ in range(2)]
    yield made
    for node in made:
        if node in cluster.worker_nodes:
            cluster.remove_node(node)


@pytest.mark.slow
def test_a_node_is_lost_and_nothing_with_it(cluster, nodes, root):
    """Seeds on two nodes: their values are those of a run without a loss."""
    folder = root / "reproduce"
    (root / "list").write_text(f"python {folder / 'tiny.py'} --wait 300 --seeds 2 --record tiny/a\n")

    def lose():
        cluster.remove_node(nodes[1], allow_graceful=False)
        (folder / "goes-on").touch()

    with as_soon_as(lambda: len(list(folder.glob("begun-*"))) == 2, lose):
        assert reproduce(root, ray=cluster.address) == 0
    assert nodes[1] not in cluster.worker_nodes
    # One of both seeds began once more, and then both were measured.
    assert ["--train-only" in words for words in starts(root)] == [True, True, True, False]
    shutil.rmtree(root / "outputs")
    assert reproduce(root, results=root / "unbroken", jobs=2) == 0
    assert values(root) == values(root, "unbroken") == [0.5, 0.6]


@pytest.mark.slow
def test_a_search_goes_on_on_another_node_from_its_last_trial(cluster, nodes, tmp_path):
    (tmp_path / "studies").mkdir()
    script = tmp_path / "studies" / "search.py"
    script.write_text(SEARCH)
    (tmp_path / "list").write_text(f"python {script} --record tiny/a\n")
    here = tmp_path / "results" / "tiny" / "a.trials.jsonl"
    # An earlier command has left two trials.
    here.parent.mkdir(parents=True)
    here.write_text('{"trial": 0}\n{"trial": 1}')
    starts = tmp_path / "studies" / "starts"

    by_raylet = {node.all_processes["raylet"][0].process.pid: node for node in nodes}

    def lose_the_node_of_the_search():
        cluster.remove_node(by_raylet[int(starts.read_text().split()[1])], allow_graceful=False)
        # Both nodes are this machine: the second one is not to see what the first one had.
        shutil.rmtree(tmp_path / "answer-ranking" / "tasks", ignore_errors=True)

    with as_soon_as(lambda: len(here.read_text().splitlines()) >= 5, lose_the_node_of_the_search):
        assert reproduce(tmp_path, ray=cluster.address) == 0
    (first, _), (second, _) = (map(int, line.split()) for line in starts.read_text().splitlines())
    assert first == 2 and 5 <= second < 16
    trials = [json.loads(line)["trial"] for line in here.read_text().splitlines()]
    assert trials == list(range(16)) and here.with_name("a.json").exists()
