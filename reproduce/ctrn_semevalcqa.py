"""CTRN, QRNN and the LSTM baseline on SemEvalCQA, QatarLiving (Table 5 of the CTRN paper).

A quick look with one seed: python reproduce/ctrn_semevalcqa.py --model ctrn

A question is its subject and its body; "Good" comments are correct answers, all others wrong. The word
vectors are trained on the task's own texts, as the paper's GloVe vectors of this size are. Beside the papers'
measure, over the questions that have a Good comment, stands that of the task's own scorer, which counts every
question and those without a Good comment as 0.
"""

from answer_ranking.reproduce.experiments.data_options import OverlapData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import print_count_all, run_script

DATA = OverlapData(dataset="semevalcqa", embeddings=("task-skipgram-200d",))
# CTRN's are the best of the recorded search on dev; the others have the best of three early trials.
VALUES = {"learning_rate": 3e-4, "dropout": 0.2, "embedding_dropout": 0.2, "l2": 0.0}
PRESETS = [
    Experiment.of("ctrn", DATA, **(VALUES | {"kernel_size": 3, "filters": 256, "l2": 4e-6})),
    Experiment.of("qrnn", DATA, **VALUES, kernel_size=3),
    Experiment.of("lstm", DATA, **VALUES),
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS, print_count_all)
