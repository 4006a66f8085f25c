"""The entries of the catalogue whose networks differ."""

from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.models.catalogue.cosinet import ACROSS

# Another way of training, and a layer across the candidates that Cosinet's lists have as well.
ALIKE = {"rank-mp-cnn", "hyperqa-list", "cosineqa-list", *(f"ca-list-{across}" for across in ACROSS)}
DISTINCT = [entry for entry in CATALOGUE.values() if entry.name not in ALIKE]
