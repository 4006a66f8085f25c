"""Transfer: train on SQuAD-sent, then rank the questions of another data set, unseen or trained on.

    python reproduce/studies/transfer.py --model hyperqa --dataset wikiqa --record transfer/wikiqa/hyperqa
    python reproduce/studies/transfer.py --variant TRAIN-ALL --record transfer/trecqa/hyperqa

Three ways: *unseen* (zero-shot), as training on --source leaves the model; *trained on* (fine-tuned), which
goes on with questions of the target; and *from scratch*, which has these questions alone. The last two have
the same numbers of questions, drawn anew for each seed, a larger draw with all of a smaller one, and the same
factors on the learning rate. With fewer questions batches are smaller, so that an epoch has about as many
steps. Epoch and factor are the best on the target's dev, which is always whole; the factor by the mean over
the seeds. The epoch on the source is chosen on the dev of the source.

After an interruption the same command goes on. The sources are shared by targets with the same options.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import slug
from answer_ranking.base.ranges import check_range
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.engine import Seed, Study, StudyRecord, TrainingData
from answer_ranking.engine.study import Condition
from answer_ranking.engine.study_record import Extent
from answer_ranking.engine.training_run import key_of, score_split, training_key
from answer_ranking.evaluation.metrics import (
    MAIN_METRICS,
    mean_confidence_interval,
    over_seeds,
    strictest,
    summarise,
)
from answer_ranking.evaluation.significance import paired_randomisation_test
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.reports.studies.transfer_page import SCRATCH, TRAINED_ON, UNSEEN, results_table
from answer_ranking.reproduce.experiments.options import (
    Experiment,
    StudyOptions,
    parse,
    recorded_presets,
)
from answer_ranking.reproduce.experiments.run import Run, facts, train

if TYPE_CHECKING:
    from answer_ranking.engine.training_run import Trained


@dataclass(frozen=True, kw_only=True)
class TransferOptions(StudyOptions):
    """What is trained first, and with how many questions it goes on."""

    source: str = "squad-sent"
    """The data set to train on first."""
    source_epochs: int = 4
    """Passes over it."""
    questions: tuple[int, ...] = (10, 30, 100, 300)
    """Numbers of target questions with a correct answer; all of them come last."""
    rate_factors: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)
    """Factors on the learning rate, among which the target's dev chooses."""
    seeds: int = 5
    """How many seeds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "source_epochs", at_least=1)
        for name in ("questions", "rate_factors"):
            values = list(getattr(self, name))
            rising = values == sorted(set(values))
            if not rising or not np.all(np.isfinite(values)) or (values and values[0] <= 0):
                raise UserError(f"--{name.replace('_', '-')} must rise from above 0. Received: {values}")
        if not self.rate_factors:
            raise UserError("--rate-factors needs a number at least.")


def presets() -> list[Experiment]:
    """State the models with the options of their recorded experiments on WikiQA and TrecQA."""
    papers = dict.fromkeys(entry.paper for entry in CATALOGUE.values())
    found = []
    for paper, dataset in product(papers, ("wikiqa", "trecqa")):
        for each in recorded_presets(paper, dataset):
            found.append(replace(each.changed(patience=5), run=TransferOptions()))
    return found


def check(experiment: Experiment) -> StudyRecord:
    """Refuse what would be no transfer, or would lose a recorded study; return the record's file."""
    options = experiment.run
    find_description(options.source)
    if options.source == experiment.data.dataset:
        raise UserError(f"--source and --dataset are both {options.source}. Name two data sets.")
    for name in experiment.data.embeddings:
        if name.startswith("task-"):
            raise UserError(f"{name} differs between the two data sets. Give other --embeddings.")
    if getattr(experiment.model, "train_word_vectors", False):
        raise UserError("the two data sets have different words: leave --train-word-vectors out.")
    subject = {"dataset": experiment.data.dataset}
    extent = {
        "seeds": len(options.seed_list),
        "questions": options.questions,
        "factors": options.rate_factors,
    }
    needed = ("seeds", "conditions", "rate_factors")
    return StudyRecord(options.record_file, subject, extent, _extent_of, needed)


