"""An index that somebody else made, or that was damaged: it reaches and finds nothing that is not its own."""

import shutil
import zlib

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.model_folder import find_model
from answer_ranking.ranking.search import checked_array
from answer_ranking.ranking.search.checked_array import CheckedArray, write_sums
from answer_ranking.ranking.search.manifest import Manifest

MORE = pd.DataFrame({"answer": ["A new one."], "candidate_id": ["new"]})


@pytest.fixture
def letters(tmp_path):
    """A folder of the user's, with names that an index might have."""
    folder = tmp_path / "letters"
    (folder / ("0" * 24)).mkdir(parents=True)
    (folder / ("0" * 24) / "dear.txt").write_text("dear")
    (folder / "bm25-mine").write_text("mine")
    return folder


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("work", ["open", "add", "delete"])
def test_segments_that_lie_elsewhere_are_refused(copy, letters, work):
    index = AnswerIndex.open(copy)
    shutil.copytree(copy / "segments", letters, dirs_exist_ok=True)
    shutil.rmtree(copy / "segments")
    (copy / "segments").symlink_to(letters)
    before = contents(letters)
    with pytest.raises(UserError, match="segments"):
        if work == "open":
            AnswerIndex.open(copy)
        elif work == "add":
            index.add(MORE)
        else:
            index.delete(["a1"])
    assert contents(letters) == before


@pytest.mark.parametrize("name", ["model/notes.txt", "lock", ".model.part"])
def test_a_link_anywhere_is_refused(copy, letters, name):
    index = AnswerIndex.open(copy)
    (copy / name).unlink(missing_ok=True)
    (copy / name).symlink_to(letters / "bm25-mine" if name == "lock" else letters)
    before = contents(letters)
    for work in (lambda: AnswerIndex.open(copy), lambda: index.add(MORE), lambda: index.delete(["a1"])):
        with pytest.raises(UserError, match=r"(?s)link"):
            work()
    assert contents(letters) == before


@pytest.mark.parametrize("name", ["../letters", "/etc", "A" * 24])
@pytest.mark.parametrize("field", ["segments", "stages", "deleted", "files"])
def test_a_manifest_that_names_other_places_is_refused(copy, letters, signed, name, field):
    def change(facts):
        if field == "segments":
            facts["segments"][0][0] = name
        elif field == "stages":
            facts["stages"]["nearest"] = [name or "x", 1]
        elif field == "files":
            facts["files"][name] = [0, ""]
        else:
            facts[field] = name or "x"

    signed(copy, change)
    with pytest.raises(UserError, match="damaged"):
        AnswerIndex.open(copy)


def test_an_addition_removes_its_own_parts_alone(copy):
    index = AnswerIndex.open(copy)
    for name in ("segments/mine", "bm25-mine", "deleted-mine.npy", "notes.txt", ".mine.part"):
        (copy / name).write_text("mine")
    index.add(MORE)
    index.delete(["new"])
    index.delete(["a1"])
    kept = ("segments/mine", "bm25-mine", "deleted-mine.npy", "notes.txt", ".mine.part")
    assert all((copy / name).read_text() == "mine" for name in kept)
    # The state before may still be read; what is older is gone.
    assert len(list(copy.glob("deleted-????????????????????????.npy"))) == 2
    assert len(list(copy.glob("bm25-????????????????????????"))) == 1


def test_a_model_folder_with_a_link_is_refused(tmp_path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "model").mkdir()
    for name in ("vocabulary.json", "ranker.keras"):
        (tmp_path / "model" / name).symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match="link"):
        find_model(tmp_path / "model")


def damage(path, start, content):
    with path.open("r+b") as file:
        file.seek(start)
        file.write(content)


def large_files(folder):
    """The files of a kind of which the manifest compares both ends alone once they are large."""
    names = ("points.npy", "data.csc.index.npy", "indices.csc.index.npy", "vocab.index.json")
    return [path for name in names for path in sorted(folder.rglob(name))]


