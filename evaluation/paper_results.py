"""The values that the papers print."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from data_prep.errors import UserError
from evaluation.records import ResultRecord

COLUMNS = ["paper", "table", "dataset", "model", "metric", "value"]

# Papers and tables that print percent; all others print fractions.
_PERCENT = {("cosinet", None), ("attentive_pooling", "3")}

# What the papers call a data set, where there are several editions of it here. Theirs is InsuranceQA V1.
_NAMED_BY_PAPERS = {"insuranceqa-v1": "insuranceqa"}
_OTHER_EDITIONS = {"insuranceqa": "V1"}

# The accuracy that is printed for a test split.
_ACCURACIES = {"test": "accuracy_test1", "test2": "accuracy_test2"}

# The raw TrecQA values of the literature count the questions without a correct answer as 0: a perfect ranking
# has MAP 0.937 there.
_COUNT_ALL = {"trecqa-raw"}


def read_paper_results(path: str | Path) -> pd.DataFrame:
    r"""Read the papers' printed values, kept as text.

    Args:
        path: a CSV file with the columns paper, table, dataset, model, metric and value.

    Returns:
        The columns as text, in the papers' order.

    Raises:
        UserError: the file is missing, or lacks a column or a value.

    Example:
        >>> _ = Path("/tmp/paper.csv").write_text(
        ...     "paper,table,dataset,model,metric,value\nhyperqa,2,wikiqa,HyperQA,map,0.712\n")
        >>> read_paper_results("/tmp/paper.csv")["value"].tolist()
        ['0.712']
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    except ValueError as error:
        raise UserError(f"{path} is not a table ({error}). Restore the file.") from error
    if list(table.columns) != COLUMNS:
        raise UserError(f"{path}: the columns are {list(table.columns)}, not {COLUMNS}. Restore the file.")
    empty = (table == "").any(axis=1)
    if empty.any():
        raise UserError(
            f"{path}, line {int(empty.to_numpy().argmax()) + 2}: a value is missing. Restore the file."
        )
    return table


def prints_percent(paper: str, table: str) -> bool:
    """Tell whether a paper's table is in percent.

    Example:
        >>> prints_percent("cosinet", "4"), prints_percent("hyperqa", "2")
        (True, False)
    """
    return (paper, None) in _PERCENT or (paper, table) in _PERCENT


def counts_every_question(dataset: str, protocol: str) -> bool:
    """Tell whether the values printed for a data set count questions without a correct answer as 0.

    Example:
        >>> counts_every_question("trecqa", "raw"), counts_every_question("trecqa", "clean")
        (True, False)
    """
    return f"{dataset}-{protocol}" in _COUNT_ALL


def comparable_metrics(record: ResultRecord) -> dict[str, dict[str, Any]]:
    """Give a record's metrics by the convention of the papers' values for its data set.

    Args:
        record: the record.

    Returns:
        `metrics_count_all` where the printed values count every question, else `metrics`.
    """
    return (
        record.metrics_count_all if counts_every_question(record.dataset, record.protocol) else record.metrics
    )


def accuracies(record: ResultRecord) -> dict[str, dict[str, Any]]:
    """Give a record's precision at 1 under the names of the papers' accuracies, which are the same.

    Args:
        record: the record.

    Returns:
        `accuracy_dev`, and `accuracy_test1` or on the second test split `accuracy_test2`, as far as the
        record has them.

    Example:
        >>> summary = {"mean": 0.5, "ci95": None, "per_seed": [0.5]}
        >>> record = ResultRecord(paper="attentive_pooling", dataset="insuranceqa", protocol="pool-500",
        ...     split="test", model="AP-CNN", seeds=[0], metrics={"p@1": summary}, parameters=0,
        ...     seconds_per_epoch=None, command="")
        >>> list(accuracies(record))
        ['accuracy_test1']
    """
    on_test = {_ACCURACIES[record.split]: comparable_metrics(record)} if record.split in _ACCURACIES else {}
    measured = {"accuracy_dev": record.metrics_dev, **on_test}
    return {name: metrics["p@1"] for name, metrics in measured.items() if "p@1" in metrics}


def with_accuracy_as_precision(printed: Mapping[str, str], split: str = "test") -> dict[str, str]:
    """Give a printed row in which the accuracy on a test split stands as the precision at 1 as well.

    Args:
        printed: the values of a row by metric.
        split: "test", the papers' first, or "test2", their second.

    Example:
        >>> with_accuracy_as_precision({"accuracy_dev": "68.8", "accuracy_test1": "69.8"})["p@1"]
        '69.8'
    """
    name = _ACCURACIES[split]
    same = {"p@1": printed[name]} if name in printed else {}
    return {**same, **printed}


def edition_of_printed(record: ResultRecord) -> str:
    """Name the edition of a data set that the papers' values are of, where a record's is another.

    Args:
        record: the record.

    Returns:
        The name, or "" where the values can be compared.

    Example:
        >>> from evaluation.records import ResultRecord
        >>> record = ResultRecord(paper="attentive_pooling", dataset="insuranceqa", protocol="pool-500",
        ...     split="test", model="AP-CNN", seeds=[0], metrics={}, parameters=0, seconds_per_epoch=None,
        ...     command="")
        >>> edition_of_printed(record)
        'V1'
    """
    return _OTHER_EDITIONS.get(record.dataset, "")


def answers(record: ResultRecord, dataset: str) -> bool:
    """Tell whether a record was made on the data set that a paper's row names, in whatever edition.

    Args:
        record: the record.
        dataset: the row's data set: a name, with "-protocol", "/variant" or both behind it.

    Example:
        >>> from evaluation.records import ResultRecord
        >>> record = ResultRecord(paper="ctrn", dataset="trecqa", protocol="raw", split="test", model="CTRN",
        ...     variant="TRAIN", seeds=[0], metrics={}, parameters=0, seconds_per_epoch=None, command="")
        >>> [answers(record, name) for name in ("trecqa-raw", "trecqa-raw/TRAIN", "trecqa-raw/TRAIN-ALL")]
        [True, True, False]
    """
    name, _, variant = dataset.partition("/")
    own = (record.dataset, f"{record.dataset}-{record.protocol}", _NAMED_BY_PAPERS.get(record.dataset))
    return name in own and variant in ("", record.variant)