def _extent_of(record: Mapping[str, Any]) -> Extent:
    questions = {each["questions"] for each in record["conditions"]}
    # None, and all that there are, stand in every study.
    few = questions - {0, max(questions, default=0)}
    return {"seeds": record["seeds"], "questions": few, "factors": record["rate_factors"]}


def transfer(experiment: Experiment) -> list[dict[str, Any]]:
    """Train the three ways, print their table, and with --record write the study."""
    options, record = experiment.run, check(experiment)
    data = experiment.data.load()
    conditions = measured(experiment, data, from_source(experiment))
    print(results_table(conditions))
    about = {"title": data.title, "pretrained_on": options.source, "seeds": len(options.seed_list)}
    about |= {"rate_factors": options.rate_factors, "comparisons": comparisons(conditions)}
    if options.notes:
        about["notes"] = options.notes
    record.write({**facts(experiment, data), **about, "conditions": conditions})
    return conditions


Weights = dict[int, list[np.ndarray]]
"""Of a model, by seed."""


def from_source(experiment: Experiment) -> Weights:
    """Train every seed on the source, and give the weights."""
    options = experiment.run
    source = {"dataset": options.source, "variant": None, "record": None}
    fit = {"epochs": options.source_epochs, "patience": None}
    experiment = experiment.changed(**source, **fit)
    run = Run("transfer", experiment, experiment.data.load())
    weights = {}

    def train_one(seed: Seed) -> "Trained":
        model, fitted = train(experiment, run.data, seed)
        weights[seed.number] = [each.numpy() for each in model.trainable_variables]
        return model, fitted

    run.train_each(run.seeds, train_one, keep=False)
    return weights


def measured(experiment: Experiment, data: TrainingData, starts: Weights) -> list[dict[str, Any]]:
    """Train in every way, choose the factors on dev, then measure test: a condition per protocol."""
    seeds, protocols = experiment.run.seed_list, data.dataset.description.protocols
    on_dev, on_test = (split_study(experiment, data, starts, split) for split in ("dev", "test"))
    stated = {each["key"]: each for each in planned(experiment, data, starts)}
    frame = on_dev.frame(stated.values(), seeds)
    found = []
    for (way, questions), rows in frame.groupby(["way", "questions"], sort=False):
        best = on_dev.best(rows, "key")
        if best is None:
            raise UserError(
                f"{way}, {questions} questions: every training diverged. Give lower --rate-factors."
            )
        chosen = rows[rows["key"] == best].reset_index(drop=True)
        tested = on_test.frame([stated[best]], seeds).assign(dev=chosen["dev"])
        if tested["diverged"].notna().any():
            # Its state was lost, and it was trained again, perhaps on another processor.
            raise UserError(f"{way}, {questions} questions: {tested['diverged'].dropna().iloc[0]}")
        found += [condition(tested, data, protocol) for protocol in protocols]
    return found


def split_study(experiment: Experiment, data: TrainingData, starts: Weights, split: str) -> Study:
    """Make the study that measures a split; a model that was trained for the other is not trained again."""
    name = slug(experiment.data.dataset, data.dataset.variant, experiment.name)
    folder = experiment.run.output / "transfer"
    train_one = partial(measure, experiment, data, starts, split)
    rows = folder / f"{name}-{split}.jsonl"
    return Study(measure=train_one, rows=rows, folder=folder, chosen_by=f"{split}_map")


def planned(experiment: Experiment, data: TrainingData, starts: Weights) -> Iterator[dict[str, Any]]:
    """State the conditions: the unseen one, and of every number of questions both ways with every factor."""
    options, n_all = experiment.run, n_questions(data)
    numbers = [each for each in options.questions if each < n_all]
    trained = product((*numbers, n_all), (SCRATCH, TRAINED_ON), options.rate_factors)
    for questions, way, factor in ((0, UNSEEN, None), *trained):
        stated = {"way": way, "questions": questions, "rate_factor": factor}
        start = "" if way == SCRATCH else digest(starts)
        of_experiment = training_key(experiment_of(experiment, stated, n_all).configuration, data)
        yield {"key": key_of(of_experiment, stated, start), **stated}


