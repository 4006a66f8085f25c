"""Model folders with damage anywhere in them: refused with a message, or of no consequence."""

import io
import itertools
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from answer_ranking.data_prep import UserError, Vocabulary
from answer_ranking.models import ctrn, hyperqa
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking import Ranker

WORDS = Vocabulary(["who", "painted", "the", "chapel", "rome", "in", "."])
PAIRS = [("Who painted the chapel?", "It rained in Rome."), ("Who?", "The chapel is in Rome.")]


def in_float16(path):
    """A model's file whose layers are edited to half precision."""
    edited = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(edited, "w") as other:
        for name in archive.namelist():
            content = archive.read(name)
            other.writestr(
                name, content.replace(b'"float32"', b'"float16"') if name == "config.json" else content
            )
    return edited.getvalue()


@pytest.mark.parametrize(("build", "share"), [(hyperqa, 1), (ctrn, 5)])
@pytest.mark.parametrize("file", ["ranker.keras", "vocabulary.json"])
def test_a_damaged_folder_is_refused_or_ranks_as_before(build, share, file, damaged, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype("float32")
    Ranker(build(vectors, 4), WORDS).save(tmp_path)
    expected = Ranker.load(tmp_path).score(PAIRS)
    path = tmp_path / file
    contents = [*itertools.islice(damaged(path.read_bytes()), 0, None, share)]
    if file == "ranker.keras":
        contents.append(in_float16(path))
    for content in contents:
        path.write_bytes(content)
        try:
            scores = Ranker.load(tmp_path).score(PAIRS)
        except UserError as error:
            assert str(tmp_path) in str(error)
        else:
            np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_a_folder_says_of_which_network_its_model_is(tmp_path, monkeypatch):
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype("float32")
    wide = replace(CATALOGUE["hyperqa"], name="hyperqa-wide")
    monkeypatch.setitem(CATALOGUE, "hyperqa-wide", wide)
    Ranker(hyperqa(vectors, 4), WORDS, kind="hyperqa-wide").save(tmp_path / "own")
    loaded = Ranker.load(tmp_path / "own")
    assert loaded.entry is wide and loaded.by_numpy
    Ranker(hyperqa(vectors, 4), WORDS, kind="ctrn").save(tmp_path / "other")
    with pytest.raises(UserError, match=r"'hyperqa'.*'ctrn'"):
        Ranker.load(tmp_path / "other")
