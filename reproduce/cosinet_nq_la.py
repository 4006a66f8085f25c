"""Cosinet and Compare-Aggregate on Natural Questions (Table 6 of the Cosinet paper).

The paper's task, the paragraph that answers a question: python reproduce/cosinet_nq_la.py

A small sample, the sentence of the paragraph: python reproduce/cosinet_nq_la.py --dataset qed

NQ-LA wants the official files of Natural Questions, more than 40 GB: `answer-ranking data get nq-la` says
where to put them. The paper's word vectors are ConceptNet Numberbatch, 300 dimensions: name the file with
--embeddings.
"""

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.cosinet import NAMES, cosinet, run_cosinet
from answer_ranking.reproduce.experiments.options import DataOptions, parse

DATA = DataOptions(dataset="nq-la")
PRESETS = [cosinet(name, DATA) for name in NAMES]


if __name__ == "__main__":
    run_command(lambda: run_cosinet(parse(__doc__, PRESETS)))
