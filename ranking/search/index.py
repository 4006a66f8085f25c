"""An index of answers: built once from a ranker and a table, searched in milliseconds."""

import dataclasses
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from answer_ranking.base.cluster import cluster
from answer_ranking.base.errors import UserError, say
from answer_ranking.base.files import atomic_write
from answer_ranking.data_prep.english import NOT_ENGLISH, know_english_alone, looks_english
from answer_ranking.data_prep.tables import check_table, read_label
from answer_ranking.ranking.model_folder import names_encoder
from answer_ranking.ranking.search.answers import QUESTION, Reading, has_questions, searched_columns
from answer_ranking.ranking.search.build_options import BuildOptions
from answer_ranking.ranking.search.building import commit, copy_model, held, load, with_rows
from answer_ranking.ranking.search.conditions import Where
from answer_ranking.ranking.search.confidence import (
    FEWEST_QUESTIONS,
    Confidence,
    foreign_questions,
    rows_to_learn,
    say_what_is_lacking,
)
from answer_ranking.ranking.search.first_stages import MOST_COUNTED, check_names, entries_of, names_for
from answer_ranking.ranking.search.manifest import BUILDING, NAME, Manifest, damaged, sha256_of_model
from answer_ranking.ranking.search.questions import Asked, Questions, questions_of
from answer_ranking.ranking.search.results import Hits, Results, reranked, to_frame
from answer_ranking.ranking.search.shards import (
    Shard,
    Table,
    hashes_of_texts,
    ids_to_replace,
    read_shards,
    tables_in,
)
from answer_ranking.ranking.search.state import State, deleted_name

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker

RERANK_DEPTH = 100
"""So many answers are re-ranked unless it is said."""


