"""Train a ranker on own tables and compare it with rules that need no training."""

import csv
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from answer_ranking import engine
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, remove_leftovers, slug
from answer_ranking.data_prep import Dataset, load_table
from answer_ranking.data_prep.dataset import OWN_TABLES
from answer_ranking.data_prep.english import NOT_ENGLISH, know_english_alone, looks_english
from answer_ranking.data_prep.own_tables import split_by_question, write_csv
from answer_ranking.data_prep.table_files import SUFFIXES
from answer_ranking.data_prep.tables import same_text
from answer_ranking.engine import Seed, TrainingData, TrainingRun, encode, options_of, training_key
from answer_ranking.evaluation.records import environment, package_versions
from answer_ranking.evaluation.tables import text_table
from answer_ranking.models.catalogue import ModelOptions
from answer_ranking.ranking.model_folder import find_preset
from answer_ranking.ranking.open_vocabulary import OpenVocabulary
from answer_ranking.ranking.pipelines import PipelineComparison, compare_pipelines
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.report import RuleComparison, compare_with_rules, html_report, print_comparison
from answer_ranking.ranking.search.answers import Reading
from answer_ranking.ranking.search.manifest import sha256_of_model
from answer_ranking.ranking.search.shards import read_shards, tables_in
from answer_ranking.ranking.train_options import FROM_PRESETS, TrainOptions
from answer_ranking.ranking.wrong_answers import draw_wrong_answers
from answer_ranking.training.options import FitOptions

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult

Table: TypeAlias = str | Path | pd.DataFrame
Tables: TypeAlias = Mapping[str, pd.DataFrame]
_FEW = 30
_SCORED = ("dev", "test")


@dataclass(frozen=True)
class TrainedRanker:
    """What `train_ranker` returns."""

    ranker: Ranker  # of the seed that is best on dev
    comparison: RuleComparison  # the ranker beside the rules on test
    pipelines: PipelineComparison | None  # ways of searching; None where the table has wrong candidates
    histories: list[list[dict[str, float]]]  # per seed, a dictionary of figures per epoch
    result: dict[str, Any]  # what `result.json` holds: options, data, metrics of every seed, versions
    folder: Path  # where the model, the report and the run files are


def train_ranker(
    train: Table, dev: Table | None = None, test: Table | None = None, model: str = "hyperqa", **options: Any
) -> TrainedRanker:
    """Train a ranker on own tables, choose the best epoch and seed on dev, and report on test.

    A table has the columns `question`, `candidate` and `label` (and `question_id`, `candidate_id`, if there
    are any), a row per candidate, label 1 for a correct one. To a table of correct answers alone, an FAQ,
    labelled or not, answers to other questions are added as wrong ones (`draw_wrong_answers`). Where `dev` or
    `test` is not given, whole questions are taken out of `train` at random. On test the ranker is compared
    with BM25 and word overlap and, for an FAQ, with other ways of searching it (`compare_pipelines`). What
    was found is printed, and a folder is left with the model, the run files, the split, `result.json` and
    `report.html`. The same call goes on with a training that was interrupted.

    Args:
        train: the table to train on: a path (.csv, .tsv, .xlsx, .jsonl or .parquet) or a frame.
        dev: the table that chooses the best epoch.
        test: the table to report on.
        model: "hyperqa" (fast), "ca-list-birnn" (the best on WikiQA without an encoder) or another of
            `models.catalogue`, or a preset to go on with, such as "hyperqa_squad".
        **options: the fields of `ranking.train_options.TrainOptions`, such as `epochs`, `seeds`,
            `embeddings`, `output`.

    Raises:
        UserError: a table cannot be read or is too small, an option is out of range, or a file cannot be
            written.

    Example:
        >>> trained = train_ranker("faq.csv", epochs=10)  # doctest: +SKIP
        >>> trained.ranker.rank("How do I pay?", ["By card.", "At noon."])  # doctest: +SKIP
    """
    chosen = TrainOptions(**{"model": model, **options})
    given = {"train": train, "dev": dev, "test": test}
    dataset, how, is_faq = load_own_dataset(given, chosen)
    said = [how, *remarks(dataset)]
    texts = [dataset.train[name].unique() for name in ("question", "candidate")]
    if know_english_alone(chosen.embeddings) and not looks_english(*texts):
        said.insert(0, NOT_ENGLISH)
    print("\n".join(said), flush=True)
    data = encode(
        dataset, chosen.embeddings, lowercase=chosen.lowercase, embeddings_home=chosen.embeddings_home
    )
    key = _key(data, chosen)
    folder = Path(chosen.output) / f"{dataset.description.name}_{chosen.model}" / key
    run = TrainingRun(folder, key, chosen.name, data)
    run.train_each(range(chosen.seeds), partial(_train_seed, chosen, data))
    ranker = _saved(run, chosen, folder)
    trained = _compared(run, ranker, chosen, folder, is_faq)
    trained.result.update(remarks=said, command=_command(given, chosen))
    _write(trained, run, chosen.examples)
    if trained.pipelines is not None:
        tables = _tables_to_index(folder, given, dataset, chosen)
        _print_pipelines(trained.pipelines, folder, tables)
    return trained


