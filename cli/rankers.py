"""The subcommands that train, use and explain one ranker. Everything slow is imported when one runs."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import OmitArgPrefixes, Positional

from answer_ranking import ranking
from answer_ranking.base.errors import UserError, escaped, say
from answer_ranking.cli.data import renamed
from answer_ranking.ranking.train_options import TrainOptions

Table = Annotated[Path, tyro.conf.arg(metavar="TABLE")]
Model = Annotated[Path, tyro.conf.arg(metavar="MODEL")]
Question = Annotated[str, tyro.conf.arg(metavar="QUESTION")]
Answer = Annotated[str, tyro.conf.arg(metavar="ANSWER")]

_EITHER = "give either a question and a file of candidates, or --table FILE."


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
    k: Annotated[int | None, tyro.conf.arg(aliases=["-k"])] = None,
    question_column: str = "question",
    candidate_column: str = "candidate",
    sheet: str | None = None,
    drop_bad_rows: bool = False,
    bom: bool = False,
) -> None:
    """Rank candidate answers with a trained model, best first.

    Args:
        model: the folder model/ that a training left, a preset such as hyperqa_squad, or an encoder such as
            minilm (docs/contextual.md).
        question: the question.
        candidates: a file with one candidate per line, or "-" for standard input.
        table: rank the questions of this table instead; it has the columns question and candidate.
        output: with a table, the .csv file to write, separated as the table; else the ranking is printed.
            Texts that a spreadsheet would take for formulas get an apostrophe.
        k: how many candidates of each question to give; all unless given.
        question_column: the table's column of questions.
        candidate_column: the table's column of candidate answers.
        sheet: the sheet to read where the table is an Excel file; else the first that is not hidden.
        drop_bad_rows: leave out the table's rows that cannot be read, and say how many.
        bom: begin the output with a byte order mark, by which Excel tells UTF-8.
    """
    if k is not None and k < 1:
        raise UserError(f"-k must be at least 1. Received: {k}")
    if table is not None:
        if question is not None:
            raise UserError(_EITHER)
        columns = renamed(question=question_column, candidate=candidate_column)
        reading = {"columns": columns, "sheet": sheet, "drop_bad_rows": drop_bad_rows}
        _rank_table(model, table, output, k, reading, bom)
        return
    if question is None or candidates is None:
        raise UserError(_EITHER)
    if output is not None:
        raise UserError("--output goes with --table. Redirect the output instead.")
    names = renamed(question=question_column, candidate=candidate_column)
    if bom or drop_bad_rows or sheet is not None or names:
        raise UserError("--bom, --drop-bad-rows, --sheet and the names of columns go with --table.")
    _rank_lines(model, question, candidates, k)


def explain(
    model: Model,
    question: Question,
    answer: Answer,
    output: Path = Path("why.png"),
    method: Literal["own", "occlusion"] = "own",
    disk: Path | None = None,
) -> None:
    """Show what the words of a question and an answer do to the score.

    A model has a reason of its own: each word's share of the score, its attention, its gates, or how
    words are related. Of all others it is shown what the score loses without each word.

    Args:
        model: the folder model/ that a training left, a preset such as hyperqa_squad, or an encoder such as
            minilm (docs/contextual.md).
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
        raise UserError("--method weighs words, and --disk shows none. Leave one of them out.")
    from answer_ranking.base.files import atomic_write, read_lines

    ranker = ranking.Ranker.load(model)
    why: ranking.Disk | ranking.Explanation
    if disk is not None:
        answers = dict.fromkeys([answer, *read_lines(disk, "answers")])
        why = ranker.disk(question, list(answers))
    else:
        why = ranker.explain(question, answer, method)
    with atomic_write(output, "wb") as file:
        if output.suffix.lower() == ".png":
            why.figure().savefig(file, format="png")
        else:
            page = why.svg() if output.suffix.lower() == ".svg" else why.html()
            file.write(page.encode())
    print(escaped(why.summary))
    if isinstance(why, ranking.Explanation):
        for side, words in why.strongest().items():
            weighed = ", ".join(f"{word} {weight:.3f}" for word, weight in words)
            print(f"{side:9}", escaped(weighed))
    print(output)


def export(model: Model, output: Path = Path("model.onnx"), texts: Path | None = None) -> None:
    """Write a model as ONNX, checked with onnxruntime against Keras, and its words beside it.

    Args:
        model: the folder model/ that a training left, or a preset such as hyperqa_squad.
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


def _rank_lines(model: Path, question: str, candidates: str, k: int | None) -> None:
    from answer_ranking.base.files import read_lines

    texts = read_lines(candidates, "candidates")
    ranker = ranking.Ranker.load(model)
    ranked = ranker.rank(question, texts, k)
    words, unknown = set(ranker.tokenizer([question])[0]), ranker.unknown_words(question)
    if 2 * len(unknown) >= len(words):
        what = f"{len(unknown)} of {len(words)} words of the question are unknown"
        say(f"{what}: {', '.join(unknown)}")
    for row in ranked.itertuples():
        print(f"{row.rank:3}  {row.score:9.4f}  {escaped(row.candidate)}")


def _rank_table(
    model: Path, table: Path, output: Path | None, k: int | None, reading: dict[str, Any], bom: bool
) -> None:
    """Rank the questions of a table, read with options of `load_table`, and print or write the ranking."""
    if output is not None and output.suffix.lower() != ".csv":
        raise UserError(f"--output must end in .csv. Received: {output}")
    if output is not None and output.exists() and table.exists() and output.samefile(table):
        raise UserError(f"--output is the table itself, which would be lost: {output}. Name another file.")
    from answer_ranking.base.files import atomic_write
    from answer_ranking.data_prep.own_tables import load_table, write_csv

    rows = load_table(table, labelled=False, **reading)
    ranked = ranking.Ranker.load(model).rank_table(rows)
    if k is not None:
        ranked = ranked[ranked["rank"] <= k]
    if output is None:
        write_csv(ranked, sys.stdout, rows.attrs["separator"], bom=bom)
        return
    with atomic_write(output) as file:
        write_csv(ranked, file, rows.attrs["separator"], bom=bom)
    n_questions = ranked["question_id"].nunique()
    print(f"{len(ranked):,} candidates of {n_questions:,} questions: {output}")
