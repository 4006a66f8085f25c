import re

import keras
import numpy as np
import pytest

from models.hyperqa import hyperqa
from training.fit_pairwise import fit_pairwise
from training.packed_bag_of_words import PackedBagOfWords
from training.pairwise_settings import PairwiseSettings


@pytest.fixture
def fit(make_split, make_vectors):
    def run(*callbacks, epochs=3, verbose=False, state_path=None, **options):
        ranker = hyperqa(make_vectors(), 4, max_norm=0.9)
        return fit_pairwise(
            ranker,
            PackedBagOfWords(ranker.get_layer("encoder")),
            make_split(20),
            make_split(6, seed=1),
            PairwiseSettings(epochs=epochs, batch_size=6, **options),
            lambda split, scores: {"map": float(scores[split.labels == 1].mean()), "spread": np.ptp(scores)},
            edge_norm=0.9,
            label="HyperQA, seed 0",
            state_path=state_path,
            callbacks=callbacks,
            verbose=verbose,
        )

    return run


def test_tensorboard_holds_the_history(fit, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    history = fit(keras.callbacks.TensorBoard(tmp_path)).history
    events = EventAccumulator(str(tmp_path / "train")).Reload()
    for name in ("loss", "edge_share", "gradient_norm", "dev_map", "dev_spread"):
        # Keras takes every figure without the prefix `val_` for one of training.
        logged = [tensor_util.make_ndarray(e.tensor_proto).item() for e in events.Tensors(f"epoch_{name}")]
        assert logged == pytest.approx([epoch[name] for epoch in history], rel=1e-6)


def test_a_user_s_callback_sees_every_epoch_and_may_end_the_training(fit):
    seen = []

    class UntilSecond(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((epoch, set(logs)))
            self.model.stop_training = epoch == 1

    result = fit(UntilSecond(), epochs=5)
    names = {"loss", "edge_share", "gradient_norm", "seconds", "dev_map", "dev_spread"}
    assert seen == [(0, names), (1, names)]
    assert [set(epoch) for epoch in result.history] == [names, names]
    assert all(np.isfinite(list(epoch.values())).all() for epoch in result.history)
    assert all(0 <= epoch["edge_share"] <= 1 for epoch in result.history)


def test_the_progress_line_tells_epoch_loss_best_and_time_left(fit, tmp_path, capsys):
    state = tmp_path / "state.npz"
    fit(epochs=2, state_path=state)
    assert capsys.readouterr().err == ""
    # Of a training that goes on, too, it names the best of all epochs.
    history = fit(verbose=True, state_path=state, learning_rate=1.0).history
    line = capsys.readouterr().err.strip().split("\r")[-1]
    best = max(epoch["dev_map"] for epoch in history)
    assert re.match(r"HyperQA, seed 0: 100%\|.*\| \d\d:\d\d<.* left, epoch 3/3, ", line)
    assert f"loss {history[-1]['loss']:.4f}" in line
    assert f"dev map {history[-1]['dev_map']:.4f} (best {best:.4f})" in line
