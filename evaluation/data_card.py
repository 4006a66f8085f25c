"""A page about a data set, generated from the data."""

import pandas as pd

from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.statistics import dataset_statistics
from answer_ranking.data_prep.vocabulary import Tokenizer
from answer_ranking.evaluation.metrics import questions_that_count, summarise
from answer_ranking.evaluation.rules import measure_rules, rule_scores
from answer_ranking.evaluation.tables import markdown_table

_BOUNDS = (5, 10, 20, 40, 80, 160)
_WIDTH = 40
_TIE_SEEDS = 20


def data_card(dataset: Dataset) -> str:
    """Describe a data set in Markdown: source, licence, counts, protocols, order, baselines, lengths, notes.

    Example:
        >>> from answer_ranking.data_prep import load_dataset
        >>> data_card(load_dataset("sample")).splitlines()[0]
        '# sample'
    """
    description = dataset.description
    variant = f", training set {dataset.variant}" if dataset.variant else ""
    protocols = ", ".join(f"{name} ({rule})" for name, rule in description.protocols.items())
    fair = "the document's own, which a model may use" if description.order_is_signal else "no signal to use"
    lines = [f"# {description.title}{variant}", ""]
    lines += [f"- Source: {description.source}", f"- Licence: {description.licence}"]
    lines += [f"- Protocols: all, {protocols}", f"- Order of the candidates: {fair}", "", "## Counts", ""]
    header = ["split", "protocol", "questions", "pairs", "correct", "MAP of the file's order", "order"]
    rows = []
    for row in dataset_statistics(dataset).itertuples():
        order = row.order and f"GIVES THE LABEL AWAY: {row.order}"
        counts = (f"{number:,}" for number in (row.questions, row.pairs, row.correct))
        rows.append([row.split, row.protocol, *counts, f"{row.order_map:.3f}", order])
    lines += [markdown_table(header, rows), "", "## Baselines, mean average precision", ""]
    rows = []
    for split, table in list(dataset.splits.items())[1:]:
        scores = rule_scores(table, description, ("Random", "WO"))
        measured = measure_rules(table, description, _TIE_SEEDS, scores)
        for protocol, rule in description.protocols.items():
            counts = questions_that_count(measured["WO"], rule).any()
            figures = [summarise(measured[name], rule)["map"] if counts else 0.0 for name in scores]
            rows.append([split, protocol, *(f"{each:.3f}" for each in figures)])
    lines.append(markdown_table(["split", "protocol", "random", "word overlap"], rows))
    rows = []
    for split, table in dataset.splits.items():
        first = table.groupby("question_id", sort=False).cumcount() == 0
        shares = (table.loc[kept, "label"].mean() if kept.any() else 0.0 for kept in (first, ~first))
        rows.append([split, *(f"{share:.3f}" for share in shares)])
    lines += ["", "## Share of correct candidates by position", ""]
    lines.append(markdown_table(["split", "first", "all others"], rows))
    tokenizer = Tokenizer(description.pretokenised)
    for name in ("question", "candidate"):
        table = dataset.train.drop_duplicates("question_id") if name == "question" else dataset.train
        lengths = pd.Series([len(tokens) for tokens in tokenizer(table[name].tolist())])
        lines += ["", f"## Tokens per {name}, train", "", "```text", *_histogram(lengths), "```"]
    left_out = [
        f"{split}: left out, {reason}: {count:,}."
        for split, table in dataset.splits.items()
        for reason, count in table.attrs.get("skipped", {}).items()
    ]
    if description.notes or left_out:
        lines += ["", "## Notes", "", *(f"- {note}" for note in (*description.notes, *left_out))]
    return "\n".join(lines) + "\n"


def _histogram(lengths: pd.Series) -> list[str]:
    edges = [-1, *_BOUNDS, float("inf")]
    counts = pd.cut(lengths, edges).value_counts(sort=False).tolist()
    names = [f"{low + 1}-{high}" for low, high in zip(edges, _BOUNDS, strict=False)] + [f"{_BOUNDS[-1] + 1}-"]
    longest = max(counts)
    return [
        f"{name:>8} {count:>9,} {'#' * round(_WIDTH * count / longest)}".rstrip()
        for name, count in zip(names, counts, strict=True)
    ]
