"""An index whose files are damaged, or whose disk is full."""

import json

import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex


def test_a_folder_of_other_things_is_left_alone(stub, answers, copy, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match=r"is not empty \(letter.txt\)"):
        AnswerIndex.build(None, answers, tmp_path / "mine")
    (tmp_path / "mine" / ".letter.part").touch()
    with pytest.raises(UserError, match=r"is not empty"):
        AnswerIndex.build(None, answers, tmp_path / "mine")
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == [".letter.part", "letter.txt"]
    with pytest.raises(UserError, match="is an index already"):
        AnswerIndex.build(None, answers, copy)
    with pytest.raises(UserError, match="is not an index"):
        AnswerIndex.open(tmp_path / "mine")


def test_every_damaged_or_missing_file_is_named(copy):
    files = [path for path in copy.rglob("*") if path.is_file() and path.name != "lock"]
    assert len(files) > 10
    for path in files:
        content = path.read_bytes()
        for damage in (content[:-1], content[:-1] + bytes([content[-1] ^ 1])):
            path.write_bytes(damage)
            with pytest.raises(UserError, match=r"Build the index again") as error:
                AnswerIndex.open(copy)
            assert str(path) in str(error.value)
        path.unlink()
        with pytest.raises(UserError) as error:
            AnswerIndex.open(copy)
        assert path.name in str(error.value)
        path.write_bytes(content)
    assert len(AnswerIndex.open(copy)) == 1000


def test_an_index_of_another_format_says_which(copy):
    facts = json.loads((copy / "manifest.json").read_text()) | {"format": 9, "package": "7.0"}
    (copy / "manifest.json").write_text(json.dumps(facts))
    with pytest.raises(UserError, match=r"7\.0 in format 9.*Build the index again"):
        AnswerIndex.open(copy)


def test_damaged_manifests_never_end_in_another_error(copy, damaged):
    sound = (copy / "manifest.json").read_bytes()
    for content in damaged(sound):
        (copy / "manifest.json").write_bytes(content)
        try:
            AnswerIndex.open(copy)
        except UserError:
            continue
        # White space may have changed, and nothing else.
        assert json.loads(content) == json.loads(sound)


def test_a_full_disk_loses_nothing(copy, stub, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    index = AnswerIndex.open(copy)
    for target in (
        "pathlib.Path.write_bytes",
        "bm25s.BM25.save",
        "answer_ranking.ranking.search.manifest.json.dump",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, full)
            with pytest.raises(UserError, match=r"No space left on device\. Free space"):
                index.add(pd.DataFrame({"text": stub.texts(50, seed=9)}))
        assert len(AnswerIndex.open(copy)) == 1000
    index.add(pd.DataFrame({"text": stub.texts(50, seed=9)}))
    assert len(AnswerIndex.open(copy)) == 1050
    parts = [path.name for path in copy.rglob("*.part*")]
    assert parts == []
