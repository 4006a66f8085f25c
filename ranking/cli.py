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
from tyro.conf import OmitArgPrefixes, Positional

from answer_ranking import ranking
from answer_ranking.base.command import printable, run_command
from answer_ranking.base.errors import UserError
from answer_ranking.ranking.options import TrainOptions
from answer_ranking.ranking.search.commands import index, search
from answer_ranking.ranking.service.options import ServiceOptions

_PROG = "answer-ranking"

Table = Annotated[Path, tyro.conf.arg(metavar="TABLE")]
Model = Annotated[Path, tyro.conf.arg(metavar="MODEL")]
Text = Annotated[str, tyro.conf.arg(metavar="TEXT")]


def data() -> None:
    """Fetch, count and describe the data sets."""


def card(
    dataset: Annotated[str, tyro.conf.arg(metavar="DATASET")],
    variant: str | None = None,
    data_home: str | None = None,
) -> None:
    """Print a data set's card: where it comes from, its licence, counts and lengths.

    Args:
        dataset: the data set's name.
        variant: the training set.
        data_home: the folder that holds wikiqa/, trecqa/ and so on; else QA_DATA_HOME, else the user's cache.
    """
    from answer_ranking.data_prep import load_dataset
    from answer_ranking.reports.data_card import data_card

    print(data_card(load_dataset(dataset, variant, data_home)))


def train(
    table: Table,
    dev: Path | None = None,
    test: Path | None = None,
    *,
    training: OmitArgPrefixes[TrainOptions],
) -> None:
    """Train a ranker on a table of your own and compare it with rules that need no training.

    The table has the columns question, candidate and label (1 for a correct candidate), as .csv, .tsv, .xlsx,
    .jsonl or .parquet. Where all answers are correct, the column label may be missing: wrong answers are
    drawn among those to other questions. A report, the model, the run files and the split are left in a
    folder that is printed. After an interruption the same command goes on.

    Args:
        table: the table to train on.
        dev: the table that chooses the best epoch; unless given, a share of the questions of the first.
        test: the table to report on; unless given, a share of the questions of the first.
    """
    ranking.train_ranker(table, dev, test, **vars(training))


def rank(
    model: Model,
    question: Positional[Annotated[str | None, tyro.conf.arg(metavar="QUESTION")]] = None,
    candidates: Positional[Annotated[str | None, tyro.conf.arg(metavar="CANDIDATES")]] = None,
    table: Path | None = None,
    output: Path | None = None,
    top: int | None = None,
    question_column: str = "question",
    candidate_column: str = "candidate",
    drop_bad_rows: bool = False,
    bom: bool = False,
) -> None:
    """Rank candidate answers with a trained model, best first.

    Args:
        model: the folder model/ that a training left, or a ranker that comes with the package, such as
            hyperqa_squad.
        question: the question.
        candidates: a file with one candidate per line, or "-" for standard input.
        table: rank the questions of this table instead; it has the columns question and candidate.
        output: with a table, the .csv file to write, separated as the table; else the ranking is printed.
            Texts that a spreadsheet would take for formulas get an apostrophe.
        top: only the first so many of each question.
        question_column: the table's column of questions.
        candidate_column: the table's column of candidate answers.
        drop_bad_rows: leave out the table's rows that cannot be read, and say how many.
        bom: begin the output with a byte order mark, by which Excel tells UTF-8.
    """
    if top is not None and top < 1:
        raise UserError(f"--top must be at least 1. Received: {top}")
    if table is None:
        if question is None or candidates is None:
            raise UserError("give either a question and a file of candidates, or --table FILE.")
        if output is not None:
            raise UserError("--output goes with --table. Redirect the output instead.")
        if bom or drop_bad_rows or (question_column, candidate_column) != ("question", "candidate"):
            raise UserError("--bom, --drop-bad-rows and the names of columns go with --table.")
        from answer_ranking.base.files import read_lines

        texts = read_lines(candidates, "candidates")
        ranker = ranking.Ranker.load(model)
        ranked = ranker.rank(question, texts, top)
        words, unknown = set(ranker.tokenizer([question])[0]), ranker.unknown_words(question)
        if 2 * len(unknown) >= len(words):
            what = f"{len(unknown)} of {len(words)} words of the question are unknown"
            print(printable(f"{what}: {', '.join(unknown)}"), file=sys.stderr)
        for row in ranked.itertuples():
            print(f"{row.rank:3}  {row.score:9.4f}  {printable(row.text)}")
        return
    if question is not None:
        raise UserError("give either a question and a file of candidates, or --table FILE.")
    if output is not None and output.suffix.lower() != ".csv":
        raise UserError(f"--output must end in .csv. Received: {output}")
    from answer_ranking.base.files import atomic_write
    from answer_ranking.data_prep.own_tables import load_table, write_csv

    named = {"question": question_column, "candidate": candidate_column}
    columns = {ours: name for ours, name in named.items() if name != ours}
    rows = load_table(table, labelled=False, columns=columns, drop_bad_rows=drop_bad_rows)
    ranked = ranking.Ranker.load(model).rank_table(rows)
    if top is not None:
        ranked = ranked[ranked["rank"] <= top]
    if output is None:
        write_csv(ranked, sys.stdout, rows.attrs["separator"], bom=bom)
        return
    with atomic_write(output) as file:
        write_csv(ranked, file, rows.attrs["separator"], bom=bom)
    print(f"{len(ranked):,} candidates of {ranked['question_id'].nunique():,} questions: {output}")


