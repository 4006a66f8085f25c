"""CTRN, QRNN and the LSTM baseline on TrecQA (Table 6 of the CTRN paper).

A quick look with one seed: python reproduce/ctrn_trecqa.py --model ctrn

The large training set, with options of its own: python reproduce/ctrn_trecqa.py --variant TRAIN-ALL

TRAIN has 94 questions (25 epochs in the paper), TRAIN-ALL 1,229 (5 epochs). The paper appends four
word-overlap features to the text vectors. They are strong by themselves: --model features shows what they
reach alone, --no-overlap-features what a network reaches without them.
"""

from answer_ranking.reproduce.experiments.data_options import OverlapData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

TRAIN = OverlapData(dataset="trecqa", variant="TRAIN", mask_numbers=True, overlap_features=True)
TRAIN_ALL = OverlapData(dataset="trecqa", variant="TRAIN-ALL", mask_numbers=True, overlap_features=True)
# From the recorded searches on dev (reproduce/searches).
DROPOUT = {"dropout": 0.2, "embedding_dropout": 0.2}
WINDOWS = {**DROPOUT, "kernel_size": 3}
FEATURES = {"learning_rate": 3e-3, "hidden": (64,), "dropout": 0.2, "l2": 0.0}
LARGE = {"learning_rate": 3e-4, "epochs": 5, "batch_size": 128, "hidden": (128, 128), "l2": 0.0}
PRESETS = [
    # The best.
    Experiment.of("ctrn", TRAIN, learning_rate=1e-3, hidden=(128, 128), **WINDOWS),
    # Fourth of 7 (0.8355; the best has 0.8379): over five seeds 0.837, the best 0.836 (docs/ctrn.md).
    Experiment.of("qrnn", TRAIN, learning_rate=3e-4, **WINDOWS),
    # The best.
    Experiment.of("lstm", TRAIN, learning_rate=1e-3, l2=1e-4, **(DROPOUT | {"dropout": 0.5})),
    # The best.
    Experiment.of("features", TRAIN, **FEATURES),
    # The best.
    Experiment.of("ctrn", TRAIN_ALL, **WINDOWS, **LARGE),
    # Not searched: those of CTRN.
    Experiment.of("qrnn", TRAIN_ALL, **WINDOWS, **LARGE),
    # Not searched: the second of TRAIN's 7.
    Experiment.of("lstm", TRAIN_ALL, learning_rate=3e-4, epochs=5, **DROPOUT),
    # Not searched: those of TRAIN.
    Experiment.of("features", TRAIN_ALL, epochs=5, **FEATURES),
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
