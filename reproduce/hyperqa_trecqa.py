"""HyperQA and CosineQA on TrecQA (Tables 5 and 6 of the HyperQA paper).

A quick look with one seed: python reproduce/hyperqa_trecqa.py

The small training set, with options of its own: python reproduce/hyperqa_trecqa.py --variant TRAIN

One training serves both protocols, raw and clean: they differ in the test questions that count.
"""

from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.norms_figure import draw_norms
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

TRAIN_ALL = DataOptions(dataset="trecqa", variant="TRAIN-ALL", mask_numbers=True)
TRAIN = DataOptions(dataset="trecqa", variant="TRAIN", mask_numbers=True)
# From the recorded searches on dev (reproduce/searches).
SMALL = {"dimension": 200, "max_norm": 0.9, "dropout": 0.1, "embedding_dropout": 0.3}
PRESETS = [
    # The best.
    Experiment.of("hyperqa", TRAIN_ALL, learning_rate=0.1, clip_norm=1.0),
    # Second of three rates (0.8279; 0.1 has 0.8304). The three seeds of studies/eq9.py prefer it to 0.1.
    Experiment.of("cosineqa", TRAIN_ALL, learning_rate=0.03, clip_norm=1.0),
    # For contextual words (--embeddings minilm), in no paper.
    Experiment.of("hyperqa-list", TRAIN_ALL),
    Experiment.of("cosineqa-list", TRAIN_ALL),
    # The best.
    Experiment.of("hyperqa", TRAIN, learning_rate=0.2, batch_size=50, clip_norm=1.0, l2=1e-4, **SMALL),
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS, draw_norms)
