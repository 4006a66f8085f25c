"""The claims on made-up records: differences, tests, verdicts, and what is refused."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from made_records import made_record, summary
from scipy import stats

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import save_record
from answer_ranking.evaluation.figures import drawn_from
from answer_ranking.evaluation.papers import read_papers
from answer_ranking.reports.documents import documents, main
from answer_ranking.reports.studies.claims import (
    NOT_SIGNIFICANT,
    REVERSED,
    claims,
    claims_file,
    models,
    read_equal_budget,
    speed_points,
)

PAPERS = read_papers()
TITLES = {
    "hyperqa": ("hyperqa", "HyperQA"),
    "cosineqa": ("hyperqa", "CosineQA"),
    "qrnn": ("ctrn", "QRNN"),
    "ctrn": ("ctrn", "CTRN"),
    "ap-cnn": ("attentive_pooling", "AP-CNN"),
    "qa-cnn": ("attentive_pooling", "QA-CNN"),
}
SEARCH = {"chosen": 3, "trials": 24, "search_seed": 0, "seconds": 60.0}


def record(name, values, dataset="wikiqa", protocol="filtered", **changes):
    """A record of two seeds, whose values per question are 0.01 below and above the given ones."""
    paper, title = TITLES[name]
    metrics = {"map": summary(float(np.mean(values)), 0.1, 0.01)}
    rows = [np.subtract(values, 0.01).tolist(), np.add(values, 0.01).tolist()]
    known = {
        "paper": paper,
        "dataset": dataset,
        "protocol": protocol,
        "model": title,
        "variant": "TRAIN" if dataset == "trecqa" else "",
        "seeds": [100, 101],
        "metrics": metrics,
        "metrics_dev": metrics,
        "command": f"python reproduce/studies/fair.py --record fair/{dataset}/{name}",
        "per_question": {"question_ids": [f"q{i}" for i in range(len(values))], "map": rows},
        "search": SEARCH,
        "training_seconds": 61.0,
        "questions_per_second": 2345.6,
    }
    return made_record(**known | changes)


LOW = 2 * [0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37]
HIGH = 2 * [0.5, 0.6, 0.7, 0.5, 0.6, 0.7, 0.5, 0.6]
MIXED = 2 * [0.40, 0.21, 0.42, 0.23, 0.44, 0.25, 0.46, 0.27]


def fair_of(dataset="wikiqa", **records):
    """Searches that were done once, by name, of one protocol or several."""
    runs = {}
    for name, given in records.items():
        each_protocol = given if isinstance(given, list) else [given]
        runs[name] = {each.protocol: [each] for each in each_protocol}
    return {dataset: runs}


def on_wikiqa(**records):
    return {each.claim.split(":")[0]: each for each in claims(fair_of(**records), PAPERS)}


def test_a_claim_without_both_records_is_left_out():
    assert claims({}, PAPERS) == []
    assert on_wikiqa(hyperqa=record("hyperqa", HIGH), qrnn=record("qrnn", LOW)) == {}
    assert claims_file([]) == "[]\n"


def test_differences_tests_and_verdicts():
    values = {"hyperqa": HIGH, "cosineqa": LOW, "ap-cnn": LOW, "qa-cnn": HIGH, "ctrn": MIXED, "qrnn": LOW}
    records = {name: record(name, each) for name, each in values.items()}
    here = [
        claim | {"data": ["wikiqa"]}
        for claim in PAPERS.claims
        if values.keys() >= {claim["better"], claim["worse"]}
    ]
    # The claims about these models, and two tests of which nothing is recorded.
    missing = PAPERS.claims[1] | {"data": ["trecqa-train", "semevalcqa"]}
    found = claims(fair_of(**records), replace(PAPERS, claims=[missing, *here]))
    by_pair = {each.claim: each for each in found}
    assert len(found) == len(by_pair) == len(here) > 4
    planned = len(here) + 2
    cosine = by_pair["Hyperbolic distance against cosine: HyperQA beats CosineQA"]
    differences = np.subtract(HIGH, LOW)
    assert cosine.ours == pytest.approx(differences.mean(), abs=1e-6)
    interval = stats.t.interval(0.95, 15, differences.mean(), stats.sem(differences))
    assert cosine.ci95 == pytest.approx((interval[1] - interval[0]) / 2, abs=1e-6)
    assert all((each.trials, each.seeds) == (24, 2) for each in found)
    # Sixteen differences of one sign: 2 of 2^16 patterns, least of all tests.
    assert cosine.p == pytest.approx(planned * 2 / 2**16, abs=1e-6) and cosine.verdict == "holds"
    attention = by_pair["Attention against none, over a convolution: AP-CNN beats QA-CNN"]
    assert attention.ours == pytest.approx(-differences.mean(), abs=1e-6)
    assert attention.p == pytest.approx(planned * 2 / 2**16, abs=1e-6) and attention.verdict == REVERSED
    # The paper prints 0.688 and 0.670; CosineQA is in none of its tables.
    assert attention.printed_difference == pytest.approx(0.018)
    assert cosine.printed_difference is None
    crossing = by_pair["Crossing against none: CTRN beats QRNN"]
    assert crossing.verdict == NOT_SIGNIFICANT and crossing.p > 0.5
    # Two-sided at 0.05 / planned in four of five repetitions.
    errors = stats.norm.ppf(1 - 0.05 / 2 / planned) + stats.norm.ppf(0.8)
    assert crossing.detectable == pytest.approx(errors * stats.sem(np.subtract(MIXED, LOW)), abs=1e-6)
    assert json.loads(claims_file(found)) == [asdict(each) for each in found]


def test_of_several_protocols_the_printed_one_counts_once():
    pairs = {"ctrn": HIGH, "qrnn": LOW, "hyperqa": HIGH, "cosineqa": LOW}
    records = {
        name: [record(name, values, "trecqa", protocol) for protocol in ("raw", "clean")]
        for name, values in pairs.items()
    }
    found = claims(fair_of("trecqa-train", **records), PAPERS)
    crossing, distance = sorted(found, key=lambda each: each.claim)
    # Table 6 prints 0.7582 and 0.7000, raw.
    assert (crossing.protocol, crossing.printed_difference) == ("raw", pytest.approx(0.0582))
    assert (distance.protocol, distance.printed_difference) == ("clean", None)


def test_the_printed_difference_is_of_the_paper_that_claims():
    pairs = {"hyperqa": HIGH, "ctrn": HIGH, "ap-cnn": LOW}
    records = {
        name: record(name, values, "semevalcqa", "answerable", variant="original")
        for name, values in pairs.items()
    }
    found = {each.paper: each for each in claims(fair_of("semevalcqa", **records), PAPERS)}
    # Table 4 of HyperQA prints 0.795 and 0.771, Table 5 of CTRN 0.794 and 0.771; AP-CNN's own paper nothing.
    assert found["hyperqa"].printed_difference == pytest.approx(0.024)
    assert found["ctrn"].printed_difference == pytest.approx(0.023)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"search": SEARCH | {"trials": 12}}, "hyperqa and cosineqa on wikiqa had different budgets"),
        ({"seeds": [100]}, "had different budgets"),
        ({"embeddings": "another"}, "have different questions or word vectors"),
        ({"per_question": {"question_ids": ["a"], "map": [[0.1], [0.2]]}}, "have different questions"),
    ],
)
def test_an_unfair_comparison_is_refused(change, message):
    with pytest.raises(UserError, match=message):
        on_wikiqa(hyperqa=record("hyperqa", HIGH), cosineqa=replace(record("cosineqa", LOW), **change))


def test_the_page_and_the_file(tmp_path):
    results = tmp_path / "reproduce" / "results"
    page = tmp_path / "docs" / "claims.md"
    page.parent.mkdir()
    page.write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    for name, values in (("hyperqa", HIGH), ("cosineqa", LOW)):
        save_record(record(name, values), results / "fair" / "wikiqa" / f"{name}.json")
    for name, values in (("hyperqa", LOW), ("cosineqa", MIXED)):
        again = record(name, values, search=SEARCH | {"search_seed": 1})
        save_record(again, results / "fair" / "wikiqa" / f"{name}-search-1.json")
    found = documents(tmp_path)
    assert json.loads(found[results / "claims.json"]) == [
        asdict(each) for each in claims(read_equal_budget(results / "fair"), PAPERS)
    ]
    # Means 0.5875 and 0.335 of two searches, whose seeds are 0.02 apart.
    assert "0.588, 0.335" in found[page] and "| 0.1785 | 0.0141 |" in found[page]
    # The others have 0.335 on average, too: +0.2525 in the first search and 0 in the second.
    assert "+0.253, +0.000" in found[page] and "search-1" not in found[page]
    figure = tmp_path / "docs" / "quality-speed.png"
    with pytest.raises(UserError, match=r"docs/claims.md and docs/quality-speed.png out of date"):
        main(["--root", f"{tmp_path}", "--check"])
    main(["--root", f"{tmp_path}"])
    points = {"CosineQA": [2345.6, 0.335, 0.1], "HyperQA": [2345.6, 0.5875, 0.1]}
    assert json.loads(drawn_from(figure)) == points
    assert main(["--root", f"{tmp_path}", "--check"]) == 0


def test_rules_stand_beside_the_models_and_variants_only_in_the_table():
    def on_trecqa(name, values, protocol, **changes):
        return record(name, values, dataset="trecqa", protocol=protocol, **changes)

    records = {
        name: [
            on_trecqa("hyperqa", values, protocol, configuration={"model": "hyperqa"})
            for protocol in ("raw", "clean")
        ]
        for name, values in (("hyperqa", HIGH), ("hyperqa-eq9-none", MIXED))
    }
    fair = fair_of("trecqa-train", **records)
    rule = {"model": "BM25", "training_seconds": None, "search": {}, "embeddings": ""}
    rules = [on_trecqa("hyperqa", HIGH, "raw", **rule), on_trecqa("hyperqa", LOW, "clean", **rule)]
    rules.append(record("hyperqa", LOW, **rule))  # of another data set
    rules.append(on_trecqa("hyperqa", LOW, "clean", **{**rule, "model": "Cosine", "embeddings": "minilm"}))
    found = {each.name: each for each in models(fair, rules)}
    # LOW and MIXED have the same mean.
    assert next(iter(found)) == "hyperqa" and set(found) == {*records, "BM25", "Cosine, minilm"}
    assert (found["BM25"].record, found["BM25"].laxer) == (rules[1], rules[0])
    points = speed_points(fair["trecqa-train"], rules)
    assert {name: point[1] for name, point in points.items()} == pytest.approx(
        {"HyperQA": 0.5875, "BM25": 0.335, "Cosine, minilm": 0.335}
    )


def test_other_records_are_refused(tmp_path):
    for search in ({}, {"trials": 3}):
        save_record(record("hyperqa", HIGH, search=search), tmp_path / "wikiqa" / "hyperqa.json")
        with pytest.raises(UserError, match=r"hyperqa\.json is not a record"):
            read_equal_budget(tmp_path)
