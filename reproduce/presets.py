"""Train a preset of `Ranker.from_preset` on SQuAD-sent, and measure it on data that it never saw.

    python reproduce/presets.py --preset hyperqa_squad

    python reproduce/presets.py --preset cosinet_squad --seeds 2

    python reproduce/presets.py --preset hyperqa_minilm --seeds 1

    python reproduce/presets.py --preset hyperqa_minilm --measure-only

Settings, epoch and seed are chosen by MAP on SQuAD-sent's dev. The word vectors are GloVe 6B 50d alone, which
the package installs; all words that it lacks share one vector, in training as in use. So the folder needs the
vectors of a few words only, and a ranker looks all others up. After an interruption the same command goes on.

hyperqa_minilm reads the tokens of a frozen encoder (docs/contextual.md) in the place of GloVe. It is trained
on every fifth article, since encoding takes time. The encoder's own cosine is measured beside it. It is for
search: MRR@10 among all answers of dev counts as much as MAP. hyperqa_minilm_candidates, which ranks given
candidates, is chosen by MAP alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import tyro
from tqdm import tqdm

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, check_writable
from answer_ranking.base.ranges import check_range
from answer_ranking.data_prep import Dataset, Vocabulary, load_dataset
from answer_ranking.data_prep.encoded_split import count_words
from answer_ranking.data_prep.word_vectors.encoder_folder import PUBLISHED
from answer_ranking.engine import TrainingData
from answer_ranking.evaluation.card_metrics import compare, correct_for_number, fuse
from answer_ranking.evaluation.metrics import evaluate_ranking
from answer_ranking.evaluation.records import made_by, save_study
from answer_ranking.evaluation.retrieval_metrics import measure as measure_ranking
from answer_ranking.evaluation.rules import rule_scores
from answer_ranking.ranking.model_folder import PRESETS
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.reports.preset_cards import card_page, read_cards
from answer_ranking.reproduce.experiments.data_options import DataHome, DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.retrieval_task import indexed, make_task
from answer_ranking.reproduce.experiments.run import Run, clean_command

DATA = DataOptions(dataset="squad-sent", variant="v1.1")
CONTEXTUAL = replace(DATA, embeddings=("minilm",))
# The first setting of each is that of the WikiQA experiment, or the paper's; each other one changes it.
_CHANGES: list[dict[str, Any]] = [{}, {"learning_rate": 0.1}, {"max_norm": 0.9}, {"max_norm": 0.99}]
_CHANGES += [{"foreign_negatives": 4}, {"foreign_negatives": 16}]
# From a start near the encoder's cosine; the last from a random one.
_LIST = {"start": "mirrored", "dimension": 512, "epochs": 3, "learning_rate": 1e-4, "embedding_dropout": 0.1}
_LIST_CHANGES: list[dict[str, Any]] = [{}, {"learning_rate": 3e-5}, {"learning_rate": 3e-4}]
_LIST_CHANGES += [{"embedding_dropout": 0.3}, {"learning_rate": 1e-3, "start": "glorot"}]
SETTINGS = {
    "hyperqa_squad": [Experiment.of("hyperqa", DATA, epochs=5, **changed) for changed in _CHANGES],
    "cosinet_squad": [
        Experiment.of("cosinet", DATA, unit_words=False),
        *(Experiment.of("cosinet", DATA, learning_rate=rate) for rate in (2e-3, 6e-3)),
    ],
}
ENCODED = ("hyperqa_minilm", "hyperqa_minilm_candidates")
"""The presets that read an encoder's tokens; both are chosen among the same trainings."""
for _name in ENCODED:
    SETTINGS[_name] = [
        Experiment.of("hyperqa-list", CONTEXTUAL, **_LIST | changed) for changed in _LIST_CHANGES
    ]
