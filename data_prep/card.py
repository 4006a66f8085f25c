"""A page about a data set, generated from the data."""

import pandas as pd

from data_prep.dataset import Dataset
from data_prep.rule_baselines import rule_baselines
from data_prep.statistics import dataset_statistics
from data_prep.tokens import Tokenizer

_BOUNDS = (5, 10, 20, 40, 80, 160)
_WIDTH = 40


def dataset_card(dataset: Dataset) -> str:
    """Describe a data set in Markdown: source, licence, counts, protocols, order, baselines, lengths, notes.

    Args:
        dataset: the tables.

    Returns:
        The page.

    Example:
        >>> from data_prep import load_dataset
        >>> dataset_card(load_dataset("sample")).splitlines()[0]
        '# sample'
    """
    description = dataset.description
    variant = f", training set {dataset.variant}" if dataset.variant else ""
    protocols = ", ".join(f"{name} ({rule})" for name, rule in description.protocols.items())
    fair = "the document's own, which a model may use" if description.order_is_signal else "no signal to use"
    lines = [f"# {description.title}{variant}", ""]
    lines += [f"- Source: {description.source}", f"- Licence: {description.licence}"]
    lines += [f"- Protocols: all, {protocols}", f"- Order of the candidates: {fair}", "", "## Counts", ""]
    lines += ["| split | protocol | questions | pairs | correct | MAP of the file's order | order |"]
    lines += ["| :--- | :--- | ---: | ---: | ---: | ---: | :--- |"]
    for row in dataset_statistics(dataset).itertuples():
        lines.append(
            f"| {row.split} | {row.protocol} | {row.questions:,} | {row.pairs:,} | {row.correct:,} "
            f"| {row.order_map:.3f} | {row.order and 'GIVES THE LABEL AWAY: ' + row.order} |"
        )
    tokenizer = Tokenizer(description.pretokenised)
    lines += ["", "## Baselines, mean average precision", ""]
    lines += ["| split | protocol | random | word overlap |", "| :--- | :--- | ---: | ---: |"]
    for split, table in dataset.splits.items():
        for protocol, rule in description.protocols.items() if split != "train" else ():
            figures = rule_baselines(table, tokenizer, rule).values()
            lines.append(f"| {split} | {protocol} | " + " | ".join(f"{each:.3f}" for each in figures) + " |")
    lines += ["", "## Share of correct candidates by position", ""]
    lines += ["| split | first | all others |", "| :--- | ---: | ---: |"]
    for split, table in dataset.splits.items():
        first = table.groupby("question_id", sort=False).cumcount() == 0
        shares = (table.loc[rows, "label"].mean() if rows.any() else 0.0 for rows in (first, ~first))
        lines.append(f"| {split} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
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
