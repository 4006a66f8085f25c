"""HyperQA and CosineQA on SemEvalCQA, QatarLiving (Table 4 of the HyperQA paper).

A quick look with one seed: python reproduce/hyperqa_semevalcqa.py

A question is its subject and its body; "Good" comments are correct answers, all others wrong. As in the paper
the word vectors are skip-gram vectors of the task's own texts, and the last layer sees the text vectors
beside their distance. The paper chose among 100, 200 and 300 dimensions; from 300, texts of 150 make its 45K
parameters. Beside the papers' measure, over the questions that have a Good comment, stands that of the task's
own scorer, which counts every question and those without a Good comment as 0.
"""

from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.norms_figure import draw_norms
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import print_count_all, run_script

DATA = DataOptions(dataset="semevalcqa", embeddings=("task-skipgram-300d",))
# The best of the recorded search on dev, at the paper's size.
VALUES = {"dimension": 150, "learning_rate": 0.1, "batch_size": 100, "l2": 1e-4, "raw_embeddings": True}
PRESETS = [Experiment.of("hyperqa", DATA, **VALUES), Experiment.of("cosineqa", DATA, **VALUES)]


if __name__ == "__main__":
    run_script(__doc__, PRESETS, draw_norms, print_count_all)