FOR_SEARCH = ("hyperqa_minilm",)
"""The presets that are chosen by what they find, too."""
SEARCHED = 1000
"""Questions of dev that search all of its answers."""
ARTICLES = 78
"""Of the 393 for training, those whose questions train a head on contextual words."""
NOTES = (
    f"It was trained on {ARTICLES} of the 393 articles, drawn with seed 0.",
    f"{PUBLISHED['minilm'].seen} Of these it has seen more than the head.",
)
GLOVE = {"title": "GloVe 6B, 50 dimensions (400,000 words)", "licence": "PDDL 1.0"}
MINILM = {"title": "token vectors of all-MiniLM-L6-v2, frozen, 384 dimensions", "licence": "Apache-2.0"}
N_WORDS = 1000
MOST_PAIRS = 250_000
_SCORED_AT_ONCE = 20_000


@dataclass(frozen=True, kw_only=True)
class Config(DataHome):
    """The options."""

    preset: Literal["hyperqa_squad", "cosinet_squad", "hyperqa_minilm", "hyperqa_minilm_candidates"]
    """Which one."""
    seeds: int = 3
    """How many seeds of the best setting; the other settings have one."""
    measured: tuple[str, ...] = ("wikiqa", "trecqa", "insuranceqa", "qed")
    """The data sets on whose test questions it is measured."""
    measure_only: bool = False
    """Measure the preset that is in the folder, and write its card again; train nothing."""
    output: Path = Path("outputs")
    """Folder for the state of unfinished trainings."""
    folder: Path = PRESETS
    """Folder in which the preset's own is written."""

    def __post_init__(self) -> None:
        check_range(self, "seeds", at_least=1, at_most=100)


def training_set(config: Config) -> Dataset:
    """Load the texts that a preset is trained on."""
    dataset = load_dataset(DATA.dataset, DATA.variant, config.data_home)
    return part_of(dataset, ARTICLES) if config.preset in ENCODED else dataset


def encode(config: Config, texts: Dataset) -> TrainingData:
    """Encode what a preset is trained on."""
    options = CONTEXTUAL if config.preset in ENCODED else DATA
    data = replace(options, data_home=config.data_home).encode(texts)
    return data if config.preset in ENCODED else one_unknown_word(data)


def one_unknown_word(data: TrainingData) -> TrainingData:
    """Give all words that the word vectors lack the vector of the unknown word, number 1."""
    vectors = data.word_vectors
    matrix = vectors.matrix.copy()
    lacking = np.flatnonzero(~vectors.known)
    matrix[lacking[lacking > 0]] = matrix[Vocabulary.UNKNOWN]
    return replace(data, word_vectors=replace(vectors, matrix=matrix))


def part_of(dataset: Dataset, n_articles: int) -> Dataset:
    """Keep the training questions of some articles, drawn at random."""
    table = dataset.train
    drawn = np.random.default_rng(0).permutation(table["article"].unique())[:n_articles]
    return replace(dataset, train=table[table["article"].isin(drawn)].reset_index(drop=True))


def trained(experiment: Experiment, data: TrainingData) -> Run:
    """Train an experiment's seeds, or take up what was trained; the run has the model that is best on dev."""
    run = Run(experiment.name, experiment, data)
    run.train_seeds()
    return run


def search(config: Config, data: TrainingData) -> list[Run]:
    """Train every setting with one seed, then the best with all; the last run is the one to take."""
    runs = []
    for experiment in SETTINGS[config.preset]:
        runs.append(trained(experiment.changed(output=config.output, seeds=1), data))
    best = max(runs, key=lambda run: quality(config, run, data))
    runs.remove(best)
    return [*runs, trained(best.experiment.changed(seeds=config.seeds), data)]


def quality(config: Config, run: Run, data: TrainingData) -> float:
    """Tell how good a run is on dev: MAP, or its mean with MRR@10 among all answers."""
    found = run.results[0].dev_map
    return (found + found_on_dev(run, data)) / 2 if config.preset in FOR_SEARCH else found


