import hashlib
import json
import re
from dataclasses import replace

import pytest

from answer_ranking.data_prep import DATASETS, UserError
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.data_prep.description import DataFile
from answer_ranking.data_prep.downloads.data_files import DataFiles, _holds_json
from answer_ranking.data_prep.readers.wikiqa import WIKIQA


@pytest.mark.parametrize("name", ["squad/train-v1.1.json", "qed-nq/qed-dev.jsonlines"])
@pytest.mark.parametrize(
    ("escape", "whole"),
    [
        (r"\ud83d\ude00", True),
        (r"\\ud800", True),
        (r"\ud800", False),
        (r"\ude00\ud83d", False),
        (r"\\\ud800", False),
        (r"\ud83d \ude00", False),
    ],
)
def test_half_of_a_character_in_json_is_a_user_error_that_says_where(tmp_path, escape, whole, name):
    path = tmp_path / name
    path.parent.mkdir()
    content = f'{{"a": 1}}\n{{"b": "no{escape}"}}\n'.encode()
    path.write_bytes(content)
    description = replace(WIKIQA, files=(DataFile(name, hashlib.sha256(content).hexdigest(), len(content)),))
    files = DataFiles(description, tmp_path)
    for read in (files, lambda name: "".join(files.lines(name))):
        if whole:
            json.loads(read(name).splitlines()[1])["b"].encode()
            continue
        with pytest.raises(
            UserError, match=rf"{re.escape(str(path))}, line 2: \\ud[89a-f][0-9a-f]{{2}} alone"
        ):
            read(name)


def test_every_data_sets_json_is_known_by_its_name():
    paths = [file.path for name in DATASETS for file in find_description(name).files]
    assert {path for path in paths if ".json" in path} == {path for path in paths if _holds_json(path)}
