"""How long the vectors of texts are while a ranker is trained."""

import keras
import numpy as np

from data_prep import EncodedSplit

QUANTILES = (0.05, 0.5, 0.95)


class NormTracker(keras.callbacks.Callback):
    """Measures the norms of a split's texts before the first step and after every epoch.

    For questions and answers apart it keeps quantiles of the Euclidean norms before the texts are brought
    onto the ball (the sums of Eq. 2 of HyperQA) and after it, and the share of texts that lie on its edge. An
    answer counts as often as it is a candidate.

    The trainer's `encoding` must have `pack` and `sums`, as `PackedBagOfWords` has.

    Args:
        split: the questions and candidates.
        edge_norm: points at this norm or beyond count as lying on the edge.

    Attributes:
        rows: one dictionary per measurement, `{"questions": ..., "answers": ...}`, each with `before` and
            `after` (the `QUANTILES`) and `on_edge` (a share).

    Example:
        >>> tracker = NormTracker(dataset.dev, edge_norm=0.7)  # doctest: +SKIP
        >>> fit_pairwise(*arguments, callbacks=[tracker])  # doctest: +SKIP
        >>> tracker.rows[-1]["questions"]["before"]  # doctest: +SKIP
        [12.1, 31.7, 80.2]
    """

    def __init__(self, split: EncodedSplit, edge_norm: float):
        super().__init__()
        self.split = split
        self.edge_norm = edge_norm
        self.rows: list[dict[str, dict]] = []
        self._packed: dict[str, tuple] = {}

    def on_train_begin(self, logs=None):
        """Measure under the initial weights."""
        pack, candidates = self.model.encoding.pack, self.split.candidates
        self._packed = {
            "questions": (pack(self.split.questions), slice(None)),
            "answers": (pack(candidates.texts), candidates.index),
        }
        self._measure()

    def on_epoch_end(self, epoch, logs=None):
        """Measure under the weights after the epoch."""
        self._measure()

    def _measure(self) -> None:
        encoding = self.model.encoding
        row = {}
        for name, (packed, of_row) in self._packed.items():
            sums = encoding.sums(packed)
            before, after = (
                np.linalg.norm(np.asarray(each, np.float64), axis=1)[of_row]
                for each in (sums, encoding.ball(sums))
            )
            row[name] = {
                "before": np.quantile(before, QUANTILES).tolist(),
                "after": np.quantile(after, QUANTILES).tolist(),
                # The tolerance with which `PairwiseTrainer` counts.
                "on_edge": float((after >= self.edge_norm * (1 - 1e-5)).mean()),
            }
        self.rows.append(row)
