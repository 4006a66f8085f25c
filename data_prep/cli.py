"""What command lines have in common, and the command line of this package."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from data_prep.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def run_command(main: Callable[[], object]) -> None:
    """Run a command line's main function and end the program with the exit code that its outcome deserves.

    What the user can mend is printed as `error: ...` and ends with 2, an interruption from the keyboard with
    130, success with the number that `main` returns, or 0 for anything that is no number.

    Args:
        main: the function, without arguments.

    Raises:
        SystemExit: always.

    Example:
        >>> run_command(lambda: None)
        Traceback (most recent call last):
        SystemExit: 0
    """
    try:
        code = main()
        sys.stdout.flush()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # `... | head` closed the pipe; without this, Python would complain once more while it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    sys.exit(code if isinstance(code, int) else 0)


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m data_prep`.

    Args:
        arguments: the words of the command line; None for the program's own.

    Returns:
        The exit code.

    Raises:
        UserError: the data are absent, not the published ones, or malformed.

    Example:
        >>> main(["get", "sample"])
        sample comes with the project: nothing to fetch.
        0
    """
    from data_prep.registry import DATASETS

    names = ", ".join(DATASETS)
    parser = argparse.ArgumentParser(
        prog="python -m data_prep",
        description=f"Get question answering data and look at them: {names} (sample is bundled).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    stats = commands.add_parser(
        "stats",
        help="count a data set per split and protocol",
        description="Print questions, pairs, correct pairs and mean lengths in tokens per split and "
        "protocol; the mean average precision of ranking by file order; and a warning where that order gives "
        "the label away: where in at least 90 % of the questions with both kinds of candidates every correct "
        "one stands before (or after) every wrong one.",
    )
    stats.add_argument(
        "dataset", metavar="DATASET", help="a data set's name, or the path of a table of your own"
    )
    stats.add_argument(
        "--variant", help="training set; for trecqa, for example, TRAIN-ALL (default) or TRAIN"
    )
    stats.add_argument("--json", action="store_true", help="print JSON")
    get = commands.add_parser(
        "get",
        help="find or download a data set and check it",
        description="Look for the files of a data set in --data-home, else in the folder that the "
        "environment variable QA_DATA_HOME names and in the user's cache directory; download those that are "
        "absent from their public addresses; check every file's SHA-256.",
    )
    get.add_argument("dataset", metavar="DATASET", help=f"one of {names}")
    card = commands.add_parser(
        "card",
        help="describe a data set in Markdown",
        description="Write a page generated from the data: source, licence, counts, protocols, whether the "
        "order gives the label away, lengths. Baselines are left to reproduce/lexical_baselines.py.",
    )
    card.add_argument("dataset", metavar="DATASET", help=f"one of {names}")
    card.add_argument("--variant", help="training set, see stats")
    card.add_argument("--output", metavar="FILE", help="where to write it (default: print it)")
    for command in (stats, get, card):
        command.add_argument(
            "--data-home", metavar="FOLDER", help="the folder that holds wikiqa/, trecqa/ and so on"
        )
    options = parser.parse_args(arguments)
    return {"stats": _stats, "get": _get, "card": _card}[options.command](options)


def _card(options: argparse.Namespace) -> int:
    from data_prep.card import dataset_card
    from data_prep.files import atomic_write
    from data_prep.registry import load_dataset

    page = dataset_card(load_dataset(options.dataset, options.variant, options.data_home))
    if options.output is None:
        print(page, end="")
        return 0
    with atomic_write(options.output) as file:
        file.write(page)
    print(f"Written to {options.output}.")
    return 0


def _get(options: argparse.Namespace) -> int:
    from data_prep.download import get_dataset
    from data_prep.registry import find_description

    description = find_description(options.dataset)
    if not description.files:
        print(f"{description.title} comes with the project: nothing to fetch.")
        return 0
    paths = get_dataset(description, options.data_home)
    for file in description.files:
        if file.path in paths:
            known = file.sha256 or (file.substitute and file.substitute.sha256)
            print(f"{paths[file.path]}: {'checksum right' if known else 'there (no checksum is known)'}")
        else:
            print(
                f"{file.path}: absent, and without a public address. "
                f"Only the training set {', '.join(file.variants)} needs it."
            )
    complete = len(paths) == len(description.files)
    print(
        f"{description.title} is {'complete' if complete else 'there, but for that'}. "
        f"Source: {description.source}. Licence: {description.licence}."
    )
    return 0


def _stats(options: argparse.Namespace) -> int:
    import pandas as pd

    from data_prep.registry import OWN_TABLES, load_dataset
    from data_prep.statistics import dataset_statistics, table_statistics
    from data_prep.tables import load_table
    from data_prep.tokens import Tokenizer

    notes = []
    if Path(options.dataset).suffix or Path(options.dataset).is_file():
        table, tokenizer = load_table(options.dataset), Tokenizer(OWN_TABLES.pretokenised)
        title, variant = Path(options.dataset).name, ""
        rows = pd.DataFrame(
            [
                {"split": "table", "protocol": rule, **table_statistics(table, tokenizer, rule)}
                for rule in ("all", "answerable", "clean")
            ]
        )
    else:
        dataset = load_dataset(options.dataset, options.variant, options.data_home)
        title, variant = dataset.description.title, dataset.variant
        rows = dataset_statistics(dataset)
        notes += dataset.description.notes
        for split, table in dataset.splits.items():
            if empty := table.attrs.get("questions_without_candidates"):
                notes.append(f"{split}: {empty} of the questions under 'all' have no candidates.")
            for reason, count in table.attrs.get("skipped", {}).items():
                notes.append(f"{split}: left out, {reason}: {count:,}.")
    given_away = rows[(rows["order"] != "") & (rows["protocol"] == "all")]
    for row in given_away.itertuples():
        share = row.correct_first if row.order == "correct first" else row.correct_last
        notes.append(
            f"{row.split}: THE ORDER GIVES THE LABEL AWAY ({row.order} in {share:.1%} of the questions with "
            "both kinds). Break ties at random, and shuffle the candidates before a model sees their order."
        )
    if options.json:
        record = {"dataset": title, "variant": variant, "rows": rows.to_dict("records"), "notes": notes}
        print(json.dumps(record, indent=1))
        return 0
    print(f"{title}{f', training set {variant}' if variant else ''}")
    print(_aligned(rows))
    print("\n".join(notes))
    return 0


def _aligned(rows: "pd.DataFrame") -> str:
    """Lay the statistics out in columns."""
    header = ["split", "protocol", "questions", "pairs", "correct", "tokens/question", "tokens/candidate"]
    lines = [[*header, "file order MAP", "flag"]]
    for row in rows.itertuples():
        lines.append(
            [
                row.split,
                row.protocol,
                *(f"{value:,}" for value in (row.questions, row.pairs, row.correct)),
                *(f"{value:.1f}" for value in (row.question_tokens, row.candidate_tokens)),
                f"{row.order_map:.3f}",
                row.order,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = {0, 1, len(widths) - 1}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
