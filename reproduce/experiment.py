"""What every experiment has in common: data, seeds, records, run files, the saved ranker, the table.

A script states a configuration, how to build its ranker, and what trains and scores it; `train_and_score` and
`run_experiment` do the rest.
"""

import hashlib
import importlib.util
import json
import math
import shlex
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from data_prep import (
    Dataset,
    EncodedDataset,
    EncodedSplit,
    UserError,
    WordVectors,
    encode_dataset,
    load_dataset,
    load_word_vectors,
)
from data_prep.files import atomic_path, atomic_write, check_writable, held_folder, remove_leftovers
from data_prep.overlap_features import inverse_document_frequencies
from data_prep.registry import reader_sources
from evaluation import (
    METRICS,
    evaluate_ranking,
    mean_confidence_interval,
    questions_that_count,
    summarise,
    write_qrels,
    write_run,
)
from evaluation.paper_results import read_paper_results
from evaluation.records import ResultRecord, read_record, save_record
from evaluation.source_fingerprints import source_fingerprints
from evaluation.tables import paper_ours_table
from reproduce.options_without_effect import refuse_options_without_effect
from reproduce.task_vectors import with_task_vectors
from training.option_ranges import check_range

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure

    from training.fit import FitResult

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results"
PAPER_RESULTS = Path(__file__).parent / "paper_results.csv"


