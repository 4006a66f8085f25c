"""The result documents, made of the records and of the papers' printed values.

`python -m evaluation.report` writes `reproduce/RESULTS.md` and what stands between the markers of `README.md`
and of the pages of studies, such as `docs/eq9.md`; with `--check` it writes nothing and fails where a
document is not what it would write.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from data_prep.cli import run_command
from data_prep.errors import UserError
from data_prep.files import atomic_write
from evaluation.eq9_summary import eq9_block
from evaluation.norm_report import norms_block
from evaluation.paper_results import (
    answers,
    comparable_metrics,
    edition_of_printed,
    prints_percent,
    read_paper_results,
    with_accuracy_as_precision,
)
from evaluation.recorded_experiments import read_commands, staleness
from evaluation.records import ResultRecord, load_records
from evaluation.results_document import main_record, results_document
from evaluation.tables import METRIC_TITLES, decimals_of, format_measured, markdown_table

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"

# The pages of studies, by their part that is made of records, and the folder of these records.
STUDIES = {
    "docs/eq9.md": (eq9_block, "reproduce/results/eq9"),
    "docs/hyperqa.md": (norms_block, "reproduce/results/norms"),
}

_README_NOTE = """\
Ours: mean ± half width of the 95 % t interval over the seeds. In TrecQA raw a question without a correct
answer counts as 0, as in the printed values. Everything else, variants and commands included, is in
[reproduce/RESULTS.md](reproduce/RESULTS.md)."""

_README_STALE = " † made by code that has changed since: the runs there say what changed."


def readme_table(
    records: Sequence[ResultRecord], paper_results: pd.DataFrame, stale: Mapping[str, str] | None = None
) -> str:
    """Write the README's table: the rows of the papers that have a main record.

    Args:
        records: the records; those of the sample, and of rules without parameters, are left out.
        paper_results: what `read_paper_results` returns.
        stale: what `staleness` returns for the records.

    Returns:
        Markdown text.

    Example:
        >>> readme_table([], pd.DataFrame(columns=["paper", "table", "dataset", "model", "metric", "value"]))
        'No result is recorded yet.'
    """
    metrics = ("map", "mrr", "p@1")
    lines, placed = [], set()
    for (paper, table, dataset), rows in paper_results.groupby(["paper", "table", "dataset"], sort=False):
        fitting = [
            record
            for record in records
            if record.paper == paper
            and record.split == "test"
            and record.dataset != "sample"
            and record.parameters > 0
            and answers(record, dataset)
        ]
        scale = 100 if prints_percent(paper, table) else 1
        for model, values in rows.groupby("model", sort=False):
            record = main_record(fitting, model)
            if record is None or record.experiment in placed:
                continue
            placed.add(record.experiment)
            printed = with_accuracy_as_precision(dict(zip(values["metric"], values["value"], strict=True)))
            ours = comparable_metrics(record)
            cells = [f"{model} ({dataset})" + (" †" if record.experiment in (stale or {}) else "")]
            for metric in metrics:
                value = printed.get(metric, "")
                decimals = decimals_of(value) or 3
                measured = format_measured(ours[metric], scale=scale, decimals=decimals) if value else ""
                edition = f" ({edition_of_printed(record)})" if edition_of_printed(record) else ""
                cells.append(f"{value}{edition} / {measured}" if value else "")
            cells += [str(len(record.seeds)), record.embeddings or "–", f"{record.parameters:,}"]
            lines.append(cells)
    if not lines:
        return "No result is recorded yet."
    used = [metric for i, metric in enumerate(metrics, start=1) if any(line[i] for line in lines)]
    kept = [0, *[metrics.index(metric) + 1 for metric in used], 4, 5, 6]
    header = ["paper / ours", *[METRIC_TITLES[m] for m in metrics], "seeds", "word vectors", "parameters"]
    table = markdown_table([header[i] for i in kept], [[line[i] for i in kept] for line in lines])
    note = _README_NOTE + (_README_STALE if any("†" in line[0] for line in lines) else "")
    return f"{table}\n\n{note}"


def _replaced_between_markers(text: str, table: str, path: Path) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UserError(f"{path} lacks the markers {BEGIN} and {END}. Put them where the table belongs.")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m evaluation.report`.

    Args:
        arguments: the words of the command line; None for the program's own.

    Returns:
        The exit code.

    Raises:
        UserError: a record or a document is missing or malformed, or, with `--check`, out of date.

    Example:
        >>> main(["--root", "/tmp/absent"])
        Traceback (most recent call last):
        data_prep.errors.UserError: there is no folder /tmp/absent/reproduce/results. Check the path.
    """
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.report",
        description="Write reproduce/RESULTS.md, the result table of README.md and those of docs/eq9.md and "
        "docs/hyperqa.md from the records in reproduce/results and from reproduce/paper_results.csv.",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a document is out of date"
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parent.parent,
        metavar="FOLDER",
        help="the repository (default: the one that this module lies in)",
    )
    options = parser.parse_args(arguments)
    records = load_records(options.root / "reproduce" / "results")
    paper_results = read_paper_results(options.root / "reproduce" / "paper_results.csv")
    results, readme = options.root / "reproduce" / "RESULTS.md", options.root / "README.md"
    if not readme.is_file():
        raise UserError(f"there is no {readme}. Restore it.")
    stale = staleness(records, options.root)
    listed = options.root / "reproduce" / "experiments.txt"
    commands = read_commands(listed) if listed.is_file() else []
    documents = {
        results: results_document(records, paper_results, stale, commands),
        readme: _replaced_between_markers(
            readme.read_text(encoding="utf-8"), readme_table(records, paper_results, stale), readme
        ),
    }
    for page, (block, folder) in STUDIES.items():
        if (path := options.root / page).is_file():
            text = block(options.root / folder, options.root)
            documents[path] = _replaced_between_markers(path.read_text(encoding="utf-8"), text, path)
    outdated = [
        path
        for path, text in documents.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    names = " and ".join(path.relative_to(options.root).as_posix() for path in outdated)
    if options.check:
        if outdated:
            raise UserError(
                f"{names} out of date. Run python -m evaluation.report and commit what it writes."
            )
        print("The result documents are up to date.")
        return 0
    for path in outdated:
        with atomic_write(path) as file:
            file.write(documents[path])
    print(f"Wrote {names}." if outdated else "The result documents are up to date.")
    return 0


if __name__ == "__main__":
    run_command(main)
