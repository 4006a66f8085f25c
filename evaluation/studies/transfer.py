"""The tables and curves of reproduce/studies/transfer.py; of several protocols they have the strictest."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.metrics import strictest
from answer_ranking.evaluation.records import read_study
from answer_ranking.evaluation.significance import holm_correction
from answer_ranking.evaluation.tables import format_measured, markdown_table, text_table, wrapped

UNSEEN, TRAINED_ON, SCRATCH = _WAYS = ("unseen", "trained on", "from scratch")
_NEEDED = (
    *("dataset", "title", "model", "pretrained_on", "seeds", "rate_factors"),
    *("comparisons", "conditions", "command"),
)
_METRICS = ("map", "mrr")


def results_table(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Set all conditions of a study as plain text."""
    rows = [
        [
            each["protocol"],
            each["way"],
            f"{each['questions']:,}",
            "–" if each["rate_factor"] is None else f"{each['rate_factor']:g}",
            *(format_measured(each["metrics"][metric]) for metric in _METRICS),
        ]
        for each in conditions
    ]
    return text_table(["protocol", "way", "questions", "factor", "MAP", "MRR"], rows)


def read_transfer(folder: Path) -> list[dict[str, Any]]:
    """Read the studies, in the order of their files; their p-values are corrected together, after Holm."""
    studies = []
    for path in sorted(folder.glob("*/*.json")):
        studies.append(read_study(path, _NEEDED))
        if not studies[-1]["conditions"]:
            raise UserError(f"{path} is no record of its study: it has no conditions. Run the study again.")
    tests = [each for study in studies for each in study["comparisons"]]
    for each, p in zip(tests, holm_correction([each["p"] for each in tests]).tolist(), strict=True):
        each["p"] = p
    for study in studies:
        study["protocol"] = strictest(each["protocol"] for each in study["conditions"])
        study["conditions"] = [each for each in study["conditions"] if each["protocol"] == study["protocol"]]
    return studies


def transfer_block(folder: Path) -> str:
    """Write the part of the page that comes from the records.

    Example:
        >>> transfer_block(Path("/nowhere"))
        'The study has not been run yet.'
    """
    studies = read_transfer(folder)
    if not studies:
        return "The study has not been run yet."
    runs = "\n".join(
        wrapped(
            f"- {study['title']}, {study['model']}, after {study['pretrained_on']}, {study['seeds']} seeds: "
            f"`{study['command']}`",
            indent="  ",
        )
        for study in studies
    )
    picture = "![MAP on test against the number of training questions](transfer.png)"
    return "\n\n".join(
        [_ways_table(studies), "### How many questions pay", _curve_table(studies), picture, runs]
    )


def transfer_sentence(folder: Path) -> str:
    """Say for the README what the studies found with all questions; "" without a study.

    Of several studies of a data set it has the best on dev.
    """
    best: dict[str, tuple[float, bool, str]] = {}
    for study in read_transfer(folder):
        last = _with_all_questions(study)
        first, alone = (last[way]["metrics"]["map"]["mean"] for way in (TRAINED_ON, SCRATCH))
        p = next(each["p"] for each in study["comparisons"] if _pair(each) == (TRAINED_ON, SCRATCH))
        said = f"{_name(study)} {first:.3f} ({alone:.3f})" if p < SIGNIFICANT else str(study["title"])
        here = last[TRAINED_ON]["metrics_dev"]["map"]["mean"], p < SIGNIFICANT, said
        best[study["dataset"]] = max(best.get(study["dataset"], here), here)
    if not best:
        return ""
    differ, same = (
        "; ".join(said for _, differs, said in best.values() if differs is wanted) or "none"
        for wanted in (True, False)
    )
    about = "MAP after [training on SQuAD first](docs/transfer.md) (without)"
    return f"{about}: {differ}. No significant difference: {same}."


def curves(folder: Path) -> dict[str, dict[str, list[list[float]]]]:
    """Give the curves of each data set: by model and way, [questions, MAP, half width of its interval]."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for study in read_transfer(folder):
        lines = found.setdefault(study["title"], {})
        for each in study["conditions"]:
            summary = each["metrics"]["map"]
            point = [each["questions"], summary["mean"], summary["ci95"] or 0.0]
            way = SCRATCH if each["way"] == SCRATCH else TRAINED_ON
            lines.setdefault(f"{study['model']}, {way}", []).append(point)
    return found


def _name(study: Mapping[str, Any]) -> str:
    return f"{study['title']}, {study['protocol']}, {study['model']}"


def _pair(comparison: Mapping[str, Any]) -> tuple[str, str]:
    return comparison["better"], comparison["worse"]


def _with_all_questions(study: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    # Of each way the last condition has all questions.
    return {each["way"]: each for each in study["conditions"]}


def _ways_table(studies: Sequence[Mapping[str, Any]]) -> str:
    """Set the three ways side by side, with all questions of the target, and the tests."""
    rows = []
    for study in studies:
        last = _with_all_questions(study)
        cells = [
            " / ".join(format_measured(last[way]["metrics"][metric]) for metric in _METRICS) for way in _WAYS
        ]
        tests = [
            f"{each['difference']:+.3f} ± {each['ci95']:.3f}, p {each['p']:.2g}"
            for each in study["comparisons"]
        ]
        rows.append([_name(study), *cells, *tests])
    pairs = [" – ".join(_pair(each)) for each in studies[0]["comparisons"]]
    table = markdown_table(["MAP / MRR", *_WAYS, *pairs], rows)
    about = (
        "The differences of MAP are means over the test questions ± the half width of the 95 % t interval; "
        "p is that of a paired randomisation test of each question's mean over the seeds, corrected after "
        "Holm for all tests of the table."
    )
    return f"{table}\n\n{wrapped(about)}"


def _curve_table(studies: Sequence[Mapping[str, Any]]) -> str:
    """Set MAP by the number of questions, trained on and from scratch."""
    numbers = [sorted({each["questions"] for each in study["conditions"]}) for study in studies]
    counts = sorted({each for of_study in numbers for each in of_study[:-1]})
    rows = []
    for study, (*_, whole) in zip(studies, numbers, strict=True):
        maps: dict[int, dict[str, str]] = {}
        ends = (study["rate_factors"][0], study["rate_factors"][-1])
        for each in study["conditions"]:
            mark = "*" if each["rate_factor"] in ends else ""
            value = f"{each['metrics']['map']['mean']:.3f}{mark}"
            maps.setdefault(each["questions"], {})[each["way"]] = value
        cells = [
            f"{of.get(TRAINED_ON, of.get(UNSEEN, '–'))} / {of.get(SCRATCH, '–')}"
            for of in (maps.get(count, {}) for count in (*counts, whole))
        ]
        rows.append([_name(study), *cells, f"{whole:,}"])
    header = [f"MAP, {TRAINED_ON} / {SCRATCH}", *(f"{count:,}" for count in counts), "all", "all are"]
    table = markdown_table(header, rows)
    return f"{table}\n\n\\* with the least or the greatest factor on the learning rate that was tried."
