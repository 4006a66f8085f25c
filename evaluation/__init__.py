"""Ranking metrics, intervals and significance, run files, result records, tables, figures and documents."""

from answer_ranking.evaluation.metrics import (
    METRICS,
    evaluate_ranking,
    expected_random_ranking,
    mean_confidence_interval,
    measure,
    per_question,
    questions_that_count,
    summarise,
)
from answer_ranking.evaluation.records import ResultRecord, load_records, read_record, save_record
from answer_ranking.evaluation.run_comparison import compare_runs
from answer_ranking.evaluation.runs import read_qrels, read_run, write_qrels, write_run
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test

__all__ = [
    "METRICS",
    "ResultRecord",
    "compare_runs",
    "evaluate_ranking",
    "expected_random_ranking",
    "holm_correction",
    "load_records",
    "mean_confidence_interval",
    "measure",
    "paired_randomisation_test",
    "per_question",
    "questions_that_count",
    "read_qrels",
    "read_record",
    "read_run",
    "save_record",
    "summarise",
    "write_qrels",
    "write_run",
]
