"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on SemEvalCQA, beside which HyperQA's Table 4 sets AP-CNN.

A quick look with one seed: python reproduce/attentive_pooling_semevalcqa.py

A question is its subject and its body; "Good" comments are correct answers, all others wrong. The wrong ones
that a model is trained on are those of the question's own thread, which it has to tell apart in the end. The
options that differ from the paper's, which has no such data set, were chosen for AP-CNN on dev
(reproduce/searches). Beside the measure over the questions that have a Good comment stands that of the task's
own scorer, which counts every question and those without a Good comment as 0.
"""

from answer_ranking.models.catalogue import of_paper
from answer_ranking.reproduce.experiments.data_options import ScaledData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import print_count_all, run_script

DATA = ScaledData(dataset="semevalcqa", embeddings=("task-skipgram-200d",))
ADAM = {"optimizer": "adam", "learning_rate": 3e-4, "learning_rate_decay": False}
VALUES = {"negatives_from": "own", "epochs": 8, "l2": 1e-4, "embedding_dropout": 0.4, **ADAM}
PRESETS = [Experiment.of(entry.name, DATA, **VALUES) for entry in of_paper("attentive_pooling")]


if __name__ == "__main__":
    run_script(__doc__, PRESETS, print_count_all)
