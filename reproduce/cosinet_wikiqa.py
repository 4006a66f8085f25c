"""Cosinet and Compare-Aggregate on WikiQA (Table 4 of the Cosinet paper).

A quick look with one seed: python reproduce/cosinet_wikiqa.py

The paper's best: python reproduce/cosinet_wikiqa.py --model cosinet-list-birnn

The paper's word vectors are ConceptNet Numberbatch, 300 dimensions: name the file with --embeddings.
"""

from typing import Any

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.cosinet import NAMES, cosinet, run_cosinet
from answer_ranking.reproduce.experiments.options import DataOptions, parse

DATA = DataOptions(dataset="wikiqa")
# Chosen on dev (reproduce/searches) for Cosinet, pointwise and list-wise with a BiRNN; every model has them.
VALUES = {"embedding_dropout": 0.2, "l2": 1e-5}
POINTWISE = {"learning_rate": 1e-3}
# Vectors of length 1, as the paper's are: the relatedness counts for more beside them. Rates by dev.
COSINET = {"unit_words": True, "learning_rate": 1e-3}


def _values(name: str) -> dict[str, Any]:
    rate = {} if "list" in name else POINTWISE
    return VALUES | rate | (COSINET if name.startswith("cosinet") else {})


PRESETS = [cosinet(name, DATA, **_values(name)) for name in NAMES]


if __name__ == "__main__":
    run_command(lambda: run_cosinet(parse(__doc__, PRESETS)))
