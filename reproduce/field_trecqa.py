"""The systems that the papers quote, on TrecQA: `evaluation/papers.toml` names the paper of each.

A quick look with one seed: python reproduce/field_trecqa.py --model arc-i

The large training set: python reproduce/field_trecqa.py --model arc-i --variant TRAIN-ALL

The options are those of `field_wikiqa.py`. One training serves both protocols, raw and clean.
"""

from answer_ranking.models.catalogue import of_paper
from answer_ranking.reproduce.experiments.data_options import features_if_taken
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

PRESETS = []
for variant in ("TRAIN", "TRAIN-ALL"):
    for entry in of_paper("field"):
        data = features_if_taken(entry, dataset="trecqa", variant=variant, mask_numbers=True)
        PRESETS.append(Experiment.of(entry.name, data))


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