class AnswerIndex:
    """Answers with their points and words, kept in a folder; see `build` and `open`.

    What is open is one state: `search` does not see what another process adds or deletes. Safe to search from
    several threads.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> answers = pd.DataFrame({"answer": ["Ann wrote it.", "It rained."], "year": [2001, 2002]})
        >>> index = AnswerIndex.build(None, answers, folder)
        >>> index.search("Who wrote it?", first_stage="bm25")[["rank", "candidate", "year"]].values.tolist()
        [[1, 'Ann wrote it.', 2001], [2, 'It rained.', 2002]]
        >>> len(index.search("Who wrote it?", first_stage="bm25", where={"year": 2002}))
        1
    """

    def __init__(self, folder: Path, manifest: Manifest):
        self.folder = folder
        # All at once, so that a search in another thread sees one state, too.
        self._own = own = _OwnRanker(folder / "model" if manifest.model else None)
        # Not by way of this object: a circle would keep the files open for longer.
        self._state = State(folder, manifest, lambda: own.ranker)

    @property
    def manifest(self) -> Manifest:
        """What the index consists of."""
        return self._state.manifest

    @property
    def first_stages(self) -> list[str]:
        """What a search can ask for: first stages, and fusions that have a name; the default first."""
        return self._state.choices

    def questions(self, n: int) -> list[str]:
        """Give up to `n` of the first questions of an FAQ's index; [] where it holds answers alone."""
        return self._state.questions(n)

    def __len__(self) -> int:
        return self._state.n_answers

    def file_sizes(self) -> dict[str, int]:
        """Count the bytes of the files of each first stage, and of the answers ("texts")."""
        beginnings: dict[str, tuple[str, ...]] = {"texts": ("texts.",)}
        for entry in entries_of(self.manifest.first_stages):
            beginnings[entry.name] = entry.files
        sizes = dict.fromkeys(beginnings, 0)
        for path in filter(Path.is_file, self.folder.rglob("*")):
            parts = path.relative_to(self.folder).parts
            for name, own in beginnings.items():
                if any(part.startswith(own) for part in parts):
                    sizes[name] += path.stat().st_size
        return sizes

    @classmethod
    def build(
        cls,
        ranker: "Ranker | str | Path | None",
        table: Table | Sequence[Table],
        folder: str | Path,
        *,
        exist_ok: bool = False,
        ray: str | None = None,
        **options: Any,
    ) -> "AnswerIndex":
        """Index answers, or an FAQ; the same call goes on after an interruption.

        Args:
            ranker: one that encodes answers apart (HyperQA, CosineQA), or its folder or name, see
                `Ranker.load`, which is copied into the index; None for an index of words alone.
            table: a path (.csv, .tsv, .xlsx, .jsonl, .parquet) or a table with the column `candidate`,
                or else `answer`, `answers` or `text`; several; or a folder of such files, which are taken in
                the order of their names and held one at a time. Without `candidate_id` the rows are called
                c1, c2, ... Other columns are kept; where one is named as a column of the result, `indexed_`
                is put before its name, such as `indexed_question` for an FAQ's own questions.
            folder: the folder of the index, new or empty.
            exist_ok: open the index that is there already, as it is, whatever the table holds now.
            ray: the address of a Ray cluster that shares the work (`base.cluster`). The index is the
                same, but for the rounding of sums, which depends on the number of threads.
            **options: the fields of `ranking.search.build_options.BuildOptions`, such as `search`,
                `first_stages`, `question_column`, `passage_length`.

        Raises:
            UserError: the folder is not empty, a row is wrong (its line is named), the ranker does not
                encode answers apart, or the disk is full.
        """
        folder = Path(folder)
        if exist_ok and _is_built(folder):
            return cls.open(folder)
        # What is wrong with the folder, the model or the first table is said before anything is written.
        _check_new(folder)
        chosen = BuildOptions(**options)
        loaded = load(Path(ranker)) if isinstance(ranker, (str, Path)) else ranker
        if isinstance(ranker, (str, Path)) and names_encoder(ranker):
            ranker = loaded  # There is no folder of a model to copy.
        with _connected(ray) as module:
            shards = read_shards(tables_in(table), chosen, module)
            first = next(shards)
            begin = [first] if chosen.first_stages is not None else list(_counted(first, shards))
            manifest = _begun(loaded, first, sum(shard.rows for shard in begin), chosen)
            with held(folder):
                _check_new(folder)  # another process may have built it meanwhile
                (folder / BUILDING).touch()
                manifest = dataclasses.replace(manifest, model=copy_model(ranker, folder / "model"))
                manifest = with_rows(folder, manifest, itertools.chain(begin, shards), module, loaded)
                commit(folder, manifest)
        index = cls.open(folder)
        index.ranker = loaded
        return index

    @classmethod
    def open(cls, folder: str | Path) -> "AnswerIndex":
        """Open an index and check its files.

        A UserError names what is missing, damaged, or made by another version, and says what to do.
        """
        folder = Path(folder).resolve()  # It is read again when the working directory is another one.
        manifest = Manifest.read(folder)
        while True:
            try:
                manifest.check(folder)
                if manifest.model and sha256_of_model(folder / "model") != manifest.model:
                    what = "is another model than the index's. Build the index again."
                    raise UserError(f"{folder / 'model'} {what}")
                return cls(folder, manifest)
            except (UserError, OSError):
                # Somebody may just have added to it, and removed what this state consists of.
                before, manifest = manifest, Manifest.read(folder)
                if before == manifest:
                    raise

    def search(
        self,
        questions: Questions,
        k: int = 10,
        first_stage: str | None = None,
        rerank: "Ranker | str | Path | None" = None,
        rerank_depth: int = RERANK_DEPTH,
        where: Where | None = None,
        min_confidence: float = 0,
    ) -> pd.DataFrame:
        """Find the best answers to questions.

        Args:
            questions: one, several, or a table, or a `Path` to one, with `question` and optionally
                `question_id`.
            k: the most answers to each; less come where there are no more.
            first_stage: one of the index's `first_stages`, or several with "+" between them, whose scores are
                fused, such as "ngrams+bm25". Default: the first of `first_stages`: that of the pipeline for
                which the index was built, or "both", the fusion of the model's nearest points and BM25, of an
                FAQ "questions+both"; without a model "ngrams+bm25", or "bm25" where there are no "ngrams".
            rerank: a ranker of any kind, or its folder, that re-ranks the first `rerank_depth`, or the first
                `k` where these are more.
            rerank_depth: see `rerank`.
            where: only answers whose columns have the given value, or one of the given list; or a list of
                conditions that must all hold, such as "topic=law", "topic!=law", "year>=2001", "note is
                missing" or "note is not missing".
            min_confidence: only answers with at least this confidence, from 0 to 1.

        Returns:
            The columns `question_id`, `question`, `rank` (from 1), `score` (that of the ranker which came
            last, of BM25, or of the fusion), `confidence` from 0 to 1 where the index has learnt one
            (`calibrate`), `candidate_id`, `candidate`, the further columns of the table, and `first_stage`. A
            question that finds nothing has no row. A warning names the questions of
            which the model knows no word: they have nothing but other first stages' answers.

        Raises:
            UserError: a question is empty, a column or first stage unknown, a number out of range, or the
                index has no confidence.
        """
        found = self.find(questions, k, first_stage, rerank, rerank_depth, where, min_confidence)
        if found.warning:
            warnings.warn(found.warning, stacklevel=2)
        return found.table

    def find(
        self,
        questions: Questions,
        k: int = 10,
        first_stage: str | None = None,
        rerank: "Ranker | str | Path | None" = None,
        rerank_depth: int = RERANK_DEPTH,
        where: Where | None = None,
        min_confidence: float = 0,
    ) -> Results:
        """Search as `search` does; gives the questions of unknown words as a value, not as a warning."""
        state, asked = self._state, questions_of(questions)
        for name, value in (("k", k), ("rerank_depth", rerank_depth)):
            if not isinstance(value, Integral) or value < 1:
                raise UserError(f"{name} must be a whole number, at least 1. Received: {value!r:.40}")
        if not 0 <= min_confidence <= 1:
            raise UserError(f"min_confidence must be from 0 to 1. Received: {min_confidence}")
        if min_confidence and state.manifest.confidence is None:
            raise UserError(
                "the index has learnt no confidence: leave min_confidence (--min-confidence) out, build it "
                "with the folder that `answer-ranking train` left for the FAQ (--pipeline), or see "
                "AnswerIndex.calibrate."
            )
        stage = first_stage or state.choices[0]
        depth = k if rerank is None else max(k, rerank_depth)
        has_passages = state.manifest.passage_length > 0
        searched = state.search(stage, asked.texts, k, depth, where or {})
        hits = Hits.of(searched)
        if rerank is not None:
            ranker = load(Path(rerank)) if isinstance(rerank, (str, Path)) else rerank
            answers = state.segments.take(hits.row)["candidate"].to_pylist()
            hits = reranked(ranker, asked.texts, hits, answers)
        if has_passages:
            hits = hits.keep(state.is_first_passage(hits))
        hits = hits.first(k)
        if not np.isfinite(hits.score).all():
            raise damaged(self.folder, ValueError("a score is not a finite number"))
        table = self._shown(asked, hits, stage)
        refused: list[str] = []
        if min_confidence:
            is_sure = table["confidence"].to_numpy() >= min_confidence
            hits = hits.keep(is_sure)
            table = table[is_sure].assign(rank=hits.rank).reset_index(drop=True)
            refused = np.delete(np.array(asked.ids, object), hits.question).tolist()
        unknown = list(itertools.compress(asked.ids, searched.unknown))
        return Results(table, hits.row, unknown, refused, len(asked.ids))

    def _shown(self, asked: Asked, hits: Hits, stage: str) -> pd.DataFrame:
        """Make the table of hits; see `search`."""
        state, of_question = self._state, hits.question.tolist()
        shown = {
            "question_id": pa.array([asked.ids[place] for place in of_question], pa.string()),
            "question": pa.array([asked.texts[place] for place in of_question], pa.string()),
            "rank": hits.rank,
            "score": hits.score,
        }
        if state.manifest.confidence is not None:
            features = state.features(asked.texts, hits.rows_of(len(asked.ids)))
            shown["confidence"] = state.manifest.confidence.of(features)
        answers = state.segments.take(hits.row)
        shown |= dict(zip(answers.column_names, answers.columns, strict=True))
        shown["first_stage"] = pa.repeat(stage, len(hits))
        return to_frame(pa.table(shown))

    def calibrate(
        self, questions: pd.DataFrame, foreign: Sequence[str] | None = None, **options: Any
    ) -> Confidence:
        """Learn how sure an answer is, from questions whose answers are known; the index keeps it.

        The first right answer to each question is compared with the first wrong one, and with the first to
        each question to which the index has no answer, all of which weigh the same together. Learn again
        after many answers were added.

        Args:
            questions: the columns `question` and `candidate`, the right answers; rows whose `label` is 0 are
                left out. A note says which answers the index does not have.
            foreign: questions that have none here. Default: those of the bundled sample, in English.
            **options: those of `search` that will be asked, such as `first_stage`.
        """
        if "label" in questions.columns:
            questions = questions[questions["label"].map(read_label) != 0]
        questions = check_table(questions, "the table of questions", unit="row", labelled=False)
        right = questions.groupby("question", sort=False)["candidate"].agg(set).to_dict()
        state, are_passages = self._state, bool(self.manifest.passage_length)
        if len(right) < FEWEST_QUESTIONS:
            say(f"It is learnt from {len(right)} questions alone: give {FEWEST_QUESTIONS} at least.")
        if not are_passages:
            indexed = state.texts()["candidate"].to_pylist()
            say_what_is_lacking(questions["candidate"].unique(), indexed)
        if foreign is None:
            own = state.texts()[QUESTION].to_pylist() if QUESTION in state.manifest.columns else []
            foreign = foreign_questions([*right, *map(str, filter(None, own))])
        found = self.find([*right, *foreign], **options)
        rows = rows_to_learn(found.table, right, are_passages)
        places = found.rows[rows.index]
        features = state.features(rows["question"].tolist(), list(places[:, None]))
        confidence = Confidence.fit(features, rows["kind"].to_numpy())
        with held(self.folder):
            now = type(self).open(self.folder).manifest
            commit(self.folder, dataclasses.replace(now, confidence=confidence), now)
        self._reopen()
        return confidence

    def add(
        self,
        table: Table | Sequence[Table],
        *,
        question_column: str = "question",
        candidate_column: str | None = None,
        sheet: str | None = None,
        drop_bad_rows: bool = False,
        keep_duplicates: bool = False,
        replace: bool = False,
        ray: str | None = None,
    ) -> None:
        """Add answers, read as in `build`; all are there afterwards, or none.

        Those that are there already, with the same question where they have one, are left out, and a note
        says how many, unless `keep_duplicates` adds them again. With `replace` an answer takes the place of
        the one that has its `candidate_id`; its table must have all columns of the index. Points of new
        answers are new files; BM25's scores are computed again for all texts. A UserError names identifiers
        that the index has already.
        """
        with _connected(ray) as module, held(self.folder):
            now = type(self).open(self.folder)._state
            tables, before, known = tables_in(table), now.manifest, None
            reading = Reading(
                question_column=question_column,
                candidate_column=candidate_column,
                sheet=sheet,
                drop_bad_rows=drop_bad_rows,
                passage_length=before.passage_length,
            )
            if replace:
                ids = ids_to_replace(tables, reading, now.segments.schema.names)
                now = self._without(now, now.rows_of(ids))
            elif not (keep_duplicates or before.passage_length):
                known = np.delete(hashes_of_texts(now.texts()), now.deleted)
            shards = read_shards(tables, reading, module, now, known)
            first = next(shards, None)
            if first is None:  # All were known.
                return
            shards = itertools.chain([first], shards)
            manifest = with_rows(self.folder, now.manifest, shards, module)
            commit(self.folder, manifest, before)
        self._reopen()

    def delete(self, ids: Sequence[str] = (), *, where: Where | None = None) -> None:
        """Delete answers by their `candidate_id`, and those of which conditions hold (see `search`).

        A UserError names those that the index does not have, or says that it has none. Their texts stay in
        the files, and in BM25's frequencies.
        """
        if isinstance(ids, str):
            raise UserError(f"identifiers are given as a list. Write [{ids!r:.40}].")
        with held(self.folder):
            now = type(self).open(self.folder)._state
            names = pd.Series(list(dict.fromkeys(map(str, ids))), dtype=object)
            rows, unknown = now.rows_of(names), now.lacks(names)
            if len(unknown):
                raise UserError(f"{self.folder} has no answer {', '.join(map(repr, unknown[:5]))}.")
            kept = now.kept(where) if where else None
            if kept is not None:
                met = np.flatnonzero(kept)
                if not len(met):
                    conditions = where if isinstance(where, (str, Mapping)) else ", ".join(where or ())
                    raise UserError(f"{self.folder} has no answer of which this holds: {conditions}.")
                rows = np.union1d(rows, met)
            commit(self.folder, self._without(now, rows).manifest, now.manifest)
        self._reopen()

    def _without(self, now: State, rows: np.ndarray) -> State:
        """Write the numbers of further deleted rows, and give the state that has them."""
        deleted = np.union1d(now.deleted, rows)
        if len(deleted) == len(now.deleted):
            return now
        name = deleted_name(deleted)
        with atomic_write(self.folder / name, "wb") as file:
            np.save(file, deleted)
        manifest = dataclasses.replace(now.manifest, deleted=name, n_deleted=len(deleted))
        return State(self.folder, manifest, lambda: self._own.ranker)

    def _reopen(self) -> None:
        """Go on with the newest state, and with the model that is loaded."""
        newest = type(self).open(self.folder)
        if "ranker" in vars(self._own):
            newest.ranker = self.ranker
        self._state, self._own = newest._state, newest._own

    @property
    def ranker(self) -> "Ranker | None":
        """The index's model, loaded when it is needed; None where it searches by words alone."""
        return self._own.ranker

    @ranker.setter
    def ranker(self, ranker: "Ranker | None") -> None:
        """Take the model that another state of this index has loaded."""
        self._own.ranker = ranker