def experiment_of(experiment: Experiment, condition: Condition, n_all: int) -> Experiment:
    """Give the options with which a condition is trained."""
    if condition["way"] == UNSEEN:
        return experiment.changed(epochs=0)
    batch_size = max(1, round(experiment.configuration["batch_size"] * condition["questions"] / n_all))
    rate = condition["rate_factor"] * experiment.training.learning_rate
    return experiment.changed(learning_rate=rate, batch_size=batch_size)


def measure(
    experiment: Experiment, data: TrainingData, starts: Weights, split: str, condition: Condition, seed: Seed
) -> dict[str, Any]:
    """Train one seed in one way; gives the metrics of all questions of a split."""
    n_all, questions = n_questions(data), condition["questions"]
    if condition["way"] != SCRATCH:
        seed = replace(seed, start=starts[seed.number])
    few = data if questions in (0, n_all) else drawn(data, questions, seed.number)
    changed = experiment_of(experiment, condition, n_all)
    model, _ = train(changed, few, seed)
    _, table = score_split(model, data, split)
    return {f"{split}_map": summarise(table, "answerable")["map"], split: table.reset_index().to_dict("list")}


def drawn(data: TrainingData, questions: int, seed: int) -> TrainingData:
    """Keep so many training questions, of those with a correct answer."""
    answerable = np.flatnonzero(data.train.counts_under("answerable"))
    chosen = np.random.default_rng(seed).permutation(answerable)[:questions]
    kept = np.isin(np.arange(len(data.train.question_ids)), chosen)
    return data.with_splits(train=data.train.keep_questions(kept))


def n_questions(data: TrainingData) -> int:
    """Count the questions of training that have a correct answer."""
    return int(data.train.counts_under("answerable").sum())


def digest(starts: Weights) -> str:
    """Shorten the weights of all seeds to a text that no others have."""
    content = hashlib.sha256()
    for number in sorted(starts):
        for weight in starts[number]:
            content.update(weight.tobytes())
    return content.hexdigest()[:8]


def condition(rows: pd.DataFrame, data: TrainingData, protocol: str) -> dict[str, Any]:
    """Sum up the seeds of a way under a protocol of the data set."""
    rule = data.dataset.description.protocols[protocol]
    found = over_seeds(tables(rows["test"]), tables(rows["dev"]), rule)
    return {
        **rows[["way", "questions", "rate_factor"]].iloc[0].to_dict(),
        "protocol": protocol,
        "metrics": {name: found["metrics"][name] for name in MAIN_METRICS},
        "metrics_dev": {"map": found["metrics_dev"]["map"]},
        # Means over the seeds.
        "per_question": np.mean(found["per_question"]["map"], axis=0).tolist(),
    }


def tables(kept: pd.Series) -> list[pd.DataFrame]:
    """Give the tables of all questions that were kept, a seed each."""
    return [pd.DataFrame(table).set_index("question_id") for table in kept]


def comparisons(conditions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare MAP between the ways, all questions of the target being trained on."""
    protocol = strictest(each["protocol"] for each in conditions)
    # Of each way the last condition has all questions.
    last = {}
    for each in conditions:
        if each["protocol"] == protocol:
            last[each["way"]] = each["per_question"]
    found = []
    for better, worse in ((UNSEEN, SCRATCH), (TRAINED_ON, SCRATCH), (TRAINED_ON, UNSEEN)):
        pair = last[better], last[worse]
        mean, half_width = mean_confidence_interval(np.subtract(*pair))
        found.append(
            {
                "better": better,
                "worse": worse,
                "difference": round(mean, 6),
                "ci95": round(half_width, 6),
                "p": round(paired_randomisation_test(*pair), 6),
            }
        )
    return found


if __name__ == "__main__":
    run_command(lambda: transfer(parse(__doc__, presets())))