def explain(
    model: Model,
    question: Text,
    answer: Text,
    output: Path = Path("why.png"),
    method: Literal["own", "occlusion"] = "own",
    disk: Path | None = None,
) -> None:
    """Show what the words of a question and an answer do to the score.

    HyperQA and CosineQA show each word's share of the score, AP-CNN and AP-BiLSTM their attention, Cosinet
    the relatedness of words, CTRN and QRNN their gates; others what the score loses without each word.

    Args:
        model: the folder model/ that a training left, or a ranker that comes with the package.
        question: the question.
        answer: an answer.
        output: the file to write: .png, .svg or .html. A .png has Latin, Greek and Cyrillic letters alone.
        method: own, the model's own reason; occlusion, what the score loses without each word.
        disk: a file of further answers, one per line: draw all of them around the question in the Poincaré
            disk instead (HyperQA and CosineQA).
    """
    if output.suffix.lower() not in (".png", ".svg", ".html"):
        raise UserError(f"--output must end in .png, .svg or .html. Received: {output}")
    if disk is not None and method != "own":
        raise UserError("--method says how words are weighed, and --disk shows no words. Leave one out.")
    from answer_ranking.base.files import atomic_write, read_lines

    ranker = ranking.Ranker.load(model)
    why: ranking.Disk | ranking.Explanation
    if disk is not None:
        why = ranker.disk(question, list(dict.fromkeys([answer, *read_lines(disk, "answers")])))
    else:
        why = ranker.explain(question, answer, method)
    with atomic_write(output, "wb") as file:
        if output.suffix.lower() == ".png":
            why.figure().savefig(file, format="png")
        else:
            file.write((why.svg() if output.suffix.lower() == ".svg" else why.html()).encode())
    print(printable(why.summary))
    if isinstance(why, ranking.Explanation):
        for side, words in why.strongest().items():
            print(f"{side:9}", printable(", ".join(f"{word} {weight:.3f}" for word, weight in words)))
    print(output)


def export(model: Model, output: Path = Path("model.onnx"), texts: Path | None = None) -> None:
    """Write a model as ONNX, checked with onnxruntime against Keras, and its words beside it.

    Args:
        model: the folder model/ that a training left, or a ranker that comes with the package.
        output: the file to write, ending in .onnx.
        texts: a file of texts, one per line, whose words the file shall have beside those of the training;
            all others are one unknown word to it.
    """
    from answer_ranking.base.files import read_lines
    from answer_ranking.ranking.export import export_onnx

    lines = read_lines(texts, "texts") if texts is not None else []
    difference = export_onnx(ranking.Ranker.load(model), output, lines)
    print(f"{output}, words: {output.with_suffix('.words.json')}")
    print(f"Scores of random pairs differ from Keras' by at most {difference:.1e}.")


def serve(
    source: Positional[Annotated[Path | None, tyro.conf.arg(metavar="INDEX_OR_MODEL")]] = None,
    rerank: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    allowed_hosts: tuple[str, ...] = (),
    *,
    limits: OmitArgPrefixes[ServiceOptions],
) -> None:
    """Serve a page and an API: ask, see the answers, and see why. Nothing is loaded from elsewhere.

    Args:
        source: the folder of an index, or of a model, or a ranker that comes with the package; unless given,
            the answers of the bundled sample.
        rerank: another model, which can re-rank the first answers, such as cosinet_squad.
        host: the address to listen at. Any other than 127.0.0.1 accepts every client that can reach it.
        port: the port to listen at; 0 for any that is free.
        allowed_hosts: further names under which clients call the service, such as that of a proxy; with host
            0.0.0.0 or :: any name will do, unless some are given here.
    """
    try:
        from answer_ranking.ranking.service.serve import serve as run
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is missing: pip install 'answer-ranking[serve]'.") from error
    run(source, rerank, host, port, allowed_hosts, limits)


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
            print(printable(found.per_question.to_string(index=False)), end="\n\n")
        print(found)


def reproduce(
    only: str = "",
    rerun: str = "",
    replace: bool = False,
    dry_run: bool = False,
    jobs: int = 0,
    ray: str = "",
) -> int:
    """Run the recorded experiments that have no record yet; works in the repository.

    One after the other, or with --jobs or --ray their seeds side by side. After an interruption the same
    command goes on.

    Args:
        only: look only at the commands that hold this text, such as hyperqa_wikiqa.
        rerun: run the experiments of this name again, such as 'ctrn/*', and print old and new side by side.
        replace: with rerun, put the new records in the place of the old ones.
        dry_run: print what would be run, and run nothing.
        jobs: train so many seeds at a time on this machine, which share its processors.
        ray: train them on a Ray cluster: auto, the one that runs; local, a new one of this machine; or the
            address of its head node.
    """
    from answer_ranking.reproduce import experiment_list

    if not experiment_list.RESULTS.is_dir():
        raise UserError(
            "this installation has no records (reproduce/results). Clone the repository and install it with "
            "pip install -e ."
        )
    return experiment_list.reproduce(only, rerun, replace, dry_run, jobs, ray)


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
    commands: dict[str, Callable]
    prog, commands, about = _PROG, _COMMANDS, "Train, use, explain and reproduce rankers of answers."
    if arguments[:1] == ["data"]:
        from answer_ranking.data_prep import commands as of_data

        prog, commands = f"{_PROG} data", {"get": of_data.get, "stats": of_data.stats, "card": card}
        arguments, about = arguments[1:], str(data.__doc__)
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
