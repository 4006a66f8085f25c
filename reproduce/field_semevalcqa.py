"""The systems that the papers quote, on SemEval-2016 task 3A; `evaluation/papers.toml` says whose they are.

A quick look with one seed: python reproduce/field_semevalcqa.py --model arc-i

The word vectors are a skip-gram of the task's own texts, as in `ctrn_semevalcqa.py`. The second table counts
every question, as SemEval's scorer does.
"""

from answer_ranking.models.catalogue import of_paper
from answer_ranking.reproduce.experiments.data_options import features_if_taken
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import print_count_all, run_script

DATA = {"dataset": "semevalcqa", "embeddings": ("task-skipgram-200d",)}
PRESETS = [Experiment.of(entry.name, features_if_taken(entry, **DATA)) for entry in of_paper("field")]


if __name__ == "__main__":
    run_script(__doc__, PRESETS, print_count_all)
