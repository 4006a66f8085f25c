"""Cosinet and Compare-Aggregate on WikiQA (Table 4 of the Cosinet paper).

A quick look with one seed: python reproduce/cosinet_wikiqa.py

The paper's best: python reproduce/cosinet_wikiqa.py --model cosinet-list-birnn

A cross-encoder, for the BERT-base that the paper quotes: --model cross-encoder or --model cross-encoder-list.
It trains all weights of MiniLM, or of the encoder that --embeddings names, seven to twenty minutes an epoch.

The paper's word vectors are ConceptNet Numberbatch, 300 dimensions: name the file with --embeddings.
"""

from typing import Any

from answer_ranking.models.catalogue import Entry, of_paper
from answer_ranking.reproduce.experiments.data_options import DataOptions, EncoderData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = DataOptions(dataset="wikiqa")
# Chosen on dev (reproduce/searches), pointwise and list-wise with a BiRNN; every model has them.
VALUES = {"embedding_dropout": 0.2, "l2": 1e-5}


def _values(entry: Entry) -> dict[str, Any]:
    """Return the values of a model; the rates are the best of a few on dev."""
    is_list = entry.method == "listwise"
    if entry.network == "cosinet.cosinet":
        return VALUES | {"learning_rate": 2e-3 if is_list else 4e-3}
    return VALUES if is_list else VALUES | {"learning_rate": 1e-3}


PRESETS = [Experiment.of(entry.name, DATA, **_values(entry)) for entry in of_paper("cosinet")]
PRESETS += [
    Experiment.of(name, EncoderData(dataset="wikiqa")) for name in ("cross-encoder", "cross-encoder-list")
]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
