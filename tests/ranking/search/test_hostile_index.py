"""An index made to harm whoever opens it: files that expand, and values of wrong types, with right hashes."""

import copy as copying
import json
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.search import building
from answer_ranking.ranking.search.manifest import Manifest, name_of

LONG = "w1 " * 7_000_000
HOSTILE = ("x", -1, 10**30, 0.5, float("nan"), None, [], {"x": 1})


SEARCH = """
import pathlib, sys
from answer_ranking.base.errors import UserError
from answer_ranking.ranking.search.index import AnswerIndex
for folder in sys.argv[1:]:
    try:
        AnswerIndex.open(folder).search("w1 w2", k=1000, first_stage="bm25")
    except UserError as error:
        print(error)
status = pathlib.Path("/proc/self/status")
print(status.read_text().split("VmHWM:")[1].split()[0] if status.exists() else 0)
"""


def search_all(folder):
    """Read everything that a search may read; a UserError is one line that names a file and a cure."""
    try:
        index = AnswerIndex.open(folder)
        index.search(["w1 w2", "w3"], k=2_000, first_stage="+".join(index.manifest.first_stages))
        index.search("w1", first_stage="bm25", where={"candidate_id": ["a1", "a2"]})
    except UserError as error:
        assert "\n" not in str(error) and str(folder) in str(error), error
        return False
    return True


def resigned(folder, *changed):
    """Write the hashes of all files anew; files that were changed have no check sums any more."""
    for path in changed:
        path.with_name(path.name + ".sums").unlink(missing_ok=True)
    Manifest.read(folder).write(folder)


def bomb(kind, n):
    """A column that takes few bytes in a file and very many in memory."""
    if kind == "lists":
        values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000 * n, np.int32)), [LONG[:10_000]])
        return pa.ListArray.from_arrays(np.arange(n + 1) * 10_000, values)
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), [LONG])


def test_a_text_that_recurs_is_refused_before_it_is_expanded(index_folder, tmp_path):
    """tests/data_prep/test_hostile_tables.py has the other ways in which Parquet holds much in few bytes."""
    folders = []
    for kind in ("dictionary", "lists"):
        folders.append(shutil.copytree(index_folder, tmp_path / kind))
        # All segments have columns of the same types.
        for path in folders[-1].rglob("texts.parquet"):
            table = pq.read_table(path)
            place = table.schema.get_field_index("topic")
            table = table.set_column(place, "topic", bomb(kind, len(table)))
            pq.write_table(table, path, row_group_size=128, compression="zstd", store_schema=False)
            assert path.stat().st_size < 2**20
        resigned(folders[-1])
    done = subprocess.run([sys.executable, "-c", SEARCH, *folders], stdout=subprocess.PIPE, text=True)
    *errors, kilobytes = done.stdout.splitlines()
    for folder, error in zip(folders, errors, strict=True):
        assert str(folder) in error and "texts.parquet is damaged" in error
    assert int(kilobytes) < 800_000


def test_too_little_memory_is_said_with_its_cure(copy, monkeypatch):
    def too_little(*arguments, **options):
        raise pa.ArrowMemoryError("malloc of size 4194304000 failed")

    index = AnswerIndex.open(copy)
    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", too_little)
    with pytest.raises(UserError, match=r"texts\.parquet needs more memory than there is\. Free some"):
        index.search("w1")


def test_damaged_texts_with_right_hashes_end_in_one_kind_of_error(copy, damaged):
    path = max(copy.rglob("texts.parquet"), key=lambda each: each.stat().st_size)
    outcomes = []
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        resigned(copy)
        outcomes.append(search_all(copy))
    assert not all(outcomes)


def places(facts, path=()):
    """Every place in nested values, few of each list or table."""
    children = []
    if isinstance(facts, dict):
        children = list(facts.items())[:20]
    elif isinstance(facts, list):
        children = list(enumerate(facts))[:2]
    for key, value in children:
        yield (*path, key)
        yield from places(value, (*path, key))