class _OwnRanker:
    """A model that is loaded when it is first needed."""

    def __init__(self, folder: Path | None):
        self._folder = folder

    @cached_property
    def ranker(self) -> Any:
        return None if self._folder is None else load(self._folder)


def _check_new(folder: Path) -> None:
    """Refuse a folder that holds anything but an unfinished index.

    A build that was killed between its manifest and its end is whole; the same call finds all its parts, and
    ends it.
    """
    if _is_built(folder):
        raise UserError(f"{folder} is an index already. Choose another folder, or add to it.")
    found = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    others = [name for name in found if name != "lock"]
    if others and BUILDING not in found:
        raise UserError(f"{folder} is not empty ({others[0]}). Choose a new folder for the index.")


def _is_built(folder: Path) -> bool:
    return (folder / NAME).exists() and not (folder / BUILDING).exists()


def _counted(first: Shard, others: Iterator[Shard]) -> Iterator[Shard]:
    """Take tables until they have more rows than any first stage takes by itself, or all of them."""
    n_rows = first.rows
    yield first
    while n_rows <= MOST_COUNTED and (shard := next(others, None)) is not None:
        n_rows += shard.rows
        yield shard


def _begun(ranker: "Ranker | None", first: Shard, n_rows: int, options: BuildOptions) -> Manifest:
    """Give the manifest of an index without rows, whose first table is known, and how many there will be."""
    similarity = ""
    if ranker is not None:
        ranker.check_nearest_is_best()
        similarity = ranker.similarity
        rows = first.parts[0].table()
        columns = [rows[name] for name in (QUESTION, "candidate") if name in rows.column_names]
        texts = [map(str, column.drop_null().to_pylist()) for column in columns]
        if know_english_alone(ranker.vectors) and not looks_english(*texts):
            say(NOT_ENGLISH)
    has = {"with_model": ranker is not None, "with_questions": has_questions(first.schema)}
    if options.first_stages is None:
        stages = names_for(**has, n_answers=n_rows)
    else:
        stages = check_names(options.first_stages, **has)
    manifest = Manifest(
        segments=[],
        similarity=similarity,
        columns=[name for name in first.schema.names if name not in ("candidate_id", "candidate")],
        searched=searched_columns(options, first.schema),
        first_stages=stages,
        words=options.words,
        passage_length=int(options.passage_length),
        default_stage=options.default_stage,
        confidence=options.confidence,
    )
    try:
        manifest.check_choices()
    except ValueError as error:
        raise UserError(f"{error}: choose of {', '.join(stages)}.") from error
    return manifest


def _connected(address: str | None) -> AbstractContextManager[Any]:
    """Connect to a Ray cluster, if there is an address; gives the module, or None."""
    return nullcontext() if address is None else cluster(address)
