"""The subcommands `answer-ranking index` and `answer-ranking search`; imports little until one runs."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import OmitArgPrefixes, Positional

from answer_ranking.base.errors import UserError, escaped, say
from answer_ranking.ranking.search.first_stages import describe, describe_needs

if TYPE_CHECKING:
    import pandas as pd

Tables = Positional[Annotated[tuple[Path, ...], tyro.conf.arg(metavar="ANSWERS")]]
Index = Annotated[Path, tyro.conf.arg(metavar="INDEX")]
FirstStage = Annotated[
    str | None,
    tyro.conf.arg(
        help=f"{describe()}. Unless given, that of the pipeline for which the index was built (--pipeline), "
        "else the first that the index can give of questions+both, both, ngrams+bm25 and bm25."
    ),
]
FirstStages = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        help=f"which first stages it has: {describe_needs()}. Unless given, all but what must be named."
    ),
]
Where = Annotated[tuple[str, ...], tyro.conf.UseAppendAction]
_CHOSEN = ("model", "search", "first_stages", "stemmer", "stop_words")
_NAMED_AT_MOST = 5
Question = Positional[Annotated[str | None, tyro.conf.arg(metavar="QUESTION")]]


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """The options of `answer-ranking index`."""

    output: Path | None = None
    """The folder of the index, new or empty; it must be given."""
    model: Path | None = None
    """The folder model/ that a training left; a preset, such as hyperqa_squad; or minilm, the cosine of an
    encoder (docs/contextual.md). Without it, words and letters alone are compared."""
    pipeline: Path | None = None
    """The folder that a training of an FAQ left: what its best pipeline needs is built."""
    search: tuple[str, ...] = ()
    """The columns in which words and letters are looked for; unless given, question and answer."""
    first_stages: FirstStages = ()
    stemmer: str | None = None
    """Stem the words of BM25 in this language, such as english; unless given, words stay as they are."""
    stop_words: str | None = None
    """Leave the stop words of this language, such as english, out of the words of BM25."""
    passage_length: int = 0
    """Split answers into passages of at most so many characters; a search finds of each answer the best one.
    Unless given, answers stay whole."""
    question_column: str = "question"
    """The table's column of questions."""
    candidate_column: str | None = None
    """The table's column of answers."""
    sheet: str | None = None
    """The sheet to read of an Excel file; unless given, the first that is not hidden."""
    drop_bad_rows: bool = False
    """Leave out the table's rows that cannot be read, and say how many."""
    add: bool = False
    """Add the answers to an existing index: all that it does not have yet, or after an error none."""
    keep_duplicates: bool = False
    """With --add, add answers, too, that the index has already with the same question."""
    replace: bool = False
    """Replace answers with the same candidate_id, and add the others."""
    delete: bool = False
    """Delete answers from an existing index: those of the table's column candidate_id, or of the lines
    of a .txt file, or those of --where."""
    where: Where = ()
    """With --delete, the answers of which this holds, such as "year<2001"; see search."""
    ray: str | None = None
    """Share the work with a Ray cluster: auto for the one that runs here, local for all processors of this
    machine, or an address such as 10.0.0.1:6379. The index is the same, but for the rounding of sums."""

    def folder(self, tables: tuple[Path, ...]) -> Path:
        """Give the folder of the index; a UserError refuses options that do not go together."""
        if not tables and not self.where:
            raise UserError("name the tables of answers: answer-ranking index ANSWERS --output INDEX.")
        if self.output is None:
            raise UserError("give the folder of the index: --output INDEX.")
        if self.add + self.replace + self.delete > 1:
            raise UserError("--add, --replace and --delete are three commands: give one of them.")
        if self.passage_length < 0:
            raise UserError(
                "--passage-length must be at least 1, or 0 for whole answers. "
                f"Received: {self.passage_length}"
            )
        if self.add or self.replace or self.delete:
            self._refuse("an index keeps what it was built with", "pipeline", "passage_length", *_CHOSEN)
        if self.pipeline is not None:
            self._refuse("--pipeline names these", *_CHOSEN)
        if not self.add:
            self._refuse("--keep-duplicates goes with --add", "keep_duplicates")
        if self.delete:
            self._refuse("--delete takes identifiers alone", "ray", "sheet", "drop_bad_rows")
        else:
            self._refuse("--where goes with --delete", "where")
        return self.output

    def _refuse(self, why: str, *names: str) -> None:
        for name in names:
            if getattr(self, name):
                raise UserError(f"{why}: leave --{name.replace('_', '-')} out.")

    @property
    def reading(self) -> dict[str, Any]:
        """How the tables are read."""
        names = ("question_column", "candidate_column", "sheet", "drop_bad_rows", "ray")
        return {name: getattr(self, name) for name in names}

    @property
    def chosen(self) -> dict[str, Any]:
        """What the index is to have."""
        if self.pipeline is None:
            facts = {name: getattr(self, name) or None for name in _CHOSEN}
            facts["ranker"] = facts.pop("model")
        else:
            from answer_ranking.ranking.pipeline import read_pipeline

            pipeline, confidence = read_pipeline(self.pipeline)
            model = pipeline.model_of(self.pipeline)
            facts = {"ranker": model, "confidence": confidence, **pipeline.index_options()}
            # It was found with columns of our names.
            theirs = {"question": self.question_column, "answer": self.candidate_column or "candidate"}
            facts["search"] = [theirs[name] for name in pipeline.search]
        if self.passage_length and facts.get("confidence"):
            say("The confidence was learnt with whole answers, and is left out: see AnswerIndex.calibrate.")
            del facts["confidence"]
        return {**facts, "passage_length": self.passage_length}