def _saved(run: TrainingRun, options: TrainOptions, folder: Path) -> Ranker:
    ranker = Ranker.of_training(run.model, options.entry.name, run.data, run.data.word_vectors.name)
    for each in (folder, folder / "split"):
        remove_leftovers(each)
    ranker.save(folder / "model")
    return ranker


def _compared(
    run: TrainingRun, ranker: Ranker, options: TrainOptions, folder: Path, is_faq: bool
) -> TrainedRanker:
    """Compare the trained ranker with the rules, and in an FAQ with other ways of searching it."""
    data, results = run.data, list(run.results.values())
    scores = [each.scores["test"] for each in results]
    comparison = compare_with_rules(data.dataset, data.test, scores, run.best, options.name)
    result = _result(run, options) | {"parameters": run.parameters}
    pipelines = None
    if is_faq:
        pipelines = compare_pipelines(data.dataset, ranker, options.embeddings_home)
        result |= pipelines.as_json()
    histories = [each.history for each in results]
    return TrainedRanker(ranker, comparison, pipelines, histories, result, folder)


def _key(data: TrainingData, options: TrainOptions) -> str:
    """Name a training by what it depends on: options, defaults too, a preset's weights, and data."""
    names = {name: getattr(options, name) for name in ("model", "in_order", "lowercase")}
    if options.model in FROM_PRESETS:
        names["preset"] = sha256_of_model(find_preset(options.model))
    model, training = _options_of(options)
    return training_key(names | asdict(model) | asdict(training), data)


def _options_of(options: TrainOptions) -> tuple[ModelOptions, FitOptions]:
    # `own_tables` suit a training from nothing; a preset goes on with the model's usual options.
    entry = options.entry
    values = {} if options.model in FROM_PRESETS else dict(entry.own_tables or {})
    for name in ("epochs", "learning_rate", "batch_size"):
        if (given := getattr(options, name)) is not None:
            values[name] = given
    return options_of(entry, {**entry.training, **values})


def _train_seed(options: TrainOptions, data: TrainingData, seed: Seed) -> "tuple[keras.Model, FitResult]":
    """Train one seed, or go on with it; the model has the weights of the epoch that is best on dev."""
    model, training = _options_of(options)
    start = _with_words_of(options.model, data) if options.model in FROM_PRESETS else None
    return engine.train(options.entry, model, training, data, seed, start)


def _with_words_of(preset: str, data: TrainingData) -> "keras.Model":
    """Give a preset's model with the words of the table; those that GloVe lacks as in its use."""
    from answer_ranking.ranking.keras_texts import with_word_vectors, word_layer

    ranker, vectors = Ranker.from_preset(preset), data.word_vectors
    if vectors.encoder:
        word_layer(ranker.model).table = vectors.matrix
        return ranker.model
    lacking = np.flatnonzero(~vectors.known)[1:]  # not the padding
    matrix = vectors.matrix.copy()
    words = ranker.open_vocabulary
    assert isinstance(words, OpenVocabulary)
    matrix[lacking] = words.vectors_of_unknown([data.vocabulary.words[i] for i in lacking])
    return with_word_vectors(ranker.model, matrix)


def _result(run: TrainingRun, options: TrainOptions) -> dict[str, Any]:
    """Collect what is needed to understand and to repeat the training, as plain JSON values."""
    sizes = {
        name: {"questions": split.n_questions, "candidates": split.n_rows, "correct": int(split.labels.sum())}
        for name, split in run.data.splits.items()
    }
    vectors, metrics = run.data.word_vectors, {}
    for name in _SCORED:
        metrics[name] = [result.metrics(name) for result in run.results.values()]
    return {
        "table": run.data.dataset.description.title,
        "model": options.name,
        "options": json.loads(json.dumps(asdict(options), default=str)),
        "sizes": sizes,
        "word_vectors": str(vectors),
        "embeddings": vectors.name,
        "seeds": options.seeds,
        "metrics": metrics,
        "seconds_per_epoch": run.seconds_per_epoch,
        "versions": package_versions(),
        **environment(),
    }


