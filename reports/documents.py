"""The documents that are written from the records and the papers' values.

`python -m answer_ranking.reports` writes `reproduce/RESULTS.md`, `reproduce/results/claims.json`,
the presets' `card.md`, the marked blocks of `README.md` and of pages in `docs/`, and the figures of quality
and transfer in `docs/`. With `--check` it fails where one of them is out of date.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import ROOT, atomic_write
from answer_ranking.evaluation.figures import (
    drawn_from,
    quality_against_speed,
    quality_by_questions,
    quality_by_year,
    save_figure,
    static_and_contextual,
)
from answer_ranking.evaluation.papers import PAPERS_FILE, read_papers
from answer_ranking.evaluation.plan import Plan, read_plan
from answer_ranking.evaluation.records import ResultRecord, load_records
from answer_ranking.reports.benchmarks import (
    cluster_block,
    encoder_search_block,
    pipelines_block,
    search_block,
    service_block,
    speed_block,
)
from answer_ranking.reports.field import field_block, field_grid, field_points, finding_block
from answer_ranking.reports.pages import render
from answer_ranking.reports.preset_cards import card_page, presets_block, read_cards
from answer_ranking.reports.readme import headline_block, readme_block
from answer_ranking.reports.results import results_document
from answer_ranking.reports.results_matrix import results_matrix
from answer_ranking.reports.studies.causes import causes_block
from answer_ranking.reports.studies.claims import (
    EqualBudget,
    claims,
    claims_block,
    claims_file,
    claims_grid,
    plain_searches,
    read_equal_budget,
    speed_points,
)
from answer_ranking.reports.studies.contextual_page import contextual_block, encoder_points, head_lines
from answer_ranking.reports.studies.eq9_grid_page import grid_block, grid_figure, load_grids
from answer_ranking.reports.studies.eq9_page import eq9_block
from answer_ranking.reports.studies.norms_page import norms_block
from answer_ranking.reports.studies.plan_page import Planned, judge, plan_block, read_planned
from answer_ranking.reports.studies.retrieval_page import retrieval_block
from answer_ranking.reports.studies.transfer_page import curves, transfer_block

_SPEED = {
    "docs/attentive_pooling.md": "attentive_pooling.json",
    "docs/cosinet.md": "cosinet_wikiqa.json",
    "docs/ctrn.md": "recurrent_epoch.json",
    "docs/hyperqa.md": "hyperqa_epoch_wikiqa_450_400.json",
}
"""By page: the record of the benchmark of training that it shows."""
_PLANS = {"plan": "results", "plan_printed": "printed"}
"""By the name of a plan: the part of docs/plan.md that shows it."""
_CONTEXTUAL_PLANS = {"plan_contextual": "results", "plan_contextual_more": "more"}
"""The same of docs/contextual_ideas.md."""


def documents(root: Path, papers_file: Path = PAPERS_FILE) -> dict[Path, str]:
    """Write all documents of a repository, without saving them."""
    results, presets = root / "reproduce" / "results", root / "ranking" / "presets"
    benchmarks = root / "benchmarks" / "results"
    records, papers = load_records(results), read_papers(papers_file)
    runs, rules = read_equal_budget(results / "fair"), _rules(records)
    tested = claims(runs, papers)
    static = speed_points(runs["wikiqa"], rules) if "wikiqa" in runs else {}
    points = static | _encoder_points(root, rules)
    matrix = results_matrix(records, papers)
    blocks: list[tuple[str, str, Callable[[], str]]] = [
        ("README.md", "headline", lambda: headline_block(tested, _judged(root), static)),
        ("README.md", "results", lambda: readme_block(records, papers, points)),
        ("docs/causes.md", "results", lambda: causes_block(records, papers, _first_searches(runs))),
        ("docs/claims.md", "results", lambda: claims_block(tested, runs, papers, rules)),
        ("docs/cluster.md", "cluster", lambda: cluster_block(benchmarks / "cluster.json")),
        ("docs/eq9.md", "results", lambda: eq9_block(results / "eq9")),
        ("docs/eq9.md", "grid", lambda: grid_block(results / "eq9_grid")),
        ("docs/field.md", "finding", lambda: finding_block(records, list(plain_searches(runs)), papers)),
        ("docs/field.md", "results", lambda: field_block(records, papers)),
        ("docs/norms.md", "results", lambda: norms_block(results / "norms")),
        ("docs/paper/paper.md", "matrix", lambda: render("paper_matrix.md.j2", matrix=matrix)),
        ("docs/paper/paper.md", "field", lambda: field_grid(records, papers)),
        ("docs/paper/paper.md", "grid", lambda: render("paper_grid.md.j2", grid=claims_grid(tested))),
        ("docs/presets.md", "presets", lambda: presets_block(presets)),
        ("docs/presets.md", "encoder", lambda: encoder_search_block(benchmarks)),
        ("docs/retrieval.md", "retrieval", lambda: retrieval_block(results / "retrieval")),
        ("docs/faq.md", "pipelines", lambda: pipelines_block(benchmarks)),
        ("docs/search.md", "search", lambda: search_block(benchmarks / "search.json")),
        ("docs/serve.md", "service", lambda: service_block(benchmarks / "service.json")),
        ("docs/transfer.md", "results", lambda: transfer_block(results / "transfer")),
    ]
    for plan, name in _PLANS.items():
        blocks.append(("docs/plan.md", name, partial(_plan, root / "reproduce", plan)))
    for plan, name in _CONTEXTUAL_PLANS.items():
        found = partial(_contextual, root / "reproduce", plan, runs, rules)
        blocks.append(("docs/contextual_ideas.md", name, found))
    for page, record in _SPEED.items():
        blocks.append((page, "speed", partial(speed_block, benchmarks / record)))
    texts = {root / "reproduce" / "RESULTS.md": results_document(records, papers)}
    if runs:
        texts[results / "claims.json"] = claims_file(tested)
    for path, card in read_cards(presets).items():
        texts[path.with_suffix(".md")] = card_page(card)
    for page, name, block in blocks:
        path = root / page
        if path.is_file():
            text = texts.get(path) or path.read_text(encoding="utf-8")
            texts[path] = _with_block(path, text, name, block())
    return texts


def _plan(reproduce: Path, name: str) -> str:
    return plan_block(*_read_plan(reproduce, name))


def _contextual(reproduce: Path, plan: str, runs: EqualBudget, rules: Sequence[ResultRecord]) -> str:
    return contextual_block(*_read_plan(reproduce, plan), runs, rules)


def _encoder_points(root: Path, rules: Sequence[ResultRecord]) -> dict[str, list[float]]:
    """Give quality and speed of the heads on an encoder on WikiQA, if the repository has their plan."""
    if not (root / "reproduce" / "plan_contextual.toml").is_file():
        return {}
    plan, folder = _read_plan(root / "reproduce", "plan_contextual")
    return encoder_points(plan, read_planned(plan, folder), rules, "wikiqa")


def _judged(root: Path) -> list[Planned]:
    """Judge the tests of the plan, if the repository has one."""
    if not (root / "reproduce" / "plan.toml").is_file():
        return []
    plan, folder = _read_plan(root / "reproduce", "plan")
    return judge(plan, read_planned(plan, folder))


def _read_plan(reproduce: Path, name: str) -> tuple[Plan, Path]:
    """Read a plan, and say where its records are."""
    return read_plan(reproduce / f"{name}.toml"), reproduce / "results" / "planned" / name


def _rules(records: Sequence[ResultRecord]) -> list[ResultRecord]:
    """Find the records of rules, which have nothing to train."""
    return [each for each in records if not each.parameters and each.split == "test"]


def _first_searches(runs: EqualBudget) -> list[ResultRecord]:
    found = []
    for models in runs.values():
        for by_protocol in models.values():
            found += [searches[0] for searches in by_protocol.values()]
    return found


def _with_block(path: Path, text: str, name: str, block: str) -> str:
    """Put a block between its markers in a page's text."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    if begin not in text or end not in text.partition(begin)[2]:
        raise UserError(f"{path} lacks the markers {begin.strip()} and {end}. Add them.")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}{block}\n{end}{rest.partition(end)[2]}"


