"""Ranking metrics, tie policy, significance, result records, tables and figures."""

from evaluation.intervals import mean_confidence_interval
from evaluation.ranking import (
    METRICS,
    evaluate_ranking,
    expected_random_ranking,
    questions_that_count,
    summarise,
)
from evaluation.runs import read_run, write_qrels, write_run
from evaluation.significance import holm_correction, paired_randomisation_test

__all__ = [
    "METRICS",
    "evaluate_ranking",
    "expected_random_ranking",
    "holm_correction",
    "mean_confidence_interval",
    "paired_randomisation_test",
    "questions_that_count",
    "read_run",
    "summarise",
    "write_qrels",
    "write_run",
]
