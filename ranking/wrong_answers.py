"""Wrong answers for tables of questions and correct answers alone, as most collections of them are."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from tqdm import tqdm

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.tables import COLUMNS, same_text
from answer_ranking.data_prep.words import words_of

LARGEST_POOL = 500
"""The most answers among which the questions of dev and test find their own."""
_MOST_ROWS, _SMALLEST_POOL = 500_000, 10
_SEARCHED_AT_ONCE = 20_000
_MOST_PASSED = 100


def draw_wrong_answers(
    tables: Mapping[str, pd.DataFrame], number: int = 10, seed: int = 0, where: str = "the table"
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Add wrong answers to the tables that hold correct ones alone: answers to other questions.

    A question of "train" gets `number` answers of train: half of them are BM25's best wrong ones, the others
    are drawn at random. (Tables of more than 20,000 questions are searched in parts of as many.) Questions of
    the other tables get the same answers each, so that BM25 has no disadvantage: all that occur in `tables`,
    or up to 500 drawn ones where there are more. What any of the tables has as a correct answer to the
    question is never drawn for it. Texts that are the same, but for capitals and white space, are one in
    this, and an answer is written as it stands first.

    Returns the tables, with a row for every drawn answer, label 0, after the question's correct ones, and
    sentences that say what was drawn. Tables that hold wrong answers stay as they are. A UserError says that
    there are fewer than two different answers.

    Example:
        >>> pairs = [("q1", "Who?", "c1", "Ann.", 1), ("q2", "When?", "c2", "At noon.", 1)]
        >>> tables, said = draw_wrong_answers({"train": pd.DataFrame(pairs, columns=COLUMNS)})
        >>> tables["train"][["question", "candidate", "label"]].values.tolist()[:2]
        [['Who?', 'Ann.', 1], ['Who?', 'At noon.', 0]]
    """
    alone = [name for name, table in tables.items() if table["label"].all()]
    if not alone:
        return dict(tables), []
    answers = _distinct_answers(tables[name] for name in ("train", *tables) if name in tables)
    right = _right_answers(tables.values())
    rng = np.random.default_rng(seed)
    completed, said = dict(tables), []
    for name in alone:
        own = _distinct_answers([tables[name]]) if name == "train" else answers
        if len(own) < 2:
            raise UserError(
                f"{where}: {name} has {tables[name]['question'].nunique()} of its questions, with one and "
                "the same answer, so that there is no wrong one. Add questions with other answers."
            )
        pairs = _Pairs(tables[name], own, right)
        if name == "train":
            wrong = _for_training(pairs, number, rng)
            if not any(map(len, wrong)):
                raise UserError(
                    f"{where}: all answers of {name} are right ones of all its questions, so that there is "
                    "no wrong one. Add questions with other answers."
                )
            said.append(
                f"All answers of {where} are correct ones. Each question of train got up to {number} wrong "
                "ones, answers to other questions: half of them BM25's best, half drawn at random."
            )
        else:
            most = int(np.clip(_MOST_ROWS // len(pairs.questions), _SMALLEST_POOL, LARGEST_POOL))
            pool = np.arange(len(own))
            if len(own) > most:
                pool = np.sort(rng.choice(pool, most, replace=False))
            wrong = [np.setdiff1d(pool, known, assume_unique=True) for known in pairs.known]
            which = "all" if len(pool) == len(own) else f"{len(pool):,} drawn ones of"
            said.append(f"Each question of {name} ranks its own among {which} {len(own):,} answers.")
        completed[name] = pairs.with_wrong(wrong)
    return completed, said


def _distinct_answers(tables: Iterable[pd.DataFrame]) -> pd.Series:
    """Give the distinct texts of candidates with their first identifiers, or, where these repeat, numbers."""
    rows = pd.concat([table[["candidate", "candidate_id"]] for table in tables])
    first = rows[~rows["candidate"].map(same_text).duplicated()]
    ids = first["candidate_id"].to_numpy(object)
    if len(set(ids)) < len(ids):
        ids = np.array([f"a{i}" for i in range(1, len(first) + 1)], object)
    return pd.Series(first["candidate"].to_numpy(object), index=ids)


def _right_answers(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Give the columns `question` and `candidate` of all correct rows, as `same_text` writes them."""
    rows = pd.concat([table.loc[table["label"] == 1, ["question", "candidate"]] for table in tables])
    return rows.map(same_text).drop_duplicates()


class _Pairs:
    """Questions, and the numbers of their correct answers among distinct ones.

    `right` are the correct answers to these and other questions: those that stand with a question of the same
    text are no wrong ones.
    """

    def __init__(self, table: pd.DataFrame, answers: pd.Series, right: pd.DataFrame):
        self.answers = answers
        self.questions = table.drop_duplicates("question_id")[["question_id", "question"]]
        number_of = pd.Series(np.arange(len(answers), dtype=np.int32), index=answers.map(same_text))
        number = number_of[table["candidate"].map(same_text)].to_numpy()
        starts = np.flatnonzero(~table["question_id"].duplicated())
        self.correct: list[np.ndarray] = [np.unique(each) for each in np.split(number, starts[1:])]
        among = right[right["candidate"].isin(number_of.index)]
        numbers = number_of[among["candidate"]].to_numpy()
        codes, texts = pd.factorize(among["question"])
        in_order = numbers[np.lexsort((numbers, codes))]
        of_text = dict(zip(texts, np.split(in_order, np.cumsum(np.bincount(codes))[:-1]), strict=True))
        self.known = [of_text[text] for text in map(same_text, self.questions["question"])]

    def with_wrong(self, wrong: Sequence[np.ndarray]) -> pd.DataFrame:
        parts: list[np.ndarray] = []
        for correct, others in zip(self.correct, wrong, strict=True):
            parts += [correct, others]
        rows, sizes = np.concatenate(parts), list(map(len, parts))
        question = np.repeat(np.repeat(np.arange(len(wrong)), 2), sizes)
        labels = np.repeat(np.tile([1, 0], len(wrong)), sizes)
        columns = (
            self.questions["question_id"].to_numpy(object)[question],
            self.questions["question"].to_numpy(object)[question],
            self.answers.index.to_numpy(object)[rows],
            self.answers.to_numpy(object)[rows],
            labels,
        )
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def _for_training(pairs: _Pairs, number: int, rng: np.random.Generator) -> list[np.ndarray]:
    n, wrong = len(pairs.answers), []
    with tqdm(
        total=len(pairs.known), desc="wrong answers", unit="question", leave=False, disable=None
    ) as bar:
        for start in range(0, len(pairs.known), _SEARCHED_AT_ONCE):
            part = slice(start, start + _SEARCHED_AT_ONCE)
            hard = _best_wrong(pairs, part, number // 2)
            for own, best in zip(pairs.known[part], hard, strict=True):
                taken = np.concatenate([own, best])
                # A few more, for those that are taken already.
                drawn = rng.choice(n, min(number + len(taken), n), replace=False)
                drawn = drawn[~np.isin(drawn, taken)][: number - len(best)]
                wrong.append(np.concatenate([best, drawn]).astype(np.int32))
                bar.update()
    return wrong


def _best_wrong(pairs: _Pairs, part: slice, number: int) -> list[np.ndarray]:
    """Find BM25's best wrong answers to some questions among the answers of these; up to `number` of each."""
    import bm25s

    known = pairs.known[part]
    # Nearly all answers have one question, so that this part's answers are as many as its questions.
    block = np.unique(np.concatenate(known))
    if not number or len(block) < 2:
        return [block[:0]] * len(known)
    index = bm25s.BM25()
    index.index([_words(text) for text in pairs.answers.to_numpy(object)[block]], show_progress=False)
    words = [_words(text) for text in pairs.questions["question"].iloc[part]]
    # Of a question with many correct answers the best may all be correct: its wrong ones are drawn.
    most = min(number + min(max(map(len, known)), _MOST_PASSED), len(block))
    found, scores = index.retrieve(words, k=most, show_progress=False, backend_selection="numpy")
    best = []
    for own, rows, of_rows in zip(known, block[found], scores, strict=True):
        best.append(rows[(of_rows > 0) & ~np.isin(rows, own)][:number])
    return best


def _words(text: str) -> list[str]:
    # A text without words is one word, because BM25 has no score for none at all.
    return words_of(text) or [text]
