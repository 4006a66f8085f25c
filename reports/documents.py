"""The documents that are written from the records and the papers' values.

`python -m answer_ranking.reports` writes `reproduce/RESULTS.md`, `reproduce/results/claims.json`,
the presets' `card.md`, the marked blocks of `README.md` and of pages in `docs/`, and the figures of quality
and transfer in `docs/`. With `--check` it fails where one of them is out of date.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write
from answer_ranking.evaluation.figures import (
    best_trade_offs,
    drawn_from,
    quality_against_speed,
    quality_by_questions,
    save_figure,
)
from answer_ranking.evaluation.presets import card_page, presets_block, read_cards
from answer_ranking.evaluation.records import ResultRecord, load_records
from answer_ranking.evaluation.results_document import main_record, results_document
from answer_ranking.evaluation.studies.causes import causes_block
from answer_ranking.evaluation.studies.claims import (
    claims,
    claims_block,
    claims_file,
    read_fair,
    speed_points,
)
from answer_ranking.evaluation.studies.eq9 import eq9_block
from answer_ranking.evaluation.studies.norms import norms_block
from answer_ranking.evaluation.studies.retrieval import retrieval_block
from answer_ranking.evaluation.studies.transfer import curves, transfer_block, transfer_sentence
from answer_ranking.evaluation.tables import (
    METRIC_TITLES,
    PAPERS_FILE,
    Papers,
    decimals_of,
    format_measured,
    markdown_table,
    read_papers,
    wrapped,
)
from answer_ranking.reports.benchmarks import cluster_block, search_block, service_block

_METRICS = ("map", "mrr")
_NOTE = "Ours: mean ± 95 % t interval over the seeds."
_NOTE_COUNT_ALL = " TrecQA raw counts a question without a correct answer as 0, as printed."


def readme_block(records: Sequence[ResultRecord], papers: Papers) -> str:
    """Write the README's table: the papers' `main_rows` that have a record.

    Example:
        >>> readme_block([], read_papers())
        'No result is recorded yet.'
    """
    lines, count_all = [], False
    for name, paper in papers.papers.items():
        for dataset, model in paper.main_rows:
            fitting = [each for each in records if (each.paper, each.split) == (name, "test")]
            record = main_record([each for each in fitting if papers.answers(each, dataset)], model)
            if record is None:
                continue
            printed, ours = papers.printed_row(record)[1], papers.comparable_metrics(record)
            count_all = count_all or ours is not record.metrics
            cells = []
            for metric in _METRICS:
                value = printed.get(metric, "–")
                measured = format_measured(ours[metric], decimals=max(decimals_of(value), 3))
                cells.append(f"{value} / {measured}")
            lines.append([f"{model}, {dataset}", *cells])
    if not lines:
        return "No result is recorded yet."
    table = markdown_table(["paper / ours", *(METRIC_TITLES[metric] for metric in _METRICS)], lines)
    return f"{table}\n\n{_NOTE}{_NOTE_COUNT_ALL if count_all else ''}"


def which_ranker(points: Mapping[str, Sequence[float]], trained_first: str) -> str:
    """Write the README's table of the best trade-offs of quality and speed; "" without a point.

    `trained_first` is the sentence on training on another data set first.
    """
    if not points:
        return ""
    names = best_trade_offs(points)
    found = []
    for name in names:
        speed, mean, half_width = points[name]
        quality = format_measured({"mean": mean, "ci95": half_width or None})
        found.append([name, quality, f"{speed:,.0f}"])
    title = "which ranker? best of WikiQA at [equal budgets](docs/claims.md)"
    table = markdown_table([title, "MAP", "questions/s, one core"], found)
    rare = "; IDF-WO: rare ones count more" if any("IDF-WO" in name for name in names) else ""
    about = (
        "CA: Compare-Aggregate; list: trained on a question's candidates together; WO: shared words"
        f"{rare}; RR: the document's order. {trained_first}"
    )
    return f"\n\n{table}\n\n{wrapped(about.strip())}"


def documents(root: Path, papers_file: Path = PAPERS_FILE) -> dict[Path, str]:
    """Write all documents of a repository, without saving them."""
    results, presets = root / "reproduce" / "results", root / "ranking" / "presets"
    benchmarks = root / "benchmarks" / "results"
    records, papers = load_records(results), read_papers(papers_file)
    fair, rules = read_fair(results / "fair"), _rules(records)
    searched = [each[0] for models in fair.values() for runs in models.values() for each in runs.values()]
    tested = claims(fair, papers)
    trained_first = transfer_sentence(results / "transfer")
    on_wikiqa = speed_points(fair["wikiqa"], rules) if "wikiqa" in fair else {}
    blocks: dict[str, Callable[[], str]] = {
        "README.md": lambda: readme_block(records, papers) + which_ranker(on_wikiqa, trained_first),
        "docs/causes.md": lambda: causes_block(records, papers, searched),
        "docs/claims.md": lambda: claims_block(tested, fair, papers, rules),
        "docs/cluster.md": lambda: cluster_block(benchmarks / "cluster.json"),
        "docs/eq9.md": lambda: eq9_block(results / "eq9"),
        "docs/norms.md": lambda: norms_block(results / "norms"),
        "docs/presets.md": lambda: presets_block(presets),
        "docs/retrieval.md": lambda: retrieval_block(results / "retrieval"),
        "docs/search.md": lambda: search_block(benchmarks / "search.json"),
        "docs/serve.md": lambda: service_block(benchmarks / "service.json"),
        "docs/transfer.md": lambda: transfer_block(results / "transfer"),
    }
    texts = {root / "reproduce" / "RESULTS.md": results_document(records, papers)}
    if fair:
        texts[results / "claims.json"] = claims_file(tested)
    texts |= {path.with_suffix(".md"): card_page(card) for path, card in read_cards(presets).items()}
    for page, block in blocks.items():
        if (path := root / page).is_file():
            texts[path] = _between_markers(path, block())
    return texts


Figures = dict[Path, tuple[Any, Callable[[Any], Any]]]
"""By file: what is drawn, as JSON has it, and the function that draws it."""


def figures(root: Path) -> Figures:
    """Say what is drawn of the records: quality against speed by data set, and the curves of the transfer."""
    results = root / "reproduce" / "results"
    found: Figures = {}
    rules = _rules(load_records(results))
    for dataset, records in read_fair(results / "fair").items():
        name = "quality-speed" if dataset == "wikiqa" else f"quality-speed-{dataset}"
        found[root / "docs" / f"{name}.png"] = speed_points(records, rules), quality_against_speed
    if lines := curves(results / "transfer"):
        found[root / "docs" / "transfer.png"] = lines, quality_by_questions
    return found


def _rules(records: Sequence[ResultRecord]) -> list[ResultRecord]:
    """Find the records of rules, which have nothing to train."""
    return [each for each in records if not each.parameters and each.split == "test"]


def _between_markers(path: Path, block: str) -> str:
    text = path.read_text(encoding="utf-8")
    found = re.search(r"(<!-- (\w+):begin -->\n).*?(<!-- \2:end -->)", text, re.DOTALL)
    if not found:
        raise UserError(
            f"{path} lacks the markers <!-- results:begin --> and <!-- results:end -->, or others. Add them."
        )
    return f"{text[: found.end(1)]}{block}\n{text[found.start(3) :]}"


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m answer_ranking.reports`; a UserError says what is missing or out of date."""
    description = "Write the tables and figures of README.md, docs/ and reproduce/ from the records."
    parser = argparse.ArgumentParser("python -m answer_ranking.reports", description=description)
    parser.add_argument("--check", action="store_true", help="only fail if a document is out of date")
    repository, about = Path(__file__).resolve().parents[1], "the repository (default: this one)"
    parser.add_argument("--root", type=Path, default=repository, metavar="FOLDER", help=about)
    options = parser.parse_args(arguments)
    outdated = {
        path: text
        for path, text in documents(options.root).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    drawings = {
        path: (json.dumps(points), draw(points))
        for path, (points, draw) in figures(options.root).items()
        if drawn_from(path) != json.dumps(points)
    }
    names = " and ".join(path.relative_to(options.root).as_posix() for path in [*outdated, *drawings])
    if names and options.check:
        raise UserError(
            f"{names} out of date. Run python -m answer_ranking.reports and commit what it writes."
        )
    for path, text in outdated.items():
        with atomic_write(path) as file:
            file.write(text)
    for path, (points, figure) in drawings.items():
        save_figure(figure, path, points)
    print(f"Wrote {names}." if names else "The documents are up to date.")
    return 0
