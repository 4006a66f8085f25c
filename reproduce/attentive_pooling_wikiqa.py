"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on WikiQA (Table 5 of the Attentive Pooling paper).

A quick look with one seed: python reproduce/attentive_pooling_wikiqa.py --share-negatives

Another model: python reproduce/attentive_pooling_wikiqa.py --model qa-bilstm

The options are the paper's for the model (Table 2), but for those stated here. --share-negatives draws the
wrong answers once per batch and not for each pair, which takes a fraction of the time.
"""

from answer_ranking.reproduce.experiments.data_options import ScaledData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = ScaledData(dataset="wikiqa")
PRESETS = [
    Experiment.of("ap-cnn", DATA, patience=5, word_vector_norm=2.0),
    Experiment.of("qa-cnn", DATA, patience=5),
    Experiment.of("ap-bilstm", DATA, patience=5),
    Experiment.of("qa-bilstm", DATA, patience=5),
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