def found_on_dev(run: Run, data: TrainingData) -> float:
    """Measure MRR@10 of a run's best model among all answers of dev."""
    task = make_task(data.dataset, {"dev": SEARCHED})
    index = indexed(small_ranker(run, data), task, "dev", run.folder / f"seed-{run.best}")
    ranking = index.search(task.questions["dev"], 10, "nearest")
    return float(measure_ranking(ranking, task.correct["dev"])["mrr@10"].mean())


def trials(runs: Sequence[Run], found: Callable[[Run], dict[str, float]]) -> list[dict[str, Any]]:
    """Say of every training what was varied, its best epoch and its dev MAP, and what else is `found`."""
    options = pd.DataFrame([run.experiment.configuration for run in runs], dtype=object)
    varied = [name for name in options if len(set(options[name].map(str))) > 1]
    every = []
    for run in runs:
        own = {name: run.experiment.configuration[name] for name in varied}
        for seed, result in run.results.items():
            epoch = 1 + int(pd.DataFrame(result.history)["dev_map"].argmax())
            every.append({**own, "seed": seed, "epoch": epoch, "dev_map": result.dev_map})
            if seed == run.best:
                every[-1] |= found(run)
    return every


def small_ranker(run: Run, data: TrainingData) -> Ranker:
    """Keep the vectors of the words that are most frequent in training; all others are looked up."""
    if data.word_vectors.encoder:
        name = f"{data.title}, {data.word_vectors.name}"
        return Ranker.of_training(run.model, run.experiment.name, data, name).keeping_vectors()
    from answer_ranking.ranking.keras_texts import with_word_vectors

    vectors = data.word_vectors
    counts = np.where(vectors.known, count_words([data.train], len(data.vocabulary)), 0)
    numbers = np.argsort(-counts, kind="stable")[:N_WORDS]
    vocabulary = Vocabulary([data.vocabulary.words[number] for number in numbers])
    kept = np.concatenate([[0, Vocabulary.UNKNOWN], numbers])
    model = with_word_vectors(run.model, vectors.matrix[kept])
    name, experiment = f"{data.title}, {vectors.name}", run.experiment
    given: dict[str, Any] = {"name": name, "kind": experiment.name, "vectors": experiment.data.embeddings}
    return Ranker(model, vocabulary, **given)


def scores_of(ranker: Ranker, table: pd.DataFrame) -> np.ndarray:
    """Score a table's rows as a user's own texts, part by part."""
    pairs = list(zip(table["question"], table["candidate"], strict=True))
    parts = tqdm(range(0, len(pairs), _SCORED_AT_ONCE), desc="scoring", leave=False, disable=None)
    return np.concatenate([ranker.score(pairs[at : at + _SCORED_AT_ONCE]) for at in parts])


def letters(text: str) -> str:
    """Reduce a text to its letters and digits, in lower case."""
    return re.sub(r"[\W_]+", "", text.casefold())


def conditions(rankers: Mapping[str, Ranker], texts: Dataset, config: Config) -> list[dict[str, Any]]:
    """Measure rankers, BM25 and its fusion with the preset on test questions that no training saw."""
    own: set[str] = set()
    for table in (texts.train, texts.dev):
        own.update(map(letters, table["candidate"].unique()))
    found: list[dict[str, Any]] = []
    for name in config.measured:
        dataset = load_dataset(name, data_home=config.data_home)
        found += measure(rankers, dataset, own)
        print(f"measured: {dataset.description.title}", flush=True)
    correct_for_number(found)
    return found


