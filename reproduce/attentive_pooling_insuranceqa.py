"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on InsuranceQA (Table 3 of the Attentive Pooling paper).

A quick look: python reproduce/attentive_pooling_insuranceqa.py --epochs 1

Recorded: python reproduce/attentive_pooling_insuranceqa.py --seeds 1 --record
attentive_pooling/insuranceqa/mine

The paper reports the accuracy, which is the precision at 1, on InsuranceQA V1. The runs here are on V2
(V1's files are read as well, where you have them): their numbers cannot be compared with the paper's one to
one. The word vectors are word2vec's, trained on the training texts with 100 dimensions, as the paper's were.
The wrong answers are drawn once per batch, the paper's for each pair.
"""

from answer_ranking.reproduce.experiments.data_options import ScaledData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = ScaledData(dataset="insuranceqa", embeddings=("task-skipgram-100d",))
VALUES = {"epochs": 15, "share_negatives": True}
PRESETS = [
    Experiment.of("ap-cnn", DATA, window=3, **VALUES),
    Experiment.of("qa-cnn", DATA, batch_size=20, reduction="sum", **VALUES),
    Experiment.of("ap-bilstm", DATA, **VALUES),
    Experiment.of("qa-bilstm", DATA, **VALUES),
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