@dataclass(frozen=True)
class ExperimentConfig:
    """The options that every experiment has."""

    sources: ClassVar[tuple[str, ...]] = (
        *(
            f"reproduce/experiment.py::{name}"
            for name in (
                "ExperimentConfig.embeddings",
                "ExperimentConfig.identity_dimensions",
                "ExperimentConfig.lowercase",
                "ExperimentConfig.mask_numbers",
                "ExperimentConfig.unknown_scale",
                "_over_seeds",
                "load_experiment_data",
                "measure",
                "per_question",
                "train_and_score",
            )
        ),
        "data_prep/encoded_dataset.py::_encode",  # all else there keeps what this gives, for the next run
        "data_prep/encoded_split.py",
        "data_prep/encoded_texts.py",
        "data_prep/tables.py",
        "data_prep/tokens.py",
        "data_prep/trained_vectors.py",
        "data_prep/vocabulary.py",
        "data_prep/word_vector*.py",
        "evaluation/intervals.py",
        "evaluation/ranking.py",
        "models/word_embedding.py",
        "reproduce/task_vectors.py",
        "training/batch_stream.py",
        "training/callbacks.py",
        "training/fit.py",
        "training/ranker_trainer.py",
        "training/training_state.py",
    )
    """The code on which the numbers of every experiment depend; a paper adds its own. See
    `evaluation.source_fingerprints`."""

    dataset: str
    """Name of the data set."""
    variant: str | None = None
    """Training set of the data set, where there are several."""
    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated. task-skipgram-100d are trained on the data
    set's own texts, and so are other sizes and task-cbow-100d."""
    identity_dimensions: int = 0
    """Fixed random dimensions that are added to every word's vector, so that equal words can be told (in no
    paper)."""
    unknown_scale: float = 0.05
    """Scale of the random vectors of words that the word vectors lack."""
    lowercase: bool = True
    """Whether words are put into lower case."""
    mask_numbers: bool = False
    """Replace numbers by <num>, as the distributed file of TrecQA's TRAIN-ALL does."""
    seeds: int | None = None
    """How many seeds to run: 1 for a quick look, 5 for a recorded run, unless given."""
    first_seed: int = 0
    """The first seed; the others follow it. Runs with different first seeds can go on side by side: each
    takes up the seeds that another has trained."""
    record: bool = False
    """Write the results to reproduce/results/, from which RESULTS.md is made."""
    main: bool = False
    """With --record: these are the results to set beside the paper's; others are listed as variants."""
    notes: str = ""
    """With --record: what a reader has to know about these results."""
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""
    output: Path = Path("outputs")
    """Folder for models, run files, figures and the state of unfinished trainings."""
    tensorboard: bool = False
    """Write TensorBoard logs beside the models."""
    check_data: bool = False
    """Train nothing, but print the fingerprints of the data and of the code as JSON."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        check_range(self, "seeds", at_least=1)
        check_range(self, "first_seed", at_least=0)
        check_range(self, "identity_dimensions", at_least=0)
        check_range(self, "unknown_scale", at_least=0, below=math.inf)
        if self.tensorboard and importlib.util.find_spec("tensorboard") is None:
            raise UserError("--tensorboard needs the package tensorboard: pip install tensorboard")

    @property
    def seed_list(self) -> list[int]:
        """The seeds of this experiment."""
        count = self.seeds if self.seeds is not None else (5 if self.record else 1)
        return list(range(self.first_seed, self.first_seed + count))

    def matters(self) -> dict:
        """Return the options on which the numbers depend, as plain values."""
        aside = {field.name for field in fields(ExperimentConfig)} - {
            "dataset",
            "variant",
            "embeddings",
            "identity_dimensions",
            "unknown_scale",
            "lowercase",
            "mask_numbers",
        }
        options = {k: v for k, v in asdict(self).items() if k not in aside}
        options["embeddings"] = [Path(name).name for name in self.embeddings]
        return options


@dataclass(frozen=True)
class ExperimentData:
    """Everything that training reads."""

    dataset: Dataset
    encoded: EncodedDataset
    word_vectors: WordVectors

    @property
    def title(self) -> str:
        """The data set's name and training set, for tables and figures."""
        return " ".join(filter(None, (self.dataset.description.title, self.dataset.variant)))

    @property
    def scored_splits(self) -> dict[str, EncodedSplit]:
        """The splits that rankers are measured on: all but the one they are trained on."""
        return {name: split for name, split in self.encoded.splits.items() if name != "train"}

    @cached_property
    def word_embedding(self) -> "keras.layers.Embedding":
        """The layer of word vectors that the rankers of all seeds share."""
        from models.word_embedding import word_embedding

        return word_embedding(self.word_vectors.matrix)

    def fingerprint(self) -> str:
        """Return a hash of the encoded texts, labels, features and word vectors."""
        # As they lie in memory: a copy of the word vectors would be the largest thing there is.
        digest = hashlib.sha256(np.ascontiguousarray(self.word_vectors.matrix))
        for split in self.encoded.splits.values():
            for texts in (split.questions, split.candidates.texts):
                digest.update(texts.words.tobytes() + texts.offsets.tobytes())
            digest.update(split.candidates.index.tobytes())
            digest.update(split.labels.tobytes() + split.candidate_offsets.tobytes())
            if split.features is not None:
                digest.update(split.features.tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class SeedRun:
    """What the training of one seed brought about."""

    ranker: "keras.Model | None"
    history: list[dict[str, float]]
    best_epoch: int
    scores: dict[str, np.ndarray]
    """The scores of the rows of the scored splits."""


@dataclass(frozen=True)
class ExperimentResult:
    """What `run_experiment` leaves in memory for the figures of a script."""

    data: ExperimentData
    folder: Path
    histories: list[list[dict[str, float]]]
    scores: list[dict[str, np.ndarray]]
    best: SeedRun
    records: list[ResultRecord]


def load_experiment_data(
    config: ExperimentConfig, *, overlap: bool = False, dataset: Dataset | None = None
) -> ExperimentData:
    """Load and encode a configuration's data set and word vectors, and print what was found.

    Args:
        config: the configuration.
        overlap: whether to compute the word-overlap features of every pair.
        dataset: the data set where it is none of those that have a name, but a user's own.
    """
    dataset = dataset or load_dataset(config.dataset, config.variant, config.data_home)
    encoded = encode_dataset(
        dataset, lowercase=config.lowercase, mask_numbers=config.mask_numbers, overlap=overlap
    )
    vectors = load_word_vectors(
        with_task_vectors(config, dataset),
        encoded.vocabulary,
        counts=encoded.word_counts,
        unknown_scale=config.unknown_scale,
        identity_dimensions=config.identity_dimensions,
        embeddings_home=config.embeddings_home,
    )
    data = ExperimentData(dataset, encoded, vectors)
    sizes = ", ".join(
        f"{k} {s.n_questions:,} questions / {s.n_rows:,} pairs" for k, s in encoded.splits.items()
    )
    print(f"{data.title}: {sizes}")
    print(vectors, flush=True)
    return data


def measure(split: EncodedSplit, scores: np.ndarray, rule: str = "answerable") -> dict[str, float]:
    """Return the mean metrics of a scored split over the questions that count under `rule`."""
    return summarise(per_question(split, scores), rule)


def per_question(split: EncodedSplit, scores: np.ndarray) -> pd.DataFrame:
    """Return the metrics of every question of a scored split."""
    ids = np.repeat(np.asarray(split.question_ids, object), np.diff(split.candidate_offsets))
    return evaluate_ranking(ids, split.labels, scores)


def train_and_score(
    config: ExperimentConfig,
    data: ExperimentData,
    seed: int,
    folder: Path | None,
    key: str,
    *,
    splits: Sequence[str] | None,
    label: str,
    build_ranker: Callable[[ExperimentConfig, ExperimentData, int], "keras.Model"],
    fit: Callable[..., "FitResult"],
    scorer: Callable[["keras.Model", EncodedSplit], Callable[[], np.ndarray]],
    callbacks: Sequence["keras.callbacks.Callback"] = (),
) -> SeedRun:
    """Train one seed's ranker, or go on with a training that was interrupted, and score its best weights.

    Args:
        config: the configuration.
        data: the data.
        seed: the seed.
        folder: where the state is kept; None keeps none and prints nothing.
        key: names the configuration.
        splits: the names of the splits to score; None for all but the training split.
        label: what the progress line calls the model.
        build_ranker: builds the ranker with initial weights and dropout of a seed.
        fit: trains it: called as `training.fit_pointwise` is.
        scorer: makes of ranker and split what scores the split's rows, such as `PairScorer`.
        callbacks: further Keras callbacks.

    Returns:
        What the training brought about.

    Raises:
        UserError: see `training.fit.fit`.
    """
    import keras

    keras.utils.set_random_seed(seed)
    ranker = build_ranker(config, data, seed)
    if folder is not None:
        remove_leftovers(folder)
        if config.tensorboard:
            callbacks = [*callbacks, keras.callbacks.TensorBoard(folder / "tensorboard")]
    dev = data.encoded.dev
    result = fit(
        ranker,
        data.encoded.train,
        # The questions that choose the best epoch; the others would only take time.
        dev.keep_questions(dev.counts_under("answerable")),
        config,
        measure,
        seed=seed,
        label=f"{label}, seed {seed}",
        state_path=folder / "state.npz" if folder else None,
        state_key=key,
        callbacks=callbacks,
        verbose=folder is not None,
    )
    names = data.scored_splits if splits is None else splits
    scores = {name: scorer(ranker, data.scored_splits[name])() for name in names}
    return SeedRun(ranker, result.history, result.best_epoch, scores)


def experiment_folder(config: ExperimentConfig, data: ExperimentData, paper: str, model: str) -> Path:
    """Make the folder of a configuration's output; it has the name of the configuration's key.

    Raises:
        UserError: the folder cannot be written to.
    """
    folder = config.output / slug(paper, config.dataset, data.dataset.variant, model)
    folder /= experiment_key(config, data)
    check_writable(folder)
    return folder


def run_experiment(
    config: ExperimentConfig,
    *,
    paper: str,
    model: str,
    train_seed: Callable[..., SeedRun],
    load: Callable[[ExperimentConfig], ExperimentData] = load_experiment_data,
) -> ExperimentResult:
    """Train all seeds, evaluate them, print the table, and leave records, run files, learning curves and the
    best ranker behind.

    Args:
        config: the configuration.
        paper: the paper's name in `paper_results.csv`.
        model: the model's name there.
        train_seed: trains one seed: called with the configuration, the data, the seed, the seed's folder and
            the key of the configuration.
        load: loads the data.

    Raises:
        UserError: an option is out of range or does nothing beside the others, the data are missing, or a
            folder cannot be written to.
        SystemExit: the configuration's `check_data` is on.
    """
    from evaluation.figures import learning_curves

    check_range(config, "epochs", at_least=1)
    refuse_options_without_effect(config)
    data = load(config)
    for note in data.dataset.description.notes:
        print(note, flush=True)
    # Taken before the training, during which somebody may change a file.
    code = config_fingerprints(config)
    if config.check_data:
        print(json.dumps({"data": data.fingerprint(), "code": code}))
        # Scripts go on with the result, of which there is none.
        raise SystemExit
    folder = experiment_folder(config, data, paper, model)
    if config.record:
        check_writable(RESULTS)
        _refuse_to_lose_a_record(config, data, paper, model)
    runs: list[SeedRun] = []
    best: tuple[float, SeedRun] | None = None
    for seed in config.seed_list:
        # Several processes may share the seeds: one that another has trained is only scored here.
        with held_folder(folder / f"seed-{seed}"):
            run = train_seed(config, data, seed, folder / f"seed-{seed}", folder.name)
        dev_map = measure(data.encoded.dev, run.scores["dev"])["map"]
        if best is None or dev_map > best[0]:
            best = (dev_map, run)
        # Of all rankers only the best stays in memory.
        runs.append(replace(run, ranker=None))
    records = _records(config, data, runs, best[1], paper, model, code)
    for each in (folder, folder / "runs", folder / "model"):
        remove_leftovers(each)
    _write_runs(config, data, runs, folder / "runs")
    save_ranker(best[1].ranker, data, config, folder / "model")
    histories, scores = [run.history for run in runs], [run.scores for run in runs]
    save_figure(learning_curves(histories, title=f"{model}, {data.title}"), folder / "learning_curves.png")
    for record in records:
        path = (RESULTS if config.record else folder) / f"{record_name(record)}.json"
        save_record(record, path)
        print(f"wrote {path}")
    print(paper_ours_table(records, read_paper_results(PAPER_RESULTS)))
    print(f"\nModel, run files and figures: {folder}")
    return ExperimentResult(data, folder, histories, scores, best[1], records)


def experiment_key(config: ExperimentConfig, data: ExperimentData) -> str:
    """Name a configuration by a hash of its options, its data and the code that trains it."""
    parts = [config.matters(), data.fingerprint(), config_fingerprints(config), _versions_that_matter()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:12]


def config_fingerprints(config: ExperimentConfig) -> dict[str, str]:
    """Return the fingerprints of the code on which a configuration's numbers depend, with the defaults of its
    script.
    """
    module = sys.modules[type(config).__module__]
    script = Path(getattr(module, "__file__", None) or "").resolve()
    scripts = []
    # A configuration that was made elsewhere, as in a notebook, has no defaults of the repository's.
    if script.is_file() and script.is_relative_to(ROOT):
        scripts = [f"{script.relative_to(ROOT).as_posix()}::{type(config).__name__}"]
    return source_fingerprints((*config.sources, *reader_sources(config.dataset), *scripts), ROOT)


def slug(*parts: str) -> str:
    """Join names to one that suits a file system.

    Example:
        >>> slug("hyperqa", "trecqa", "", "AP-CNN (ours)")
        'hyperqa_trecqa_ap-cnn-ours'
    """
    cleaned = (
        "".join(c if c.isalnum() or c in "+.-" else "-" for c in part.lower()).strip("-") for part in parts
    )
    return "_".join("-".join(filter(None, part.split("-"))) for part in cleaned if part)


def _versions_that_matter() -> dict[str, str]:
    import keras
    import tensorflow as tf

    return {"keras": keras.__version__, "tensorflow": tf.__version__, "numpy": np.__version__}


def _records(
    config: ExperimentConfig,
    data: ExperimentData,
    runs: list[SeedRun],
    best: SeedRun,
    paper: str,
    model: str,
    code: dict[str, str],
) -> list[ResultRecord]:
    """Make a record of every test split under every protocol."""
    tables = {
        name: [per_question(split, run.scores[name]) for run in runs]
        for name, split in data.scored_splits.items()
    }
    common = {
        "paper": paper,
        "dataset": config.dataset,
        "model": model,
        "variant": data.dataset.variant,
        "embeddings": data.word_vectors.name,
        "seeds": config.seed_list,
        "parameters": int(sum(np.prod(v.shape) for v in best.ranker.trainable_variables)),
        # The median, since the first epoch of every seed holds TensorFlow's preparations.
        "seconds_per_epoch": statistics.median(epoch["seconds"] for run in runs for epoch in run.history),
        "command": clean_command(),
        "configuration": _recorded_options(config),
        "vocabulary_coverage": {
            "types": round(data.word_vectors.coverage_types, 4),
            "tokens": round(data.word_vectors.coverage_tokens, 4),
        },
        "code": code,
        "data": data.fingerprint(),
        "main": config.main,
        # With what a reader of the data set's numbers has to know, such as a part that is missing.
        "notes": " ".join(filter(None, (config.notes, *data.dataset.description.notes))),
    }
    records = []
    for split, (protocol, rule) in product(tables, data.dataset.description.protocols.items()):
        if split == "dev":
            continue
        counted = [table[questions_that_count(table, rule)] for table in tables[split]]
        records.append(
            ResultRecord(
                **common,
                protocol=protocol,
                split=split,
                metrics=_over_seeds(tables[split], rule),
                metrics_count_all=_over_seeds(tables[split], "all"),
                metrics_dev=_over_seeds(tables["dev"], rule),
                per_question={
                    "question_ids": counted[0].index.tolist(),
                    **{metric: [table[metric].tolist() for table in counted] for metric in METRICS},
                },
            )
        )
    return records


def _recorded_options(config: ExperimentConfig) -> dict:
    return json.loads(json.dumps(config.matters(), default=str))


def _over_seeds(tables: list[pd.DataFrame], rule: str) -> dict:
    each = [summarise(table, rule) for table in tables]
    spreads = {}
    for metric in METRICS:
        values = [figures[metric] for figures in each]
        mean, half_width = mean_confidence_interval(values)
        # None, as JSON has it, where a single seed gives no interval.
        ci95 = None if len(values) == 1 else half_width
        spreads[metric] = {"mean": mean, "ci95": ci95, "per_seed": values}
    return spreads


def record_name(record: ResultRecord) -> str:
    """Name a record's file: what it is a result of, and a hash that tells configurations apart; the split is
    named unless it is `test`.
    """
    configuration = hashlib.sha256(json.dumps(record.configuration, sort_keys=True).encode()).hexdigest()[:6]
    split = "" if record.split == "test" else f"-{record.split}"
    names = (record.paper, f"{record.dataset}-{record.protocol}{split}", record.variant, record.model)
    return slug(*names, record.embeddings, configuration)


def _refuse_to_lose_a_record(config: ExperimentConfig, data: ExperimentData, paper: str, model: str) -> None:
    """Raise an error where this run's records would take the place of more seeds', or of main ones."""
    options = _recorded_options(config)
    for path in sorted(RESULTS.glob(f"{slug(paper)}_{slug(config.dataset)}-*.json")):
        old = read_record(path)
        same = (old.paper, old.dataset, old.model, old.variant, old.embeddings, old.configuration) == (
            *(paper, config.dataset, model, data.dataset.variant, data.word_vectors.name, options),
        )
        if same and len(old.seeds) > len(config.seed_list):
            raise UserError(
                f"{path} is a record of {len(old.seeds)} seeds, which {len(config.seed_list)} would replace: "
                f"give --seeds {len(old.seeds)}, or leave --record out."
            )
        if same and old.main and not config.main:
            raise UserError(
                f"{path} is the main record of these options: give --main as well, or leave --record out."
            )


def clean_command() -> str:
    """Return this process's command as one types it in the repository's folder, without the machine's own."""
    places = {"--data-home", "--embeddings-home", "--output", "--results", "--figures", "--folder"}
    words, skip = [], False
    for word in sys.argv[1:]:
        if word.startswith("--"):
            # An option may be written with either sign; the list of recorded commands has one.
            name, *value = word.split("=", 1)
            word = "=".join((name.replace("_", "-"), *value))
            skip = word.partition("=")[0] in places
        if not skip:
            words.append(word)
    return shlex.join(["python", "/".join(Path(sys.argv[0]).resolve().parts[-2:]), *words])


def _write_runs(config: ExperimentConfig, data: ExperimentData, runs: list[SeedRun], folder: Path) -> None:
    protocols = {"": "all", **{f".{name}": rule for name, rule in data.dataset.description.protocols.items()}}
    for name, split in data.scored_splits.items():
        ids = np.repeat(np.asarray(split.question_ids, object), np.diff(split.candidate_offsets))
        # Any tool averages over the questions of this file: with a protocol's own one it gives our tables.
        for protocol, rule in protocols.items():
            rows = np.repeat(split.counts_under(rule), np.diff(split.candidate_offsets))
            candidates = np.asarray(split.candidate_ids, object)[rows]
            write_qrels(folder / f"{name}{protocol}.qrels", ids[rows], candidates, split.labels[rows])
        for seed, run in zip(config.seed_list, runs, strict=True):
            write_run(folder / f"{name}-seed-{seed}.run", ids, split.candidate_ids, run.scores[name])


def save_ranker(ranker: "keras.Model", data: ExperimentData, config: ExperimentConfig, folder: Path) -> None:
    """Save a ranker with its word vectors, its vocabulary and its way of making tokens, for
    `reproduce/rank.py`.

    Raises:
        UserError: a file cannot be written.
    """
    with atomic_path(folder / "ranker.keras") as temporary:
        ranker.save(temporary)
    facts = {
        "words": data.encoded.vocabulary.words[2:],
        "lowercase": config.lowercase,
        "mask_numbers": config.mask_numbers,
        "dataset": config.dataset,
        "embeddings": data.word_vectors.name,
    }
    with atomic_write(folder / "vocabulary.json") as file:
        json.dump(facts, file, ensure_ascii=False)
    if data.encoded.train.features is not None:
        idf = inverse_document_frequencies(data.encoded.train, len(data.encoded.vocabulary))
        with atomic_write(folder / "idf.npy", "wb") as file:
            np.save(file, idf)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure as PNG, whole or not at all.

    Raises:
        UserError: the file cannot be written.
    """
    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=150, format="png")
