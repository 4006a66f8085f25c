"""Whether `answer-ranking train` finds the pipeline that answers an FAQ best, with typos and without.

    python benchmarks/pipelines.py

From SQuAD: --answers sentences of the test part that are right for at least three questions; one of these
is the FAQ's own, one is asked as dev, one as test. `paraphrases` is the FAQ of InsuranceQA's answers that
were given to several questions: one of these is the FAQ's own, another one is asked; four times --questions
other answers, with a question each, stand beside them. Of other data sets the parts are the publishers', up
to --questions of each, the right answers alone. `train` fine-tunes hyperqa_squad, compares the pipelines,
and lets dev choose: among all pipelines, and among those without an encoder of contextual words. Then the
questions of test are misspelled, --typos letters each: two exchanged, one left out, put in or replaced. The
draws are the same every time.

Measured on test: MRR@10 among all answers. What should be refused: 300 questions of WikiQA, by the confidence
that keeps nine of ten questions of dev. Two cores take an hour; the encoder minilm must be there.
"""

import string
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import add_counts, arguments, parse, write_figures

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Dataset, load_dataset
from answer_ranking.data_prep.dataset import OWN_TABLES
from answer_ranking.data_prep.tables import same_text
from answer_ranking.data_prep.word_vectors.encoder_folder import is_on_this_machine
from answer_ranking.ranking import AnswerIndex, Ranker, train_ranker
from answer_ranking.ranking.pipeline import ENCODER, Pipeline
from answer_ranking.ranking.pipelines import asked_questions, compare_pipelines, indexed_answers
from answer_ranking.ranking.refusals import measure_refusals

START = "hyperqa_squad"
FOREIGN, N_FOREIGN = "wikiqa", 300
PARAPHRASES = "paraphrases"


def main() -> None:
    """Measure all FAQs, print the table and write it."""
    parser = arguments(__doc__, "pipelines.json")
    names = ["squad-sent", PARAPHRASES, "insuranceqa", "semevalcqa"]
    parser.add_argument("--datasets", nargs="+", default=names, help="where the FAQs come from")
    add_counts(
        parser,
        answers=(300, "answers of the FAQ of SQuAD"),
        questions=(500, "most questions of a part"),
        typos=(2, "misspelled letters of a question"),
    )
    options = parse(parser)
    rows: list[dict[str, Any]] = []
    faqs: list[dict[str, Any]] = []
    if not is_on_this_machine(ENCODER):
        raise UserError(f"the encoder {ENCODER} is not on this machine: see docs/contextual.md.")
    for name in options.datasets:
        faq = faq_of(name, options.answers, options.questions)
        measured, about = measure_faq(faq, options.typos)
        rows += [{"faq": name, **row} for row in measured]
        faqs += [{"faq": name, **each} for each in about]
        print(pd.DataFrame(measured).to_string(index=False, float_format="%.3f"), about, sep="\n", flush=True)
        sizes = {"answers": options.answers, "questions": options.questions, "typos": options.typos}
        write_figures(options.output, {**sizes, "ranker": START, "faqs": faqs, "rows": rows})


def faq_of(name: str, answers: int, questions: int) -> Dataset:
    """Make the FAQ of a data set."""
    if name == PARAPHRASES:
        return paraphrases(load_dataset("insuranceqa"), 4 * questions)
    if name == "squad-sent":
        return several_questions(load_dataset(name), answers)
    return right_answers(load_dataset(name), questions)


def paraphrases(dataset: Dataset, n_others: int) -> Dataset:
    """Make an FAQ in which half of the answers' second questions are those of dev, and half of test."""
    every = pd.concat(dataset.splits.values())
    pairs = every[every["label"] == 1][_TEXTS].drop_duplicates()
    questions_of = pairs.groupby("candidate")["question"].agg(list)
    several, others = questions_of[questions_of.map(len) > 1], questions_of[questions_of.map(len) == 1]
    rng = np.random.default_rng(0)
    drawn = [rng.choice(questions, 2, replace=False) for questions in several]
    others = others.str[0].sample(n_others, random_state=0)
    own = [question for question, _ in drawn]
    train = pd.DataFrame({"question": own + others.tolist(), "candidate": [*several.index, *others.index]})
    asked = pd.DataFrame({"question": [question for _, question in drawn], "candidate": several.index})
    known = set(train["question"].map(same_text))
    asked = asked[~asked["question"].map(same_text).isin(known)]
    in_dev = np.arange(len(asked)) % 2 == 0
    return _dataset({"train": train, "dev": asked[in_dev], "test": asked[~in_dev]})


