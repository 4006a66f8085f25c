"""README's tables of results and the records behind them."""

import re
from pathlib import Path

from made_records import cells_of

from answer_ranking.evaluation import load_records
from answer_ranking.evaluation.comparisons import is_rule, main_record
from answer_ranking.evaluation.papers import read_papers
from answer_ranking.evaluation.plan import read_plan
from answer_ranking.reports.studies.claims import read_equal_budget
from answer_ranking.reports.studies.plan_page import read_planned

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproduce" / "results"


def records_of_papers(records):
    """The main records by their rows' titles."""
    papers = read_papers()
    found = {}
    for name, paper in papers.papers.items():
        for dataset, model in paper.main_rows:
            record = main_record(papers.answering(records, name, dataset), model)
            found[f"{model}, {dataset}"] = [record]
    return found


def records_of_trade_offs(records):
    """The records of WikiQA at equal budgets, and of its rules, by their models."""
    of_rules = [each for each in records if is_rule(each) and each.dataset == "wikiqa"]
    found = {}
    for runs in read_equal_budget(RESULTS / "fair")["wikiqa"].values():
        for record in [*runs["filtered"], *of_rules]:
            found.setdefault(record.model, []).append(record)
    return found


def records_of_heads():
    """The records of the heads on the encoder on WikiQA, by their names in the table."""
    plan = read_plan(ROOT / "reproduce" / "plan_contextual.toml")
    found = {}
    for (data, _, _), records in read_planned(plan, RESULTS / "planned" / "plan_contextual").items():
        if data == "wikiqa":
            found.setdefault(f"{records[0].model}, minilm", []).extend(records)
    return found


def test_every_record_in_the_tables_names_a_commit():
    records = load_records(RESULTS)
    behind = records_of_papers(records) | records_of_trade_offs(records) | records_of_heads()
    block = (ROOT / "README.md").read_text().partition("<!-- results:begin -->")[2]
    rows = [cells_of(line)[0] for line in block.splitlines() if re.match(r"\| [^|]+ \| 0\.\d", line)]
    assert len(rows) == 10, rows
    for row in rows:
        for record in behind[row]:
            assert re.fullmatch("[0-9a-f]{40}", record.commit), row
