"""`answer-ranking data`: fetch a data set, and count it. The imports wait until a command runs."""

from typing import TYPE_CHECKING, Annotated, Any

import tyro

from answer_ranking.base.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from answer_ranking.data_prep.dataset import Dataset


Name = Annotated[str, tyro.conf.arg(metavar="DATASET")]


def get(dataset: Name, data_home: str | None = None) -> None:
    """Find or download a data set and check it.

    Looks for the files in --data-home, else in the folder that the environment variable QA_DATA_HOME names
    and in the user's cache directory; downloads those that are absent from their public addresses; checks
    SHA-256 where it is known.

    Args:
        dataset: its name, such as wikiqa; docs/data.md has all.
        data_home: the folder that holds wikiqa/, trecqa/ and so on.
    """
    from answer_ranking.data_prep.dataset import find_description
    from answer_ranking.data_prep.downloads.download import get_dataset

    description = find_description(dataset)
    if not description.files:
        print(f"{description.title} comes with the project: nothing to fetch.")
        return
    paths = get_dataset(description, data_home)
    for file in description.files:
        if file.path in paths:
            known = file.sha256 or (file.substitute and file.substitute.sha256)
            state = "checksum matches" if known else "found (no published checksum)"
            print(f"{paths[file.path]}: {state}")
        else:
            variants = ", ".join(file.variants)
            print(f"{file.path}: absent. Only the training set {variants} needs it.")
    complete = "complete" if len(paths) == len(description.files) else "complete except for the files above"
    about = f"Source: {description.source}. Licence: {description.licence}."
    print(f"{description.title} is {complete}. {about}")


def stats(
    dataset: Annotated[str, tyro.conf.arg(metavar="DATASET_OR_TABLE")],
    variant: str | None = None,
    json: bool = False,
    data_home: str | None = None,
    question_column: str = "question",
    candidate_column: str = "candidate",
    label_column: str = "label",
    sheet: str | None = None,
    drop_bad_rows: bool = False,
) -> None:
    """Count a data set per split and protocol.

    Prints questions, pairs, correct pairs and mean lengths in tokens; the mean average precision of ranking
    by file order; and a warning where that order gives the label away: where in at least 90 % of the
    questions with both kinds of candidates every correct one stands before (or after) every wrong one.

    Args:
        dataset: a data set's name, or the path of a table of your own.
        variant: the training set; for trecqa, for example, TRAIN-ALL (default) or TRAIN.
        json: print JSON.
        data_home: the folder that holds wikiqa/, trecqa/ and so on.
        question_column: your table's column of questions.
        candidate_column: your table's column of candidate answers.
        label_column: your table's column that says which are correct.
        sheet: the sheet to read where your table is an Excel file; else the first that is not hidden.
        drop_bad_rows: leave out your table's rows that cannot be read, and say how many.
    """
    from json import dumps
    from pathlib import Path

    columns = renamed(question=question_column, candidate=candidate_column, label=label_column)
    if Path(dataset).suffix or Path(dataset).is_file():
        if variant or data_home:
            raise UserError("--variant and --data-home are for the papers' data sets alone.")
        title, variant, notes = Path(dataset).name, "", []
        rows = _count_table(dataset, columns=columns, sheet=sheet, drop_bad_rows=drop_bad_rows)
    else:
        if columns or sheet or drop_bad_rows:
            raise UserError("--drop-bad-rows, --sheet and names of columns are for a table of your own.")
        from answer_ranking.data_prep.dataset import load_dataset
        from answer_ranking.data_prep.statistics import dataset_statistics

        loaded = load_dataset(dataset, variant, data_home)
        title, variant, notes = loaded.description.title, loaded.variant, _notes(loaded)
        rows = dataset_statistics(loaded)
    notes += _order_warnings(rows)
    if json:
        record = {"dataset": title, "variant": variant, "rows": rows.to_dict("records")}
        print(dumps({**record, "notes": notes}, indent=1))
        return
    print(f"{title}{f', training set {variant}' if variant else ''}")
    print(_text_table(rows))
    print("\n".join(notes))


def card(dataset: Name, variant: str | None = None, data_home: str | None = None) -> None:
    """Print a data set's card: where it comes from, its licence, counts and lengths.

    Args:
        dataset: the data set's name.
        variant: the training set.
        data_home: the folder that holds wikiqa/, trecqa/ and so on; else QA_DATA_HOME, else the user's cache.
    """
    from answer_ranking.data_prep import load_dataset
    from answer_ranking.reports.data_card import data_card

    print(data_card(load_dataset(dataset, variant, data_home)))


def renamed(**names: str) -> dict[str, str]:
    """Give the columns of a table that have other names than ours, by ours."""
    return {ours: name for ours, name in names.items() if name != ours}


def _count_table(path: str, **reading: Any) -> "pd.DataFrame":
    from answer_ranking.data_prep.own_tables import load_table
    from answer_ranking.data_prep.statistics import table_statistics
    from answer_ranking.data_prep.tables import RULES
    from answer_ranking.data_prep.vocabulary import Tokenizer

    tables = {"table": load_table(path, **reading)}
    return table_statistics(tables, {rule: rule for rule in RULES}, Tokenizer(pretokenised=False))


def _notes(loaded: "Dataset") -> list[str]:
    """List what the description says, and what reading the files left out."""
    notes = list(loaded.description.notes)
    for split, table in loaded.splits.items():
        if empty := table.attrs.get("questions_without_candidates"):
            notes.append(f"{split}: {empty} of the questions under 'all' have no candidates.")
        for reason, count in table.attrs.get("skipped", {}).items():
            notes.append(f"{split}: left out, {reason}: {count:,}.")
    return notes


def _order_warnings(rows: "pd.DataFrame") -> list[str]:
    warnings = []
    for row in rows[(rows["order"] != "") & (rows["protocol"] == "all")].itertuples():
        share = row.correct_first if row.order == "correct first" else row.correct_last
        warnings.append(
            f"{row.split}: THE ORDER GIVES THE LABEL AWAY ({row.order} in {share:.1%} of the "
            "questions with both kinds). Break ties at random, and shuffle the candidates before "
            "a model sees their order."
        )
    return warnings


def _text_table(rows: "pd.DataFrame") -> str:
    shown = rows[["split", "protocol"]].copy()
    for name in ("questions", "pairs", "correct"):
        shown[name] = rows[name].map("{:,}".format)
    shown["tokens/question"] = rows["question_tokens"].map("{:.1f}".format)
    shown["tokens/candidate"] = rows["candidate_tokens"].map("{:.1f}".format)
    shown["file order MAP"] = rows["order_map"].map("{:.3f}".format)
    return shown.assign(flag=rows["order"]).to_string(index=False)
