"""The state that a training leaves after every epoch: what is read is what was written, or it is refused."""

import re

import numpy as np
import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.models import hyperqa
from answer_ranking.training import Pairwise, PairwiseOptions, fit
from answer_ranking.training.fitting import TrainingState


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    arrays = [[rng.normal(size=(5, 3)).astype("float32"), rng.normal(size=3)] for _ in range(3)]
    history = [{"loss": 0.1, "dev_map": 1 / 3}]
    state = TrainingState(*arrays, history, best_epoch=0, key="k", path=tmp_path / "state.npz")
    state.save()
    return state, state.path


def test_a_state_is_read_as_it_was_written(saved):
    state, path = saved
    loaded = TrainingState.load(path, "k")
    assert (loaded.history, loaded.best_epoch, loaded.key) == (state.history, state.best_epoch, state.key)
    for name in ("weights", "optimizer", "best_weights"):
        for ours, theirs in zip(getattr(loaded, name), getattr(state, name), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype


def test_a_damaged_state_is_refused_by_name_or_has_no_harm(saved):
    _, path = saved
    content = path.read_bytes()
    pieces = [content[:end] for end in (0, 1, len(content) // 2, len(content) - 1)]
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 255
        pieces.append(bytes(changed))
    whole, refused = TrainingState.load(path, "k"), 0
    for piece in [*pieces, b"hello" * 100]:
        path.write_bytes(piece)
        try:
            read = TrainingState.load(path, "k")
        except UserError as error:
            assert re.search(r"state\.npz is damaged .* Remove it", str(error))
            refused += 1
        else:
            # The byte lay where a zip file keeps a date, or nothing.
            np.testing.assert_equal(vars(read), vars(whole))
    assert refused > len(pieces) / 2


def test_a_state_that_lacks_an_array_is_refused(saved):
    _, path = saved
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored if name != "optimizer_0"}
    np.savez(path, **arrays)
    with pytest.raises(UserError, match=r"state\.npz is damaged"):
        TrainingState.load(path, "k")


def test_the_state_of_another_configuration_is_refused(saved):
    with pytest.raises(UserError, match=r"state\.npz belongs to another configuration"):
        TrainingState.load(saved[1], "another")


def test_a_state_of_another_ranker_is_refused(make_split, make_vectors, tmp_path):
    split, state = make_split(), tmp_path / "state.npz"
    way = Pairwise(split, PairwiseOptions(epochs=1))
    fit(hyperqa(make_vectors(), 4), way, dev=split, state=state, verbose=False)
    adam = Pairwise(split, PairwiseOptions(epochs=2, optimizer="adam"))
    for ranker, other in ((hyperqa(make_vectors(), 5), way), (hyperqa(make_vectors(), 4), adam)):
        with pytest.raises(UserError, match=r"state\.npz belongs to another configuration"):
            fit(ranker, other, dev=split, state=state, verbose=False)