Figures = Mapping[Path, tuple[Any, Callable[[Any], Any]]]
"""By file: what is drawn, as JSON has it, and the function that draws it."""


def figures(root: Path) -> Figures:
    """Say what is drawn: the field by year, quality against speed by data set, and the transfer's curves."""
    results = root / "reproduce" / "results"
    found: dict[Path, tuple[Any, Callable[[Any], Any]]] = {}
    records = load_records(results)
    rules = _rules(records)
    equal_budget = read_equal_budget(results / "fair")
    if (root / "docs" / "field.md").is_file():
        found[root / "docs" / "field.png"] = field_points(records, read_papers()), quality_by_year
    for dataset, models in equal_budget.items():
        name = "quality-speed" if dataset == "wikiqa" else f"quality-speed-{dataset}"
        points = speed_points(models, rules)
        if dataset == "wikiqa":
            points |= _encoder_points(root, rules)
        found[root / "docs" / f"{name}.png"] = points, quality_against_speed
    if (root / "docs" / "contextual_ideas.md").is_file():
        heads: dict[str, Any] = {}
        for name in _CONTEXTUAL_PLANS:
            plan, planned = _read_plan(root / "reproduce", name)
            heads |= head_lines(plan, planned, equal_budget, rules)
        if heads:
            found[root / "docs" / "contextual-ideas.png"] = heads, static_and_contextual
    for name, record in load_grids(results / "eq9_grid").items():
        found[root / "docs" / f"eq9-grid-{name}.png"] = record["conditions"], grid_figure
    if lines := curves(results / "transfer"):
        found[root / "docs" / "transfer.png"] = lines, quality_by_questions
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m answer_ranking.reports`; a UserError says what is missing or out of date."""
    options = _parse(arguments)
    texts, drawings = {}, {}
    for path, text in documents(options.root).items():
        if _current(path) != text:
            texts[path] = text
    for path, (points, draw) in figures(options.root).items():
        if drawn_from(path) != json.dumps(points):
            drawings[path] = points, draw
    paths = [path.relative_to(options.root).as_posix() for path in (*texts, *drawings)]
    outdated = " and ".join(paths)
    if outdated and options.check:
        raise UserError(
            f"{outdated} out of date. Run python -m answer_ranking.reports and commit what it writes."
        )
    for path, text in texts.items():
        with atomic_write(path) as file:
            file.write(text)
    for path, (points, draw) in drawings.items():
        save_figure(draw(points), path, json.dumps(points))
    print(f"Wrote {outdated}." if outdated else "The documents are up to date.")
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    description = "Write the tables and figures of README.md, docs/ and reproduce/ from the records."
    parser = argparse.ArgumentParser("python -m answer_ranking.reports", description=description)
    parser.add_argument("--check", action="store_true", help="only fail if a document is out of date")
    about = "the repository (default: this one)"
    parser.add_argument("--root", type=Path, default=ROOT, metavar="FOLDER", help=about)
    return parser.parse_args(arguments)


def _current(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
