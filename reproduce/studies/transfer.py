"""Transfer: train on SQuAD-sent, then rank the questions of another data set, unseen or trained on.

    python reproduce/studies/transfer.py --model hyperqa --dataset wikiqa --record transfer/wikiqa/hyperqa
    python reproduce/studies/transfer.py --variant TRAIN-ALL --record transfer/trecqa/hyperqa

Three ways: *unseen*, as training on --source leaves the model; *trained on*, which goes on with questions of
the target; and *from scratch*, which has these questions alone. The last two have the same numbers of
questions, drawn anew for each seed, a larger draw with all of a smaller one, and the same factors on the
learning rate. With fewer questions batches are smaller, so that an epoch has about as many steps. Epoch and
factor are the best on the target's dev, which is always whole; the factor by the mean over the seeds. The
epoch on the source is chosen on the dev of the source.

After an interruption the same command goes on. The sources are shared by targets with the same options.
"""

import gc
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable
from answer_ranking.engine import Seed, TrainingData
from answer_ranking.evaluation.metrics import mean_confidence_interval, over_seeds, strictest
from answer_ranking.evaluation.records import record_path, refuse_fewer_seeds, save_study
from answer_ranking.evaluation.significance import paired_randomisation_test
from answer_ranking.reports.studies.transfer import SCRATCH, TRAINED_ON, UNSEEN, results_table
from answer_ranking.reproduce import (
    attentive_pooling_trecqa,
    attentive_pooling_wikiqa,
    cosinet_wikiqa,
    ctrn_trecqa,
    hyperqa_trecqa,
    hyperqa_wikiqa,
)
from answer_ranking.reproduce.experiments.options import Experiment, StudyOptions, parse
from answer_ranking.reproduce.experiments.run import Run, facts
from answer_ranking.training.options import check_range

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult

_METRICS = ("map", "mrr", "p@1")


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
            values = getattr(self, name)
            if list(values) != sorted(set(values)) or not all(0 < each < math.inf for each in values):
                raise UserError(f"--{name.replace('_', '-')} must rise from above 0. Received: {values}")
        if not self.rate_factors:
            raise UserError("--rate-factors needs a number at least.")


def presets() -> list[Experiment]:
    """State the models with the options of their recorded experiments on WikiQA and TrecQA."""
    scripts = (
        hyperqa_wikiqa,
        hyperqa_trecqa,
        cosinet_wikiqa,
        ctrn_trecqa,
        attentive_pooling_wikiqa,
        attentive_pooling_trecqa,
    )
    found = [each for script in scripts for each in script.PRESETS]
    return [replace(each.changed(patience=5), run=TransferOptions()) for each in found]


def trainings(
    experiment: Experiment,
    data: TrainingData,
    way: str,
    questions: int | None = None,
    starts: dict[int, list[np.ndarray]] | None = None,
) -> Iterator[tuple[Run, Seed, "keras.Model", "FitResult"]]:
    """Train all seeds, on some questions, from given weights; each comes with the run."""
    # The name tells the folders of equal options with other starts or questions apart.
    start = f" {experiment.run.source} {digest(starts)}" if starts else ""
    named = replace(experiment, name=f"{experiment.name} {way} {questions}{start}")
    run = Run("transfer", named.changed(record=None), data)
    for number in run.seeds:
        with run.seed(number) as seed:
            seed = replace(seed, start=starts[number] if starts else None)
            trained = experiment.recipe.train(experiment, drawn(data, questions, number), seed)
        yield run, seed, *trained


def scored(*given: Any) -> Run:
    """Train and score all seeds, see `trainings`."""
    for run, seed, model, fitted in trainings(*given):
        run.keep(seed, model, fitted)
    run.model = None  # hundreds of them would fill the memory
    gc.collect()
    return run


def digest(starts: dict[int, list[np.ndarray]]) -> str:
    """Shorten the weights of all seeds to a text that no others have."""
    content = b"".join(weight.tobytes() for number in sorted(starts) for weight in starts[number])
    return hashlib.sha256(content).hexdigest()[:8]


def drawn(data: TrainingData, questions: int | None, seed: int) -> TrainingData:
    """Keep so many training questions, of those with a correct answer; None keeps all questions."""
    if questions is None:
        return data
    answerable = np.flatnonzero(data.train.counts_under("answerable"))
    chosen = np.random.default_rng(seed).permutation(answerable)[:questions]
    kept = np.isin(np.arange(len(data.train.question_ids)), chosen)
    found = replace(data, train=data.train.keep_questions(kept))
    # TensorFlow keeps what a traced step refers to: a layer of its own, 100 MB, would stay for each training.
    vars(found)["word_embedding"] = data.word_embedding
    return found


def from_source(experiment: Experiment) -> dict[int, list[np.ndarray]]:
    """Train every seed on the source, and give the weights."""
    options = experiment.run
    source = {"dataset": options.source, "variant": None, "epochs": options.source_epochs, "patience": None}
    experiment = experiment.changed(**source)
    trained = trainings(experiment, experiment.recipe.load(experiment), "source")
    return {
        seed.number: [each.numpy() for each in model.trainable_variables] for _, seed, model, _ in trained
    }