def several_questions(dataset: Dataset, n: int) -> Dataset:
    """Make an FAQ of answers with three questions: its own, one of dev and one of test."""
    right = dataset.test[dataset.test["label"] == 1].drop_duplicates("question")
    questions_of = right.groupby("candidate")["question"].agg(list)
    several = questions_of[questions_of.map(len) > 2]
    if len(several) < n:
        raise UserError(f"{len(several)} answers have three questions, fewer than --answers.")
    rng = np.random.default_rng(0)
    rows = []
    for number in rng.choice(len(several), n, replace=False):
        asked = rng.choice(several.iloc[number], 3, replace=False)
        rows.append((*asked, several.index[number]))
    table = pd.DataFrame(rows, columns=["train", "dev", "test", "candidate"])
    return _dataset({part: table[[part, "candidate"]].set_axis(_TEXTS, axis=1) for part in _PARTS})


def right_answers(dataset: Dataset, n: int) -> Dataset:
    """Make an FAQ of the right answers to up to `n` questions of each part; a text is asked in one part."""
    tables: dict[str, pd.DataFrame] = {}
    before: set[str] = set()
    for part in _PARTS:
        table = dataset.splits[part]
        right = table[(table["label"] == 1) & ~table["question"].isin(before)]
        asked = right["question"].drop_duplicates()
        asked = asked.sample(min(n, len(asked)), random_state=0)
        tables[part] = right[right["question"].isin(asked)][_TEXTS].drop_duplicates()
        before |= set(asked)
    return _dataset(tables)


_PARTS, _TEXTS = ("train", "dev", "test"), ["question", "candidate"]


def _dataset(parts: dict[str, pd.DataFrame]) -> Dataset:
    """Number the questions and answers of a table per part, all of them right."""
    tables = {}
    for name, table in parts.items():
        tables[name] = pd.DataFrame(
            {
                "question_id": [f"{name}-{n}" for n in pd.factorize(table["question"])[0]],
                "question": table["question"].to_numpy(),
                "candidate_id": [f"{name}-{n}" for n in pd.factorize(table["candidate"])[0]],
                "candidate": table["candidate"].to_numpy(),
                "label": 1,
            }
        )
    return Dataset(**tables, description=OWN_TABLES)


def with_typos(dataset: Dataset, typos: int) -> Dataset:
    """Misspell the questions of test."""
    rng = np.random.default_rng(0)
    asked = dataset.test["question"].unique()
    wrong = {question: misspelled(question, typos, rng) for question in asked}
    return replace(dataset, test=dataset.test.assign(question=dataset.test["question"].map(wrong)))


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


def measure_faq(faq: Dataset, typos: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Train, and compare the pipelines with both kinds of questions; gives rows of pipelines and of refusals.

    Chosen are the best pipeline on dev, and the best of those that need no encoder.
    """
    with tempfile.TemporaryDirectory() as folder:
        trained = train_ranker(faq.train, faq.dev, faq.test, START, output=Path(folder) / "out")
        clean = trained.pipelines
        assert clean is not None
        chosen = [clean.best, next(each for each in clean.pipelines if not each.needs_encoder)]
        about = []
        for pipeline in dict.fromkeys(chosen):
            place = Path(folder) / f"index-{len(about)}"
            refused = kept_and_refused(faq, clean.in_use(pipeline), trained.folder, place)
            sizes = {"answers": clean.n_answers, **clean.n_questions}
            about.append({"pipeline": pipeline.title, "encoder": pipeline.needs_encoder, **sizes, **refused})
        typed = compare_pipelines(with_typos(faq, typos), trained.ranker)
    with_misspelled = typed.measured.set_index("pipeline")["test"]
    rows = []
    for pipeline, row in zip(clean.pipelines, clean.measured.itertuples(), strict=True):
        figures = {"dev": row.dev, "mrr@10": row.test, "mrr@10_typos": with_misspelled[row.pipeline]}
        kind = {"encoder": pipeline.needs_encoder, "chosen": pipeline in chosen}
        rows.append({"pipeline": row.pipeline, **figures, **kind})
    return rows, about


def kept_and_refused(faq: Dataset, pipeline: Pipeline, trained: Path, folder: Path) -> dict[str, float]:
    """Measure which shares of test's and of foreign questions the suggested confidence keeps and refuses."""
    model = pipeline.model_of(trained)
    ranker = Ranker.load(model) if isinstance(model, Path) else model
    if ranker is not None:
        ranker = ranker.keeping_vectors()
    index = AnswerIndex.build(ranker, indexed_answers(faq), folder, **pipeline.index_options())
    asked = {name: asked_questions(faq.splits[name]) for name in ("dev", "test")}
    least = measure_refusals(index, asked["dev"], asked["test"]).suggested
    assert least is not None
    foreign = load_dataset(FOREIGN).test["question"].drop_duplicates().sample(N_FOREIGN, random_state=0)
    shares = {"min_confidence": least}
    for name, questions in (("test", asked["test"]), ("foreign", foreign)):
        refused = index.find(list(questions), min_confidence=least).refused
        shares[f"refused_{name}"] = len(refused) / len(questions)
    return shares


if __name__ == "__main__":
    run_command(main)
