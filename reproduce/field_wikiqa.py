"""The systems that the papers quote, on WikiQA: `evaluation/papers.toml` names the paper of each.

A quick look with one seed: python reproduce/field_wikiqa.py --model arc-i

The options are those of the system's own paper where it states them; sizes are cut where they take hours.
"""

from answer_ranking.models.catalogue import of_paper
from answer_ranking.reproduce.experiments.data_options import features_if_taken
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

PRESETS = [
    Experiment.of(entry.name, features_if_taken(entry, dataset="wikiqa")) for entry in of_paper("field")
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
