"""A page about a data set, generated from the data."""

from itertools import pairwise

import pandas as pd

from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.statistics import dataset_statistics
from answer_ranking.data_prep.vocabulary import Tokenizer
from answer_ranking.evaluation.metrics import questions_that_count, summarise
from answer_ranking.evaluation.rules import measure_rules, rule_scores
from answer_ranking.reports.pages import render

_EDGES = (-1, 5, 10, 20, 40, 80, 160, float("inf"))
_WIDTH = 40
_TIE_SEEDS = 20


def data_card(dataset: Dataset) -> str:
    """Describe a data set in Markdown: source, licence, counts, protocols, order, baselines, lengths, notes.

    Example:
        >>> from answer_ranking.data_prep import load_dataset
        >>> data_card(load_dataset("sample")).splitlines()[0]
        '# sample'
    """
    questions = dataset.train.drop_duplicates("question_id")["question"]
    texts = {"question": questions, "candidate": dataset.train["candidate"]}
    tokenizer = Tokenizer(dataset.description.pretokenised)
    page = render(
        "data_card.md.j2",
        dataset=dataset,
        description=dataset.description,
        statistics=dataset_statistics(dataset),
        baselines=_baselines(dataset),
        positions=_correct_by_position(dataset),
        histograms={name: _histogram(each, tokenizer) for name, each in texts.items()},
        left_out={split: table.attrs.get("skipped", {}) for split, table in dataset.splits.items()},
    )
    return f"{page}\n"


def _baselines(dataset: Dataset) -> pd.DataFrame:
    """Compute MAP of a random order and of word overlap, by split and protocol; 0 where nothing counts."""
    rows = []
    names = ("Random", "WO")
    for split, table in list(dataset.splits.items())[1:]:
        scores = rule_scores(table, dataset.description, names)
        measured = measure_rules(table, dataset.description, _TIE_SEEDS, scores)
        for protocol, rule in dataset.description.protocols.items():
            found = dict.fromkeys(names, 0.0)
            if questions_that_count(measured["WO"], rule).any():
                found = {name: summarise(measured[name], rule)["map"] for name in names}
            rows.append({"split": split, "protocol": protocol} | found)
    return pd.DataFrame(rows)


def _correct_by_position(dataset: Dataset) -> pd.DataFrame:
    """Compute the share of correct candidates among the first ones and among all others, by split."""
    rows = []
    for split, table in dataset.splits.items():
        first = table.groupby("question_id", sort=False).cumcount() == 0
        shares = table["label"].groupby(first).mean()
        rows.append({"split": split, "first": shares.get(True, 0.0), "others": shares.get(False, 0.0)})
    return pd.DataFrame(rows)


def _histogram(texts: pd.Series, tokenizer: Tokenizer) -> pd.DataFrame:
    """Count the texts by their number of tokens, with a bar for each count."""
    lengths = pd.Series(map(len, tokenizer(texts.tolist())))
    counts = pd.cut(lengths, list(_EDGES)).value_counts(sort=False).to_numpy()
    names = [f"{low + 1}-{'' if high == float('inf') else high}" for low, high in pairwise(_EDGES)]
    bars = ["#" * round(_WIDTH * count / counts.max()) for count in counts]
    return pd.DataFrame({"tokens": names, "texts": counts, "bar": bars})
