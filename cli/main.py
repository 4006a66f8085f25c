"""The console command `answer-ranking`. Everything slow is imported when a subcommand runs."""

import functools
import io
import operator
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import answer_ranking
from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError, escaped
from answer_ranking.cli.data import card, get, stats
from answer_ranking.cli.rankers import explain, export, rank, train
from answer_ranking.cli.search import index, search
from answer_ranking.cli.serve import serve

_PROG = "answer-ranking"


def data() -> None:
    """Fetch, count and describe the data sets."""


def evaluate(
    run: Annotated[Path, tyro.conf.arg(metavar="RUN")],
    qrels: Annotated[Path, tyro.conf.arg(metavar="QRELS")],
    against: Path | None = None,
    format: Literal["text", "json", "csv"] = "text",
    per_question: bool = False,
) -> None:
    """Measure a TREC run file, with intervals over the questions, and test it against another one.

    Args:
        run: the run file: question Q0 candidate rank score tag.
        qrels: the relevance file: question 0 candidate label.
        against: another run file, for a paired randomisation test.
        format: of what is printed.
        per_question: print the values of every question, too; as csv, these alone.
    """
    from answer_ranking.data_prep.own_tables import write_csv
    from answer_ranking.evaluation import compare_runs

    found = compare_runs(run, qrels, against)
    if format == "json":
        print(found.to_json(per_question=per_question))
    elif format == "csv":
        write_csv(found.per_question if per_question else found.table.reset_index(), sys.stdout)
    else:
        if per_question:
            print(escaped(found.per_question.to_string(index=False)), end="\n\n")
        print(found)


def reproduce(
    only: str = "",
    check: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="NAME [NAME ...]")] = None,
    replace: bool = False,
    dry_run: bool = False,
    jobs: int = 0,
    ray: str = "",
) -> int:
    """Run the recorded experiments that have no record yet, or check some; works in the repository.

    One after the other, or with --jobs or --ray their seeds side by side. After an interruption the same
    command goes on. A check trains all seeds of an experiment again and prints OK where MAP and MRR lie
    within the recorded 95 % intervals, else FAIL, with status 1; reproduce/log.csv keeps a line of it.

    Args:
        only: look only at the commands that hold this text, such as hyperqa_wikiqa.
        check: run the experiments of these names again, such as hyperqa/wikiqa/hyperqa 'ctrn/*'.
        replace: with check, put the new records in the place of the old ones.
        dry_run: print what would be run, and run nothing.
        jobs: train so many seeds at a time on this machine, which share its processors.
        ray: train them on a Ray cluster: auto, the one that runs; local, a new one of this machine; or the
            address of its head node.
    """
    from answer_ranking.reproduce.experiments import experiment_list

    if check is not None and not check:
        raise UserError("--check needs the names of experiments, such as hyperqa/wikiqa/hyperqa.")
    if not experiment_list.RESULTS.is_dir():
        raise UserError(
            "this installation has no records (reproduce/results). Clone the repository and install it with "
            "pip install -e ."
        )
    return experiment_list.reproduce(only, check or (), replace, dry_run, jobs, ray)


def _choice_of(commands: Mapping[str, Callable]) -> Any:
    """Make the type from which tyro reads one of several subcommands, as a function that runs it later."""

    def later(function: Callable) -> Callable:
        @functools.wraps(function)
        def bind(*values: Any, **options: Any) -> Callable[[], None]:
            return functools.partial(function, *values, **options)

        return bind

    choices = (
        Annotated[Any, tyro.conf.subcommand(name=name, constructor=later(function))]
        for name, function in commands.items()
    )
    return functools.reduce(operator.or_, choices)


_COMMANDS = {
    each.__name__: each
    for each in (data, train, rank, index, search, explain, export, serve, evaluate, reproduce)
}


def _parse(arguments: list[str]) -> Callable[[], object]:
    """Return the function that the command line asks for, with its arguments."""
    if arguments == ["--version"]:
        return lambda: print(f"{_PROG} {answer_ranking.__version__}")
    commands: dict[str, Callable]
    prog, commands = _PROG, _COMMANDS
    about = "Train, use, explain and reproduce rankers of answers; --version says which release this is."
    if arguments[:1] == ["data"]:
        prog, commands = f"{_PROG} data", {"get": get, "stats": stats, "card": card}
        arguments, about = arguments[1:], str(data.__doc__)
    if arguments and arguments[0] not in commands and not arguments[0].startswith("-"):
        raise UserError(f"there is no command {arguments[0]!r:.80}: choose one of {', '.join(commands)}.")
    message = io.StringIO()
    try:
        with redirect_stderr(message):
            return tyro.cli(
                _choice_of(commands),
                prog=prog,
                description=about,
                args=arguments,
                config=(tyro.conf.PositionalRequiredArgs, tyro.conf.FlagCreatePairsOff),
            )
    except SystemExit as end:
        if end.code != 2:
            raise
        # The message stands in a box: a title, what is wrong, a rule or an empty line, further help.
        lines = [line.strip(" │") for line in message.getvalue().splitlines()[1:]]
        wrong = " ".join(takewhile(_is_text, dropwhile(lambda line: not _is_text(line), lines)))
        prog = f"{prog} {arguments[0]}" if arguments and arguments[0] in commands else prog
        raise UserError(f"{wrong.removesuffix(' (required)').rstrip('.')}. See {prog} --help.") from None


def _is_text(line: str) -> bool:
    return bool(line.strip("─-╰╯"))


def main() -> None:
    """Run the console command."""
    run_command(lambda: _parse(sys.argv[1:])())
