"""The subcommands `answer-ranking index` and `answer-ranking search`; imports little until one runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional

from answer_ranking.base.command import printable
from answer_ranking.base.errors import UserError
from answer_ranking.ranking.search.first_stages import describe, describe_needs

if TYPE_CHECKING:
    import pandas as pd

Tables = Positional[Annotated[tuple[Path, ...], tyro.conf.arg(metavar="ANSWERS")]]
Index = Annotated[Path, tyro.conf.arg(metavar="INDEX")]
FirstStage = Annotated[
    str | None,
    tyro.conf.arg(help=f"{describe()}. Unless given, both, or else the first of these that the index has."),
]
FirstStages = Annotated[
    tuple[str, ...],
    tyro.conf.arg(help=f"which first stages it has: {describe_needs()}. Unless given, all of these."),
]
Where = Annotated[tuple[str, ...], tyro.conf.UseAppendAction]
_NAMED_AT_MOST = 5
Question = Positional[Annotated[str | None, tyro.conf.arg(metavar="QUESTION")]]


def index(
    tables: Tables,
    *,
    output: Path | None = None,
    model: Path | None = None,
    pipeline: Path | None = None,
    search: tuple[str, ...] = (),
    first_stages: FirstStages = (),
    question_column: str = "question",
    candidate_column: str | None = None,
    sheet: str | None = None,
    add: bool = False,
    keep_duplicates: bool = False,
    replace: bool = False,
    delete: bool = False,
    where: Where = (),
    ray: str | None = None,
) -> None:
    """Index tables of answers, or an FAQ, so that the best of very many are found in milliseconds.

    A table has the column candidate, answer or text, as .csv, .tsv, .xlsx, .jsonl or .parquet; where it has
    the column question, too, words are looked for in both. candidate_id names the answers; other columns are
    kept, and searches can filter by them. After an interruption the same command goes on.

    Args:
        tables: the tables of answers, or a folder of tables, which are taken in the order of their names.
        output: the folder of the index, new or empty; it must be given.
        model: the folder model/ that a training of HyperQA left, or hyperqa_squad, which comes with the
            package; without it, words and letters alone are compared.
        pipeline: the folder that a training of an FAQ left: what its best pipeline needs is built.
        search: the columns in which words and letters are looked for; unless given, question and answer.
        question_column: how the table calls its column of questions.
        candidate_column: how it calls its column of answers.
        sheet: the sheet to read of an Excel file; unless given, the first that is not hidden.
        add: add the answers to an index that is there; all are added, or none.
        keep_duplicates: with --add, add answers, too, that the index has already with the same question.
        replace: add the answers in the place of those of the same candidate_id.
        delete: delete answers from an index that is there: those of the table's column candidate_id, or of
            the lines of a .txt file, or those of --where.
        where: with --delete, the answers of which this holds, such as year<2001; see search.
        ray: share the work with a Ray cluster: auto for the one that runs here, local for all processors of
            this machine, or an address such as 10.0.0.1:6379. The index is the same.
    """
    folder = _folder(tables or where, output, [add, replace, delete])
    own = {"model": model, "search": search, "first_stages": first_stages}
    if add or replace or delete:
        _refuse("an index keeps what it was built with", {**own, "pipeline": pipeline})
    if pipeline is not None:
        _refuse("--pipeline names these", own)
    if not add:
        _refuse("--keep-duplicates goes with --add", {"keep_duplicates": keep_duplicates})
    if delete:
        _refuse("--delete takes identifiers alone", {"ray": ray, "sheet": sheet})
    else:
        _refuse("--where goes with --delete", {"where": where})
    from answer_ranking.ranking.search.index import AnswerIndex

    layout: dict[str, Any] = {
        "question_column": question_column,
        "candidate_column": candidate_column,
        "sheet": sheet,
    }
    if delete:
        made = AnswerIndex.open(folder)
        ids = [each for table in tables for each in _ids(table)]
        made.delete(ids, where=where)
    elif add or replace:
        made = AnswerIndex.open(folder)
        made.add(tables, **layout, keep_duplicates=keep_duplicates, replace=replace, ray=ray)
    else:
        chosen: dict[str, Any] = {"search": search or None, "first_stages": first_stages or None}
        if pipeline is not None:
            model, chosen = _of_pipeline(pipeline)
        made = AnswerIndex.build(model, tables, folder, **chosen, **layout, ray=ray)
    print(f"{len(made):,} answers: {folder}")


def search(
    index: Index,
    question: Question = None,
    questions: Path | None = None,
    k: Annotated[int, tyro.conf.arg(aliases=["-k"])] = 10,
    first_stage: FirstStage = None,
    rerank: Path | None = None,
    rerank_depth: int | None = None,
    where: Where = (),
    min_confidence: float = 0,
    output: Path | None = None,
) -> None:
    """Find the best answers in an index.

    Args:
        index: the folder of the index.
        question: the question.
        questions: a file instead: .txt, one question per line, or a table with the column question and
            optionally question_id.
        k: how many answers to each.
        rerank: another model, which re-ranks the first of each question: a folder, or cosinet_squad, which
            comes with the package.
        rerank_depth: with rerank, how many; 100 unless given.
        where: only answers of which this holds, such as topic=travel; may be repeated. Conditions are =, !=,
            <, <=, > and >= with a value, and 'topic is missing' or 'topic is not missing'. All must hold, but
            values that one column may equal are alternatives.
        min_confidence: only answers that are at least so sure, from 0 to 1; an index knows how sure they are
            where it was built with --pipeline.
        output: the file to write, .run (a TREC run file), .csv, .xlsx or .jsonl; else all is printed.
    """
    if (question is None) == (questions is None):
        raise UserError("give either a question, or --questions FILE.")
    if output is not None and output.suffix.lower() not in (".run", ".csv", ".xlsx", ".jsonl"):
        raise UserError(f"--output must end in .run, .csv, .xlsx or .jsonl. Received: {output}")
    if rerank is None and rerank_depth is not None:
        raise UserError("--rerank-depth goes with --rerank.")
    depth = 100 if rerank_depth is None else rerank_depth
    asked = question if questions is None else _questions(questions)
    from answer_ranking.data_prep.own_tables import write_csv
    from answer_ranking.ranking.search.index import AnswerIndex

    results = AnswerIndex.open(index).find(asked, k, first_stage, rerank, depth, where, min_confidence)
    if results.warning:
        print(f"warning: {printable(results.warning)}", file=sys.stderr)
    found = results.table
    if results.refused and question is None:
        names = printable(", ".join(results.refused[:_NAMED_AT_MOST]))
        print(f"No good answer to {len(results.refused):,} questions: {names}", file=sys.stderr)
    if output is not None:
        _write(found, output)
        n_questions = found["question_id"].nunique()
        print(f"{len(found):,} answers to {n_questions:,} questions: {output}")
    elif question is None:
        write_csv(found, sys.stdout)
    else:
        _print(found)
        if not len(found):
            print("No good answer." if results.refused else "No answer was found.")


def _print(found: "pd.DataFrame") -> None:
    """Print answers with their confidence, where there is one, and their scores."""
    for row in found.itertuples():
        sure = f"{row.confidence:.2f}  " if "confidence" in found.columns else ""
        text = f"{printable(row.candidate_id)}  {printable(row.candidate)}"
        print(f"{row.rank:3}  {sure}{row.score:9.4f}  {text}")


def _folder(given: tuple[object, ...], output: Path | None, works: Sequence[bool]) -> Path:
    if not given:
        raise UserError("name the tables of answers: answer-ranking index ANSWERS --output INDEX.")
    if output is None:
        raise UserError("give the folder of the index: --output INDEX.")
    if sum(works) > 1:
        raise UserError("--add, --replace and --delete are three commands: give one of them.")
    return output


def _of_pipeline(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    """Give the model and what else an index of a training's best pipeline is built with."""
    from answer_ranking.ranking.pipelines import read_pipeline

    pipeline, confidence = read_pipeline(folder)
    return pipeline.model_of(folder), {**pipeline.index_options(), "confidence": confidence}