def best_factor(
    experiment: Experiment, data: TrainingData, way: str, questions: int, starts: dict | None
) -> tuple[Run, float]:
    """Train with every factor on the learning rate; give the run that is best on dev, and its factor."""
    from answer_ranking.training import TrainingDivergedError

    n_all = n_questions(data)
    batch_size = max(1, round(experiment.training.batch_size * questions / n_all))
    found = []
    for factor in experiment.run.rate_factors:
        rate = factor * experiment.training.learning_rate
        changed = experiment.changed(learning_rate=rate, batch_size=batch_size)
        said = f"{way}, {questions} questions, rate {rate:g}"
        try:
            run = scored(changed, data, way, None if questions == n_all else questions, starts)
        except TrainingDivergedError:
            print(f"{said}: diverged", flush=True)
            continue
        found.append((float(np.mean([each.dev_map for each in run.results.values()])), run, factor))
        print(f"{said}: dev MAP {found[-1][0]:.4f}", flush=True)
    if not found:
        raise UserError(f"{way}, {questions} questions: every training diverged. Give lower --rate-factors.")
    _, run, factor = max(found, key=lambda each: each[0])
    return run, factor


def n_questions(data: TrainingData) -> int:
    """Count the questions of training that have a correct answer."""
    return int(data.train.counts_under("answerable").sum())


def condition(
    way: str, questions: int, run: Run, protocol: str, factor: float | None = None
) -> dict[str, Any]:
    """Sum up a run under a protocol of the data set."""
    rule = run.data.dataset.description.protocols[protocol]
    test, dev = ([each.tables[name] for each in run.results.values()] for name in ("test", "dev"))
    found = over_seeds(test, dev, rule)
    return {
        "way": way,
        "questions": questions,
        "rate_factor": factor,
        "protocol": protocol,
        "metrics": {name: found["metrics"][name] for name in _METRICS},
        "metrics_dev": {"map": found["metrics_dev"]["map"]},
        # Means over the seeds.
        "per_question": np.mean(found["per_question"]["map"], axis=0).tolist(),
    }


def comparisons(conditions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare MAP between the ways, all questions of the target being trained on."""
    protocol = strictest(each["protocol"] for each in conditions)
    # Of each way the last condition has all questions.
    last = {each["way"]: each for each in conditions if each["protocol"] == protocol}
    found = []
    for better, worse in ((UNSEEN, SCRATCH), (TRAINED_ON, SCRATCH), (TRAINED_ON, UNSEEN)):
        pair = [last[way]["per_question"] for way in (better, worse)]
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


def check(experiment: Experiment) -> Path | None:
    """Refuse what would be no transfer, or would lose a recorded study; return the record's path."""
    options = experiment.run
    if options.source == experiment.data.dataset:
        raise UserError(f"--source and --dataset are both {options.source}. Name two data sets.")
    if trained := [name for name in experiment.data.embeddings if name.startswith("task-")]:
        raise UserError(f"{trained[0]} differs between the two data sets. Give other --embeddings.")
    if getattr(experiment.model, "train_word_vectors", False):
        raise UserError("the two data sets have different words: leave --train-word-vectors out.")
    if options.record is None:
        check_writable(options.output)
        return None
    path = record_path(options.results, options.record)
    check_writable(path.parent)
    refuse_fewer_seeds(path, experiment.data.dataset, len(options.seed_list))
    return path


def transfer(experiment: Experiment) -> list[dict[str, Any]]:
    """Train the three ways, print their table, and with --record write the study."""
    options, path = experiment.run, check(experiment)
    data = experiment.recipe.load(experiment)
    starts, n_all = from_source(experiment), n_questions(data)
    protocols = data.dataset.description.protocols
    run = scored(experiment.changed(epochs=0), data, UNSEEN, None, starts)
    conditions = [condition(UNSEEN, 0, run, protocol) for protocol in protocols]
    for questions in (*(each for each in options.questions if each < n_all), n_all):
        for way, start in ((SCRATCH, None), (TRAINED_ON, starts)):
            run, factor = best_factor(experiment, data, way, questions, start)
            conditions += [condition(way, questions, run, each, factor) for each in protocols]
    print(results_table(conditions))
    if path:
        about = {"title": data.title, "pretrained_on": options.source, "seeds": len(options.seed_list)}
        about |= {"rate_factors": options.rate_factors, "comparisons": comparisons(conditions)}
        about |= {"notes": options.notes} if options.notes else {}
        refuse_fewer_seeds(path, experiment.data.dataset, len(options.seed_list))
        save_study({**facts(experiment, data), **about, "conditions": conditions}, path)
        print(f"wrote {path}")
    return conditions


if __name__ == "__main__":
    run_command(lambda: transfer(parse(__doc__, presets())))