def test_damage_within_large_files_is_found(copy, answers, monkeypatch):
    # As in an index of a million: only the ends of the files are compared when it is opened.
    monkeypatch.setattr("answer_ranking.ranking.search.manifest._WHOLE", 1_000)
    monkeypatch.setattr("answer_ranking.ranking.search.manifest._END", 128)
    Manifest.read(copy).write(copy)
    questions = answers["answer"].tolist()[:200]
    expected = AnswerIndex.open(copy).search(questions, first_stage="both+ngrams")
    rng = np.random.default_rng(0)
    for path in large_files(copy):
        sound = path.read_bytes()
        for _ in range(3):
            place = int(rng.integers(200, len(sound) - 200))
            damage(path, place, bytes([sound[place] ^ (1 << int(rng.integers(8)))]))
            with pytest.raises(UserError, match="damaged") as error:
                AnswerIndex.open(copy).search(questions, first_stage="both+ngrams")
            assert path.name in str(error.value) or path.parent.name in str(error.value)
            path.write_bytes(sound)
    pd.testing.assert_frame_equal(
        AnswerIndex.open(copy).search(questions, first_stage="both+ngrams"), expected
    )


def test_points_that_are_no_numbers_never_come_first(copy, stub):
    # An index of version 0.1 has no check sums; NaN there must not be found either.
    for path in copy.rglob("*.sums"):
        path.unlink()
    path = max(copy.rglob("points.npy"), key=lambda each: each.stat().st_size)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 400)
    Manifest.read(copy).write(copy)
    index = AnswerIndex.open(copy)
    with pytest.raises(UserError, match="damaged"):
        index.search(stub.texts(1000)[:50], first_stage="nearest", k=1000)


def test_an_index_without_check_sums_is_read(copy, answers):
    questions = answers["answer"].tolist()[:20]
    expected = AnswerIndex.open(copy).search(questions, first_stage="both")
    for path in copy.rglob("*.sums"):
        path.unlink()
    Manifest.read(copy).write(copy)
    pd.testing.assert_frame_equal(AnswerIndex.open(copy).search(questions, first_stage="both"), expected)


def test_check_sums_of_larger_blocks_are_read(tmp_path):
    path, numbers = tmp_path / "numbers.npy", np.arange(10_000)
    np.save(path, numbers)
    content = path.read_bytes()
    sums = [zlib.crc32(content[start : start + 16_384]) for start in range(0, len(content), 16_384)]
    path.with_name("numbers.npy.sums").write_bytes(np.array(sums, "<u4").tobytes())
    np.testing.assert_array_equal(CheckedArray(path).slice(0, 10_000), numbers)
    assert checked_array.read_checked(path) == content
    damage(path, 70_000, b"\xff")
    with pytest.raises(ValueError, match="not what was written"):
        CheckedArray(path).slice(0, 10_000)


@pytest.mark.parametrize("width", [1, 7, 3_000])
def test_each_block_is_compared_when_it_is_read(tmp_path, width, monkeypatch):
    monkeypatch.setattr(checked_array, "_BLOCK", 1 << 10)
    path = tmp_path / "numbers.npy"
    numbers = np.arange(40_000 // width * width, dtype=np.float32).reshape(-1, width)
    np.save(path, numbers)
    write_sums(path)
    wrong = len(numbers) // 2
    offset = path.stat().st_size - numbers.nbytes
    damage(path, offset + wrong * width * 4, b"\x01")
    array = CheckedArray(path)
    far = np.array([0, len(numbers) - 1])
    if width < 1_000:  # else the rows between them are compared, too
        np.testing.assert_array_equal(array.rows(far), numbers[far])
    np.testing.assert_array_equal(array.slice(0, 2), numbers[:2])
    with pytest.raises(ValueError, match="not what was written"):
        array.rows(np.array([wrong]))
    with pytest.raises(ValueError, match="not what was written"):
        array.slice(0, len(numbers))
    damage(path, offset + wrong * width * 4, numbers[wrong, :1].tobytes())
    np.testing.assert_array_equal(CheckedArray(path).slice(0, len(numbers)), numbers)