def _refuse(why: str, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value:
            raise UserError(f"{why}: leave --{name.replace('_', '-')} out.")


def _questions(path: Path) -> "Path | list[str]":
    from answer_ranking.base.files import read_lines

    return read_lines(path, "questions") if path.suffix.lower() == ".txt" else path


def _ids(path: Path) -> list[str]:
    from answer_ranking.base.files import read_lines
    from answer_ranking.data_prep.tables import check_table
    from answer_ranking.ranking.search.answers import plain_names, read_rows

    if path.suffix.lower() == ".txt":
        return read_lines(path, "identifiers")
    table, lines = read_rows(path)
    rows = plain_names(table, path, ["candidate_id"])
    if "candidate_id" not in rows:
        raise UserError(f"{path}: the column 'candidate_id' is missing, which says what to delete.")
    whole = rows.assign(question=range(len(rows)), candidate="-")
    return check_table(whole, path, lines, labelled=False)["candidate_id"].tolist()


def _write(found: "pd.DataFrame", output: Path) -> None:
    if output.suffix.lower() == ".run":
        from answer_ranking.evaluation import write_run

        columns = found[["question_id", "candidate_id", "score"]].to_dict("list")
        write_run(output, *columns.values())
        return
    from answer_ranking.base.files import atomic_write
    from answer_ranking.data_prep.own_tables import write_csv

    if output.suffix.lower() == ".xlsx":
        from answer_ranking.data_prep.excel_tables import write_excel

        write_excel(found, output)
        return
    with atomic_write(output) as file:
        if output.suffix.lower() == ".jsonl":
            found.to_json(file, orient="records", lines=True, force_ascii=False, date_format="iso")
        else:
            write_csv(found, file)
