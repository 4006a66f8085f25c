"""The run of an experiment: what it reads, its seeds and their folders, and what it leaves behind."""

import shlex
import statistics
import sys
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from answer_ranking import engine
from answer_ranking.base.command import run_command
from answer_ranking.base.files import ROOT, remove_leftovers, slug
from answer_ranking.data_prep.word_vectors.encoder_folder import seen_by
from answer_ranking.engine import (
    TRAINED,
    Seed,
    StudyRecord,
    TrainingData,
    TrainingRun,
    read_facts,
    training_key,
)
from answer_ranking.engine.study_record import Extent
from answer_ranking.evaluation.metrics import MAIN_METRICS, over_seeds, summarise
from answer_ranking.evaluation.records import (
    ResultRecord,
    load_records,
    record_path,
    save_records,
    without_paths,
)
from answer_ranking.evaluation.tables import METRIC_TITLES, paper_ours_table, text_table
from answer_ranking.reproduce.experiments.options import (
    RESULTS,
    Experiment,
    parse,
    training_words,
    without_options,
)

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult


_PLACES = {"--data-home", "--embeddings-home", "--output", "--results"}
Then = Callable[["Run"], object]
"""What is done with a run that has been written."""


def run_experiment(experiment: Experiment, *then: Then) -> "Run":
    """Train and measure a model with all seeds, and write what comes out; each of `then` takes the run last.

    With `train_only` the seeds are trained, and that is all.
    """
    data = experiment.data.load()
    run = Run(experiment.entry.paper, experiment, data)
    run.train_seeds()
    if not experiment.run.train_only:
        run.write()
        for show in then:
            show(run)
    return run


def run_script(about: str | None, presets: Sequence[Experiment], *then: Then) -> None:
    """Run the experiment that a script's command line describes; see `run_experiment`."""
    run_command(lambda: run_experiment(parse(about or "", presets), *then))


def print_count_all(run: "Run") -> None:
    """Print the metrics over all questions, as SemEval's scorer does; the run's table has fewer."""
    print(f"\n{run.count_all_table()}")


def train(experiment: Experiment, data: TrainingData, seed: Seed) -> "tuple[keras.Model, FitResult]":
    """Train one seed of an experiment, or go on with it, see `engine.train`."""
    return engine.train(experiment.entry, experiment.model, experiment.training, data, seed)


class Run(TrainingRun):
    """An experiment's run over its seeds, and the records that it leaves.

    `paper` is a paper's name in `evaluation/papers.toml`.
    """

    def __init__(self, paper: str, experiment: Experiment, data: TrainingData):
        self.paper, self.experiment = paper, experiment
        self.seeds = experiment.run.seed_list
        name = slug(paper, data.dataset.description.name, data.dataset.variant, experiment.name)
        key = training_key(experiment.configuration, data)
        words = training_words(clean_command())
        super().__init__(experiment.run.output / name / key, key, experiment.title, data, words)
        check_records(experiment, data)

    def train_seeds(self) -> None:
        """Train every seed, and measure and keep it unless `train_only`."""
        train_one = partial(train, self.experiment, self.data)
        self.train_each(self.seeds, train_one, keep=not self.experiment.run.train_only)

    def write(self, **further: Any) -> None:
        """Write run files, the best model, learning curves and records; print the table.

        `further` are fields of the records. A UserError says that a larger record was written meanwhile.
        """
        from answer_ranking.evaluation.figures import learning_curves, save_figure
        from answer_ranking.ranking.ranker import Ranker

        check_records(self.experiment, self.data)
        remove_leftovers(self.folder)
        self.write_runs(self.data.dataset.description.protocols)
        name = f"{self.experiment.data.dataset}, {self.data.word_vectors.name}"
        ranker = Ranker.of_training(self.model, self.experiment.entry.name, self.data, name)
        ranker.save(self.folder / "model")
        curves = [result.history for result in self.results.values()]
        save_figure(learning_curves(curves, title=self.title), self.folder / "learning_curves.png")
        records = self._records(further)
        save_records(records)
        kept = RESULTS / self.paper / self.data.dataset.description.name
        recorded = load_records(kept) if kept.is_dir() else []
        print(paper_ours_table(list(records.values()), recorded=recorded))
        print(f"\nModel, run files and figures: {self.folder}")

    @property
    def title(self) -> str:
        """Model and data set in print."""
        return f"{self.experiment.title}, {self.data.title}"

    def count_all_table(self) -> str:
        """Set the metrics over all questions, one without a correct answer as 0, as SemEval's scorer does."""
        tables = {name: self._tables(name) for name in ("dev", "test")}
        return means_table("every question counts", tables, "all")

    def _tables(self, split: str) -> list[pd.DataFrame]:
        return [result.tables[split] for result in self.results.values()]

    def _records(self, further: dict[str, Any]) -> dict[Path, ResultRecord]:
        dataset = self.data.dataset
        made_by = [read_facts(self.folder / f"seed-{number}" / TRAINED) for number in self.seeds]
        memory = [each["peak_memory"] for each in made_by if each.get("peak_memory")]
        # With what a reader of the numbers has to know, such as a part of the data that is missing.
        seen = seen_by(self.data.word_vectors.encoder)
        notes = [self.experiment.run.notes, *dataset.description.notes, seen]
        common = facts(self.experiment, self.data) | {
            "paper": self.paper,
            "seeds": self.seeds,
            "processors": [each.get("processor", "") for each in made_by],
            "commits": [each.get("commit", "") if each.get("clean_tree") else "" for each in made_by],
            "parameters": self.parameters,
            "seconds_per_epoch": self.seconds_per_epoch,
            "peak_memory": max(memory, default=None),
            "main": self.experiment.run.main,
            "notes": " ".join(filter(None, notes)),
            **further,
        }
        # Other code, that of an earlier process, may have trained the seeds.
        codes = {(each.get("commit"), each.get("clean_tree")) for each in made_by}
        if codes != {(None, None)}:
            common["commit"], common["clean_tree"] = codes.pop() if len(codes) == 1 else ("", None)
        records, options = {}, self.experiment.run
        place = (options.results, options.record) if options.record else (self.folder, "record")
        for (split, protocol), path in record_paths(self.data, *place).items():
            rule = dataset.description.protocols[protocol]
            found = over_seeds(self._tables(split), self._tables("dev"), rule)
            records[path] = ResultRecord(**common, **found, protocol=protocol, split=split)
        return records