def measure(rankers: Mapping[str, Ranker], dataset: Dataset, own: set[str]) -> Iterator[dict[str, Any]]:
    """Measure on a data set under each protocol; `own` are the letters of the answers of training."""
    table, description = dataset.test, dataset.description
    questions = table["question_id"].unique()
    # Whole questions, drawn where all would take hours.
    drawn = np.random.default_rng(0).permutation(questions)[: len(questions) * MOST_PAIRS // len(table)]
    table = table[table["question_id"].isin(drawn)].reset_index(drop=True)
    ids, labels = table["question_id"].tolist(), table["label"].to_numpy()
    scores = {name: scores_of(ranker, table) for name, ranker in rankers.items()}
    scores["bm25"] = rule_scores(table, description, ("BM25",))["BM25"]
    scores["fusion"] = fuse(ids, scores["preset"], scores["bm25"])
    measured = {name: evaluate_ranking(ids, labels, values) for name, values in scores.items()}
    seen = pd.Series(table["candidate"].unique()).map(letters).isin(own)
    for protocol, rule in description.protocols.items():
        yield {
            "title": description.title,
            "protocol": protocol,
            "drawn": len(drawn),
            "of": len(questions),
            "seen": float(seen.mean()),
            **compare(measured, rule),
        }


def train_preset(config: Config, texts: Dataset, folder: Path) -> dict[str, Any]:
    """Train, choose, and write the preset's folder; gives what its card says of that."""
    data = encode(config, texts)
    runs = search(config, data)

    def found(run: Run) -> dict[str, float]:
        return {"dev_mrr@10": found_on_dev(run, data)} if config.preset in FOR_SEARCH else {}

    best, every = runs[-1], trials(runs, found)
    chosen = max(every[-len(best.results) :], key=lambda trial: trial["dev_map"])
    small_ranker(best, data).save(folder)
    ranker = Ranker.load(folder).keeping_vectors()  # as a user has it, but for the cache
    trained_scores = best.results[chosen["seed"]].scores["dev"]
    difference = np.abs(scores_of(ranker, data.dataset.dev) - trained_scores).max()
    description = data.dataset.description
    return {
        **made_by(),
        "name": config.preset,
        "model": best.experiment.title,
        "data": {"title": data.title, "source": description.source, "licence": description.licence},
        "word_vectors": MINILM if config.preset in ENCODED else GLOVE,
        "command": clean_command(),
        "configuration": best.experiment.configuration,
        "data_hash": data.data_hash,
        "trials": every,
        "chosen": chosen,
        "size": {
            "words": len(ranker.vocabulary.known_words),
            "parameters": best.parameters,
            "bytes": sum((folder / file).stat().st_size for file in ("ranker.keras", "vocabulary.json")),
        },
        "largest_difference": float(difference),
    }


def read_card(config: Config, folder: Path) -> dict[str, Any]:
    """Read the card of the preset that is in the folder."""
    cards = read_cards(config.folder)
    if folder / "card.json" not in cards:
        raise UserError(f"{folder} has no card.json. Train the preset first, without --measure-only.")
    return cards[folder / "card.json"]


def measured_part(config: Config, texts: Dataset, folder: Path) -> dict[str, Any]:
    """Measure the preset in the folder; gives what its card says of that."""
    rankers = {"preset": Ranker.load(folder).keeping_vectors()}
    if config.preset in ENCODED:
        rankers["cosine"] = Ranker.of_encoder(*CONTEXTUAL.embeddings).keeping_vectors()
    measured = conditions(rankers, texts, config)
    notes = set(NOTES if config.preset in ENCODED else ())
    for each in measured:
        if each["drawn"] < each["of"]:
            number = f"{each['drawn']} of {each['of']:,}"
            notes.add(f"{each['title']}: {number} questions, drawn with seed 0.")
    return {
        "measured": {**made_by(), "command": clean_command()},
        "notes": " ".join(sorted(notes)),
        "conditions": measured,
    }


def main(config: Config) -> None:
    """Train the preset unless it is only measured, measure it, and write its card."""
    folder = config.folder / config.preset
    card = read_card(config, folder) if config.measure_only else {}
    check_writable(folder)
    texts = training_set(config)
    card = card or train_preset(config, texts, folder)
    save_study(card | measured_part(config, texts, folder), folder / "card.json")
    with atomic_write(folder / "card.md") as file:
        file.write(card_page(read_cards(config.folder)[folder / "card.json"]))
    print(f"\nThe preset, its card and its figures: {folder}")


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