def test_wrong_types_in_a_manifest_with_the_right_hash(copy, signed):
    sound = json.loads((copy / "manifest.json").read_text())
    del sound["sha256"]
    refused = 0
    every = list(places(sound))
    for place in every:
        for value in HOSTILE:
            facts = copying.deepcopy(sound)
            inner = facts
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value

            def change(old, facts=facts):
                old.clear()
                old.update(facts)

            (copy / "manifest.json").write_text(json.dumps({**sound, "sha256": ""}))
            signed(copy, change)
            refused += not search_all(copy)
    assert refused > len(every) * len(HOSTILE) // 2


@pytest.mark.parametrize("vocabulary", [[], {"w1": "x"}, {"w1": -5}, {"w1": 10**30}])
def test_wrong_numbers_of_words(copy, vocabulary):
    path = next(copy.glob("bm25-*/vocab.index.json"))
    path.write_text(json.dumps(vocabulary))
    resigned(copy, path)
    assert not search_all(copy)


@pytest.mark.parametrize("n_texts", ["x", 10**18, -1, 999])
def test_a_wrong_number_of_texts(copy, n_texts):
    path = next(copy.rglob("params.index.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_docs": n_texts}))
    resigned(copy)
    assert not search_all(copy)


@pytest.mark.parametrize("array", ["data", "indices", "indptr"])
@pytest.mark.parametrize("dtype", ["complex64", "U3", "float64"])
def test_arrays_of_other_numbers(copy, array, dtype):
    path = next(copy.rglob(f"{array}.csc.index.npy"))
    np.save(path, np.load(path).astype(dtype))
    resigned(copy, path)
    assert search_all(copy) == (array == "data" and dtype == "float64")


@pytest.mark.parametrize("shape", ["(-1, 8)", "(0,)", "()", "(10**12, 8)", "'x'", "(9, " * 99, str(10**30)])
@pytest.mark.parametrize("name", ["points.npy", "indptr.csc.index.npy"])
def test_an_array_that_lies_about_its_shape(copy, name, shape):
    path = min(copy.rglob(name))
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(400))
    resigned(copy, path)
    assert not search_all(copy)


def test_points_that_do_not_fit(copy):
    path = min(copy.rglob("points.npy"))
    points = np.load(path)
    np.save(path, points[:, :-1])
    resigned(copy, path)
    assert not search_all(copy)
    paths = list(copy.rglob("points.npy"))
    for path in paths:
        np.save(path, np.load(path)[:, : points.shape[1] - 1])
    resigned(copy, *paths)
    assert not search_all(copy)


@pytest.mark.parametrize(
    "rows", [np.array([5_000]), np.array([-1]), np.array([0.5]), np.array([[1]]), np.array([1, 2])]
)
def test_deleted_rows_that_do_not_exist(copy, signed, rows):
    name = f"deleted-{name_of(rows.tobytes().hex())}.npy"
    np.save(copy / name, rows)
    signed(copy, lambda facts: facts.update(deleted=name, n_deleted=1))
    assert not search_all(copy)


def test_a_build_that_was_killed_after_its_manifest_is_ended(stub, answers, tmp_path, monkeypatch):
    folder = tmp_path / "index"
    write = Manifest.write

    def killed(manifest, folder):
        write(manifest, folder)
        raise KeyboardInterrupt

    for end in ("build", "add"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(building.Manifest, "write", killed)
            AnswerIndex.build(stub.StubRanker(), answers, folder / end)
        assert len(AnswerIndex.open(folder / end)) == 1000
        if end == "build":
            AnswerIndex.build(stub.StubRanker(), answers, folder / end)
        else:
            AnswerIndex.open(folder / end).delete(["a1"])
        with pytest.raises(UserError, match="is an index already"):
            AnswerIndex.build(stub.StubRanker(), answers, folder / end)
