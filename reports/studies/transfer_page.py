"""The page and curves of reproduce/studies/transfer.py; of several protocols they have the strictest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.metrics import PRINTED_METRICS, strictest
from answer_ranking.evaluation.records import read_studies
from answer_ranking.evaluation.significance import holm_correction
from answer_ranking.evaluation.tables import format_measured, text_table
from answer_ranking.reports.pages import render

# As the records have them.
UNSEEN, TRAINED_ON, SCRATCH = "unseen", "trained on", "from scratch"
TITLES = {UNSEEN: "zero-shot", TRAINED_ON: "fine-tuned", SCRATCH: "from scratch"}
_NEEDED = (
    *("dataset", "title", "model", "embeddings", "pretrained_on", "seeds", "rate_factors"),
    *("configuration", "comparisons", "conditions", "command"),
)

Condition = Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """One record: a model on a data set, after training on another one, in three ways."""

    record: dict[str, Any]
    protocol: str
    conditions: list[dict[str, Any]]  # of the protocol alone
    comparisons: list[dict[str, Any]]  # p is corrected over all studies of the same word vectors

    @property
    def model(self) -> str:
        """The model; one of contextual words says so: its configuration has the encoder's SHA-256."""
        is_contextual = len(str(self.record["configuration"].get("encoder"))) == 64
        return self.record["model"] + (f" on {self.record['embeddings']}" if is_contextual else "")

    @property
    def name(self) -> str:
        return f"{self.record['title']}, {self.protocol}, {self.model}"

    @property
    def with_all_questions(self) -> dict[str, Condition]:
        """The last condition of each way."""
        return {each["way"]: each for each in self.conditions}

    @property
    def numbers_of_questions(self) -> list[int]:
        return sorted({each["questions"] for each in self.conditions})

    def map_by_way(self, questions: int) -> dict[str, str]:
        """Give MAP by way for a number of questions; * marks the ends of the rate factors that were tried."""
        factors = self.record["rate_factors"]
        found = {}
        for each in self.conditions:
            if each["questions"] == questions:
                mark = "*" if each["rate_factor"] in (factors[0], factors[-1]) else ""
                found[each["way"]] = f"{each['metrics']['map']['mean']:.3f}{mark}"
        return found


def read_transfer(folder: Path) -> list[Study]:
    """Read the studies, in the order of their files.

    The p-values of those with the same word vectors are corrected together, after Holm: a study that is added
    on other ones changes no earlier verdict.
    """
    records = read_studies(folder, _NEEDED, "*/*.json")
    raw: dict[str, list[float]] = {}
    for path, record in records.items():
        if not record["conditions"]:
            raise UserError(f"{path} has no conditions. Run the study again.")
        family = raw.setdefault(record["embeddings"], [])
        family += [each["p"] for each in record["comparisons"]]
    corrected = {embeddings: iter(holm_correction(family).tolist()) for embeddings, family in raw.items()}
    return [_study(record, corrected[record["embeddings"]]) for record in records.values()]


def _study(record: dict[str, Any], corrected: Iterator[float]) -> Study:
    protocol = strictest(each["protocol"] for each in record["conditions"])
    conditions = [each for each in record["conditions"] if each["protocol"] == protocol]
    comparisons = [each | {"p": next(corrected)} for each in record["comparisons"]]
    return Study(record, protocol, conditions, comparisons)


def transfer_block(folder: Path) -> str:
    """Write the part of the page that comes from the records.

    Example:
        >>> transfer_block(Path("/nowhere"))
        'The study has not been run yet.'
    """
    studies = read_transfer(folder)
    curve = _curve_table(studies) if studies else None
    return render("studies/transfer.md.j2", studies=studies, titles=TITLES, curve=curve)


def _curve_table(studies: Sequence[Study]) -> pd.DataFrame:
    """Set MAP by the number of questions, fine-tuned (without questions: zero-shot) and from scratch."""
    counts: set[int] = set()
    for study in studies:
        counts.update(study.numbers_of_questions[:-1])
    rows = []
    for study in studies:
        whole = study.numbers_of_questions[-1]
        cells = []
        for count in (*sorted(counts), whole):
            found = study.map_by_way(count)
            pretrained = found.get(TRAINED_ON, found.get(UNSEEN, "–"))
            cells.append(f"{pretrained} / {found.get(SCRATCH, '–')}")
        rows.append([study.name, *cells, f"{whole:,}"])
    titles = [f"{count:,}" for count in sorted(counts)]
    header = [f"MAP, {TITLES[TRAINED_ON]} / {TITLES[SCRATCH]}", *titles, "all", "all are"]
    return pd.DataFrame(rows, columns=header)


def curves(folder: Path) -> dict[str, dict[str, list[list[float]]]]:
    """Give the curves of each data set: by model and way, [questions, MAP, half width of its interval]."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for study in read_transfer(folder):
        lines = found.setdefault(study.record["title"], {})
        for each in study.conditions:
            summary = each["metrics"]["map"]
            point = [each["questions"], summary["mean"], summary["ci95"] or 0.0]
            way = TITLES[SCRATCH if each["way"] == SCRATCH else TRAINED_ON]
            lines.setdefault(f"{study.model}, {way}", []).append(point)
    return found


def results_table(conditions: Sequence[Condition]) -> str:
    """Set all conditions of a study as plain text."""
    rows = []
    for each in conditions:
        factor = "–" if each["rate_factor"] is None else f"{each['rate_factor']:g}"
        quality = [format_measured(each["metrics"][metric]) for metric in PRINTED_METRICS]
        rows.append([each["protocol"], TITLES[each["way"]], f"{each['questions']:,}", factor, *quality])
    return text_table(["protocol", "way", "questions", "factor", "MAP", "MRR"], rows)
