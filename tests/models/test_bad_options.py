"""Options that no network can have are refused by name."""

import numpy as np
import pytest

from answer_ranking.models.networks.attentive_pooling import ap_cnn
from answer_ranking.models.networks.compare_aggregate import clipped_compare_aggregate, compare_aggregate
from answer_ranking.models.networks.cosinet import cosinet
from answer_ranking.models.networks.ctrn import ctrn, features_alone, lstm, qrnn
from answer_ranking.models.networks.hyperqa import hyperqa

VECTORS = np.ones((5, 6), "float32")


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (ap_cnn, {"filters": 0}),
        (ap_cnn, {"window": 0}),
        (ap_cnn, {"embedding_dropout": 1.5}),
        (clipped_compare_aggregate, {"threshold": 1}),
        (clipped_compare_aggregate, {"widths": ()}),
        (compare_aggregate, {"widths": ()}),
        (compare_aggregate, {"widths": (0, 1)}),
        (cosinet, {"objective": "pairwise"}),
        (cosinet, {"across": "gru", "objective": "listwise"}),
        (cosinet, {"across": "rnn"}),
        (cosinet, {"across": "birnn", "objective": "listwise", "hidden": 5}),
        (cosinet, {"dropout": 1.5}),
        (ctrn, {"alignment": None}),
        (ctrn, {"hidden": (0,)}),
        (hyperqa, {"similarity": "euclidean"}),
        (hyperqa, {"max_norm": 1.5}),
        (hyperqa, {"projection": "fold"}),
        (hyperqa, {"dropout": 1.5}),
        (hyperqa, {"dimension": 0}),
        (lstm, {"dropout": 1.5}),
        (qrnn, {"n_features": -1}),
        (qrnn, {"pooling": "io"}),
    ],
)
def test_bad_options_are_refused(build, options):
    with pytest.raises(ValueError, match=r"[Rr]eceived"):
        build(VECTORS, **options)


def test_a_network_of_features_alone_has_some():
    with pytest.raises(ValueError, match="Received: n_features=0"):
        features_alone(0)