def index(tables: Tables, *, indexing: OmitArgPrefixes[IndexOptions]) -> None:
    """Index tables of answers, or an FAQ, so that the best of very many are found in milliseconds.

    A table has the column candidate, or else answer, answers or text, as .csv, .tsv, .xlsx, .jsonl or
    .parquet; where it has the column question, too, words are looked for in both. candidate_id names the
    answers; other columns are kept, and searches can filter by them. After an interruption the same command
    goes on.

    Args:
        tables: the tables of answers, or a folder of tables, which are taken in the order of their names.
    """
    folder = indexing.folder(tables)
    from answer_ranking.ranking.search.index import AnswerIndex

    if indexing.delete:
        made = AnswerIndex.open(folder)
        made.delete([each for table in tables for each in _ids(table)], where=indexing.where)
    elif indexing.add or indexing.replace:
        made = AnswerIndex.open(folder)
        again = indexing.keep_duplicates
        made.add(tables, **indexing.reading, keep_duplicates=again, replace=indexing.replace)
    else:
        made = AnswerIndex.build(table=tables, folder=folder, **indexing.chosen, **indexing.reading)
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
        rerank: another model, which re-ranks the first of each question: a folder, a preset such as
            cosinet_squad, or an encoder such as minilm.
        rerank_depth: with rerank, how many; 100 unless given.
        where: only answers of which this holds, such as topic=travel; may be repeated. Conditions are =, !=,
            <, <=, > and >= with a value, and 'topic is missing' or 'topic is not missing'. All must hold, but
            values that one column may equal are alternatives.
        min_confidence: only answers with at least this confidence, from 0 to 1; an index gives one where it
            was built with --pipeline, or calibrated (AnswerIndex.calibrate).
        output: the file to write, .run (a TREC run file), .csv, .xlsx or .jsonl; else all is printed.
    """
    if (question is None) == (questions is None):
        raise UserError("give either a question, or --questions FILE.")
    if output is not None and output.suffix.lower() not in (".run", ".csv", ".xlsx", ".jsonl"):
        raise UserError(f"--output must end in .run, .csv, .xlsx or .jsonl. Received: {output}")
    if rerank is None and rerank_depth is not None:
        raise UserError("--rerank-depth goes with --rerank.")
    asked = question if questions is None else _questions(questions)
    from answer_ranking.data_prep.own_tables import write_csv
    from answer_ranking.ranking.search.index import RERANK_DEPTH, AnswerIndex

    depth = RERANK_DEPTH if rerank_depth is None else rerank_depth
    results = AnswerIndex.open(index).find(asked, k, first_stage, rerank, depth, where, min_confidence)
    if results.warning:
        say(f"warning: {results.warning}")
    found = results.table
    if results.refused and question is None:
        names = ", ".join(results.refused[:_NAMED_AT_MOST])
        say(f"No good answer to {len(results.refused):,} questions: {names}")
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
        text = escaped(f"{row.candidate_id}  {row.candidate}")
        print(f"{row.rank:3}  {sure}{row.score:9.4f}  {text}")


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
    from answer_ranking.ranking.search.results import as_json

    if output.suffix.lower() == ".xlsx":
        from answer_ranking.data_prep.excel_tables import write_excel

        write_excel(found, output)
        return
    with atomic_write(output) as file:
        if output.suffix.lower() == ".jsonl":
            file.write(as_json(found, lines=True))
        else:
            write_csv(found, file)