def check_records(experiment: Experiment, data: TrainingData) -> None:
    """Refuse with a UserError to lose the records that an experiment would replace, see `StudyRecord`."""
    run = experiment.run
    if not run.record:
        return
    subject = {"dataset": data.dataset.description.name}
    extent = _extent_of({"seeds": run.seed_list, "main": run.main, "search": run.search})
    for path in record_paths(data, run.results, run.record).values():
        StudyRecord(path, subject, extent, _extent_of, needed=("seeds", "metrics"))


def record_paths(data: TrainingData, results: Path, name: str) -> dict[tuple[str, str], Path]:
    """Name the record of every test split and protocol; a suffix tells them where there are several."""
    protocols = data.dataset.description.protocols
    tests = [split for split in data.scored_splits if split != "dev"]
    paths = {}
    for split in tests:
        for protocol in protocols:
            suffixes = (protocol if len(protocols) > 1 else "", split if split != "test" else "")
            paths[split, protocol] = record_path(results, name, *suffixes)
    return paths


def _extent_of(record: dict[str, Any]) -> Extent:
    options = {"--main"} if record.get("main") else set()
    extent: dict[str, int | Collection] = {"seeds": len(record["seeds"]), "options": options}
    if search := record.get("search"):
        extent["trials"] = search["trials"]
    return extent


def means_table(corner: str, tables: dict[str, list[pd.DataFrame]], rule: str) -> str:
    """Set the means over the tables of all seeds, a line per name."""
    rows = []
    for name, each in tables.items():
        means = pd.DataFrame([summarise(table, rule) for table in each]).mean()
        rows.append([name, *means[list(MAIN_METRICS)].map("{:.4f}".format)])
    return text_table([corner, *(METRIC_TITLES[metric] for metric in MAIN_METRICS)], rows)


def questions_per_second(rank: Callable[[], Any], questions: int) -> float:
    """Measure how many questions are ranked per second of the processor; `rank` ranks all of them."""
    seconds = []
    for _ in range(6):
        began = time.process_time()
        rank()
        seconds.append(time.process_time() - began)
    # The first one prepares.
    return round(questions / statistics.median(seconds[1:]), 1)


def facts(experiment: Experiment, data: TrainingData) -> dict[str, Any]:
    """Say for a record what was run: model, data, options and command."""
    vectors = data.word_vectors
    encoder = {"encoder": vectors.encoder} if vectors.encoder else {}
    return {
        "dataset": data.dataset.description.name,
        "model": experiment.title,
        "variant": data.dataset.variant,
        "embeddings": vectors.name,
        "command": clean_command(),
        "configuration": experiment.configuration | encoder,
        "vocabulary_coverage": {
            "types": round(vectors.coverage_types, 4),
            "tokens": round(vectors.coverage_tokens, 4),
        },
        "data": data.data_hash,
    }


def clean_command() -> str:
    """Return this process's command as typed in the repository's folder, without the machine's paths."""
    spelt = []
    for word in sys.argv[1:]:
        name, equals, value = word.partition("=")
        spelt.append(name.replace("_", "-") + equals + value if word.startswith("--") else word)
    words = map(without_paths, without_options(spelt, _PLACES))
    script = Path(sys.argv[0]).resolve()
    place = script.relative_to(ROOT) if script.is_relative_to(ROOT) else Path(*script.parts[-2:])
    return shlex.join(["python", place.as_posix(), *words])
