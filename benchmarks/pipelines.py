"""Which pipeline answers an FAQ: first stages and fusions, on answers and on questions with answers.

    python benchmarks/pipelines.py

An FAQ is made of a data set's test part: --pairs answers that are right for several questions, each with one
of these as the FAQ's own question. Another one of them is asked, as it is written and with --typos misspelled
letters: two exchanged, one left out, put in or replaced. The draws are the same every time. The preset
hyperqa_squad, which was trained on other articles of SQuAD, gives the points.

Measured: P@1 and MRR@10 of the answer, by trec_eval's code. Two minutes.
"""

import string
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from common import arguments, check_options, write_figures

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import load_dataset
from answer_ranking.evaluation.retrieval_metrics import measure
from answer_ranking.ranking import AnswerIndex

PRESET = "hyperqa_squad"
ANSWERS, BOTH_TEXTS = ["answer"], ["question", "answer"]
PIPELINES = (
    ("nearest", ANSWERS),
    ("bm25", ANSWERS),
    ("both", ANSWERS),
    ("ngrams", ANSWERS),
    ("bm25", BOTH_TEXTS),
    ("both", BOTH_TEXTS),
    ("ngrams", BOTH_TEXTS),
    ("ngrams+bm25", BOTH_TEXTS),
    ("ngrams+nearest", BOTH_TEXTS),
    ("ngrams+both", BOTH_TEXTS),
)
"""First stages, and the columns in which words and letters are looked for."""


class FAQ(NamedTuple):
    """An FAQ, and questions to it that were held back."""

    table: pd.DataFrame
    """The columns `candidate_id`, `question` and `answer`."""
    asked: list[str]
    """To each row, another question."""
    misspelled: list[str]


def main() -> None:
    """Measure all pipelines, print the table and write it."""
    parser = arguments(__doc__)
    names = ["squad-sent"]
    parser.add_argument("--datasets", nargs="+", default=names, help="where the FAQs come from")
    parser.add_argument("--pairs", type=int, default=300, help="answers of an FAQ (default: 300)")
    parser.add_argument("--typos", type=int, default=2, help="misspelled letters of a question (default: 2)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "pipelines.json")
    options = parser.parse_args()
    check_options(options, "pairs", "typos", output=options.output)
    rows: list[dict[str, str | float]] = []
    for name in options.datasets:
        faq = make_faq(name, options.pairs, options.typos)
        for measured in measure_faq(faq):
            rows.append({"faq": name, **measured})
    print(pd.DataFrame(rows).to_string(index=False, float_format="%.3f"))
    write_figures(
        options.output, {"pairs": options.pairs, "typos": options.typos, "ranker": PRESET, "rows": rows}
    )


def make_faq(dataset: str, pairs: int, typos: int) -> FAQ:
    """Draw an FAQ from a data set's test part."""
    table = load_dataset(dataset).test
    right = table[table["label"] == 1].drop_duplicates("question")
    questions_of = right.groupby("candidate")["question"].agg(list)
    several = questions_of[questions_of.map(len) > 1]
    if len(several) < pairs:
        raise UserError(f"{dataset}: {len(several)} answers have several questions, fewer than --pairs.")
    rng = np.random.default_rng(0)
    rows, asked = [], []
    for number in rng.choice(len(several), pairs, replace=False):
        questions = several.iloc[number]
        own, other = rng.choice(len(questions), 2, replace=False)
        rows.append((f"a{number}", questions[own], several.index[number]))
        asked.append(questions[other])
    faq = pd.DataFrame(rows, columns=["candidate_id", "question", "answer"])
    return FAQ(faq, asked, [misspelled(question, typos, rng) for question in asked])


def misspelled(text: str, typos: int, rng: np.random.Generator) -> str:
    """Misspell some letters that another one follows.

    Example:
        >>> misspelled("Who wrote it?", 1, np.random.default_rng(1))
        'Who wnote it?'
    """
    for _ in range(typos):
        places = [place for place in range(len(text) - 1) if text[place : place + 2].isalpha()]
        if not places:
            return text
        place = int(rng.choice(places))
        before, letter, after = text[:place], text[place], text[place + 1 :]
        new = str(rng.choice(list(string.ascii_lowercase)))
        changed = (after[0] + letter + after[1:], after, new + letter + after, new + after)
        text = before + changed[rng.integers(len(changed))]
    return text


def measure_faq(faq: FAQ) -> list[dict[str, str | float]]:
    """Measure all pipelines on an FAQ."""
    ids = faq.table["candidate_id"].tolist()
    correct = {f"q{number}": {name: 1} for number, name in enumerate(ids, start=1)}
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        indexes = {}
        for search in (ANSWERS, BOTH_TEXTS):
            name = " + ".join(search)
            indexes[name] = AnswerIndex.build(PRESET, faq.table, Path(folder) / name, search=search)
        for first_stage, search in PIPELINES:
            name = " + ".join(search)
            row: dict[str, str | float] = {"pipeline": first_stage, "searched": name}
            for suffix, questions in (("", faq.asked), ("_typos", faq.misspelled)):
                found = indexes[name].search(questions, k=10, first_stage=first_stage)
                means = measure(found, correct).mean()
                row |= {f"p@1{suffix}": means["recall@1"], f"mrr@10{suffix}": means["mrr@10"]}
            measured.append(row)
    return measured


if __name__ == "__main__":
    run_command(main)
