"""Cosinet and Compare-Aggregate on Natural Questions (Table 6 of the Cosinet paper).

The paper's task, the paragraph that answers a question: python reproduce/cosinet_nq_la.py

A small sample, the sentence of the paragraph: python reproduce/cosinet_nq_la.py --dataset qed

NQ-LA wants the official files of Natural Questions, more than 40 GB: `answer-ranking data get nq-la` says
where to put them. The paper's word vectors are ConceptNet Numberbatch, 300 dimensions: name the file with
--embeddings.
"""

from answer_ranking.models.catalogue import of_paper
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = DataOptions(dataset="nq-la")
PRESETS = [Experiment.of(entry.name, DATA) for entry in of_paper("cosinet")]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
