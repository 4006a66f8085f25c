"""Cosinet and Compare-Aggregate on SQuAD-sent (Table 5 of the Cosinet paper).

One seed: python reproduce/cosinet_squad_sent.py --model cosinet-list-birnn

Recorded: python reproduce/cosinet_squad_sent.py --seeds 1 --record cosinet/squad-sent/mine

The training set is that of SQuAD 1.1; --variant v2.0 is the paper's, of which the questions without an answer
are left out of training (--answerable-only). The paper's word vectors are ConceptNet Numberbatch, 300
dimensions: name the file with --embeddings.
"""

from answer_ranking.models.catalogue import of_paper
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = DataOptions(dataset="squad-sent", variant="v1.1")
PRESETS = [Experiment.of(entry.name, DATA) for entry in of_paper("cosinet")]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