def _command(given: Mapping[str, Table | None], options: TrainOptions) -> str:
    """Return the command that repeats the training; "" where a table is a frame."""
    if any(isinstance(table, pd.DataFrame) for table in given.values()):
        return ""
    words = ["answer-ranking", "train", str(given["train"])]
    for name in ("dev", "test"):
        words += [f"--{name}", str(given[name])] if given[name] is not None else []
    return _readable(shlex.join([*words, *options.command_line()]))


def _readable(text: str) -> str:
    """Write the bytes of a file's name that are no UTF-8 as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _write(trained: TrainedRanker, run: TrainingRun, examples: int) -> None:
    """Print the comparison; write run files, split, result and report."""
    folder = trained.folder
    for path in (folder / "runs").glob("*-seed-*.run"):
        if int(path.stem.rpartition("-")[2]) >= len(run.results):
            path.unlink()  # of a call with more seeds
    run.write_runs({})
    for name, table in run.data.dataset.splits.items():
        with atomic_write(folder / "split" / f"{name}.csv") as file:
            write_csv(table, file, quoting=csv.QUOTE_NONNUMERIC)
    with atomic_write(folder / "result.json") as file:
        json.dump(trained.result, file, indent=1, ensure_ascii=False)
    with atomic_write(folder / "report.html") as file:
        report = trained.comparison, trained.pipelines, trained.result, trained.histories
        file.write(html_report(*report, examples))
    if trained.pipelines is None:
        print_comparison(trained.comparison, examples)
    print(f"\nReport: {folder / 'report.html'}\nRun files: {folder / 'runs'}\nSplit: {folder / 'split'}")
    if trained.pipelines is not None:
        return
    model = shlex.quote(str(folder / "model"))
    print("\nRank candidates for new questions:")
    print(f'  answer-ranking rank {model} "your question" candidates.txt')
    print(f"  answer-ranking rank {model} --table new.csv --output ranked.csv")


def _tables_to_index(
    folder: Path, given: Mapping[str, Table | None], dataset: Dataset, options: TrainOptions
) -> list[str]:
    """Name an FAQ's tables, and how they are read; where an index refuses them, write one that it takes."""
    tables = [table for table in given.values() if table is not None]
    reading = Reading(
        question_column=options.columns.get("question", "question"),
        candidate_column=options.columns.get("candidate"),
        sheet=options.sheet,
        drop_bad_rows=options.drop_bad_rows,
    )
    why = "without the rows that are repeated" if options.drop_duplicates else _refused(tables, reading)
    if why:
        path = folder / "answers.csv"
        whole = pd.concat(dataset.splits.values())
        pairs = whole.loc[whole["label"] == 1, ["question", "candidate"]].drop_duplicates()
        with atomic_write(path) as file:
            write_csv(pairs.rename(columns={"candidate": "answer"}), file, quoting=csv.QUOTE_NONNUMERIC)
        print(f"\nQuestions and answers for an index: {path} ({why})")
        return [str(path)]
    named = [_readable(str(table)) for table in tables]
    named += ["--sheet", options.sheet] if options.sheet else []
    named += ["--drop-bad-rows"] * options.drop_bad_rows
    for name in ("question", "candidate"):
        named += [f"--{name}-column", options.columns[name]] if name in options.columns else []
    return named


def _refused(tables: Sequence[Table], reading: Reading) -> str:
    """Say why an index cannot be made of tables as they are; "" where it can."""
    if any(isinstance(table, pd.DataFrame) for table in tables):
        return "the table is in memory alone"
    try:
        with redirect_stderr(io.StringIO()):  # What is left out was said before.
            for _ in read_shards(tables_in([Path(table) for table in tables]), reading):
                pass
    except UserError as error:
        return str(error)
    return ""


def _print_pipelines(pipelines: PipelineComparison, folder: Path, tables: Sequence[str]) -> None:
    print(f"\nWays of searching all {pipelines.n_answers:,} answers:\n{text_table(*pipelines.table())}")
    said, sure = [pipelines.verdict()], ""
    if pipelines.refusals is not None:
        said.append(pipelines.refusals.verdict())
        sure = f" --min-confidence {pipelines.refusals.suggested:.2f}"
    print(f"\n{' '.join(said)} Build its index, and ask:")
    print(f"  answer-ranking index {shlex.join(tables)} --pipeline {shlex.quote(str(folder))} --output INDEX")
    how = f"{pipelines.to_build.search_options(folder)}{sure}"
    print(f'  answer-ranking search INDEX "your question" {how.strip()}'.rstrip())


