"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on TrecQA, clean (Table 4 of the Attentive Pooling paper).

A quick look with one seed: python reproduce/attentive_pooling_trecqa.py

The options are the paper's for the model (Table 2), but for those stated here. The wrong answers are drawn
once per batch, the paper's for each pair. The paper trains on the 1,162 questions of TRAIN-ALL that have
correct and wrong answers; ours trains on every question with a correct one (67 of the 1,229 have no wrong
one), since the wrong answers come from the whole answer set. The paper reports the clean protocol; one
training serves both, clean and raw: they differ in the test questions that count.
"""

from answer_ranking.reproduce.experiments.data_options import ScaledData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = ScaledData(dataset="trecqa", variant="TRAIN-ALL", mask_numbers=True)
VALUES = {"patience": 5, "share_negatives": True}
PRESETS = [
    Experiment.of("ap-cnn", DATA, word_vector_norm=2.0, **VALUES),
    Experiment.of("qa-cnn", DATA, batch_size=20, reduction="sum", **VALUES),
    Experiment.of("ap-bilstm", DATA, **VALUES),
    Experiment.of("qa-bilstm", DATA, **VALUES),
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