def load_own_dataset(given: Mapping[str, Table | None], options: TrainOptions) -> tuple[Dataset, str, bool]:
    """Read the tables "train", "dev" and "test", split the first where another is not given, and check them.

    Returns the data set, a sentence that says how it was split, and whether all tables are an FAQ's, which
    has right answers alone.
    """
    names = {
        name: f"the {name} table" if isinstance(table, pd.DataFrame) else _readable(str(table))
        for name, table in given.items()
    }
    tables = {name: _read(table, names[name], options) for name, table in given.items() if table is not None}
    shares = {"dev": options.dev_share, "test": options.test_share}
    shares = {name: share for name, share in shares.items() if name not in tables}
    _refuse_without_use(options, given, names, tables)
    title = Path(names["train"]).name
    how = "The tables were given."
    if shares:
        tables |= split_by_question(tables["train"], shares, options.split_seed, names["train"])
        taken = " and ".join(f"{share:.0%} of the questions for {name}" for name, share in shares.items())
        how = f"Split of {title} by question, seed {options.split_seed}: {taken}."
    source = {name: names["train" if name in shares else name] for name in tables}
    is_faq = all(table["label"].all() for table in tables.values())
    tables, drawn = draw_wrong_answers(tables, options.wrong_answers, options.split_seed, names["train"])
    how = " ".join([how, *drawn])
    for name in _SCORED:
        if not (tables[name].groupby("question_id")["label"].nunique() == 2).any():
            raise UserError(
                f"{source[name]}: no question of {name} has a correct and a wrong candidate, so that "
                "rankings cannot be told apart. Add such questions."
            )
    path = None if isinstance(given["train"], pd.DataFrame) else given["train"]
    # A table may list the correct answers first.
    named = f"own-{table_name(path)}"
    description = replace(OWN_TABLES, name=named, title=title, order_is_signal=options.in_order)
    return Dataset(tables["train"], tables["dev"], tables["test"], description), how, is_faq


def _refuse_without_use(
    options: TrainOptions, given: Mapping[str, Table | None], names: Mapping[str, str], tables: Tables
) -> None:
    """Refuse options that tables like these leave without use."""
    for name in _SCORED:
        share = f"{name}_share"
        if given[name] is not None and getattr(options, share) != getattr(TrainOptions, share):
            raise UserError(f"{names[name]} is the table of {name}: leave {share} out.")
    if options.wrong_answers != TrainOptions.wrong_answers and not tables["train"]["label"].all():
        raise UserError(f"{names['train']} has wrong answers of its own: leave wrong_answers out.")
    for name, table in tables.items():
        if options.in_order and table["label"].all():
            raise UserError(
                f"{names[name]} has no wrong answers, and drawn ones stand in no text's order: leave "
                "in_order out."
            )


def _read(table: Table, where: str, options: TrainOptions) -> pd.DataFrame:
    """Read a table and refuse one without a correct answer."""
    read = load_table(
        table,
        where=where,
        columns=options.columns,
        drop_bad_rows=options.drop_bad_rows,
        drop_duplicates=options.drop_duplicates,
        sheet=options.sheet,
    )
    if not read["label"].any():
        raise UserError(f"{where}: no candidate is labelled correct. Give the right answers the label 1.")
    return read


def remarks(dataset: Dataset) -> list[str]:
    """Return sentences about leaks, repeated rows and small tests for a reader of the metrics."""
    said = []
    texts = {name: set(map(same_text, table["question"].unique())) for name, table in dataset.splits.items()}
    for name in ("dev", "test"):
        if common := len(texts["train"] & texts[name]):
            said.append(
                f"{common} questions of {name} are also in the training table: its metrics are too good."
            )
    if common := len(texts["dev"] & texts["test"]):
        said.append(f"{common} questions of test are also in dev, which chooses: its metrics are too good.")
    for name, table in dataset.splits.items():
        pairs = table.groupby(["question_id", "candidate"])["label"]
        if n := len(table) - pairs.ngroups:
            both = int((pairs.min() != pairs.max()).sum())
            said.append(
                f"{name}: {n} rows repeat a candidate of their question, and stay"
                + (f"; {both} of these candidates are labelled both correct and wrong." if both else ".")
            )
    n_questions = int(dataset.test.groupby("question_id")["label"].max().sum())
    if n_questions < _FEW:
        said.append(f"Test has only {n_questions} questions with a correct candidate: its metrics are rough.")
    return said


def table_name(path: str | Path | None) -> str:
    """Name a table for folders: "my-faq" for "texts/My FAQ.csv.gz"."""
    name = Path(Path(path or "table").name.lower().removesuffix(".gz"))
    return slug(name.stem if name.suffix in SUFFIXES else name.name) or "table"
