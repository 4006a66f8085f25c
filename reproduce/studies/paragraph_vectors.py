"""Paragraph Vector (Le and Mikolov 2014), alone and with counts of common words (Yang et al. 2015).

    python reproduce/studies/paragraph_vectors.py --dataset wikiqa

PV: gensim's Doc2Vec (PV-DBOW, a bag of words) learns from the texts of the training questions and candidates
without their labels; every text then gets its vector by inference, and the score is the cosine. PV + Cnt: a
logistic regression on the training labels over the cosine and the word-overlap features.

With --record both get a record per protocol, in reproduce/results/.
"""

import zlib
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.ranges import check_range
from answer_ranking.data_prep import EncodedSplit
from answer_ranking.data_prep.encoded_split import EncodedTexts
from answer_ranking.engine import StudyRecord, TrainingData
from answer_ranking.evaluation.metrics import over_seeds, per_question
from answer_ranking.evaluation.records import ResultRecord, record_path, save_records
from answer_ranking.evaluation.tables import paper_ours_table
from answer_ranking.reproduce.experiments.data_options import DataHome, OverlapData
from answer_ranking.reproduce.experiments.options import RecordOptions
from answer_ranking.reproduce.experiments.run import clean_command, record_paths

if TYPE_CHECKING:
    from gensim.models.doc2vec import Doc2Vec


@dataclass(frozen=True, kw_only=True)
class Config(RecordOptions, DataHome):
    """The options."""

    dataset: str
    """Name of the data set, such as wikiqa."""
    variant: str | None = None
    """Training set of the data set, where there are several."""
    dimension: int = 100
    """Size of a text's vector."""
    epochs: int = 20
    """Passes over the texts, in training and in inference."""
    seeds: int = 5
    """How many seeds to run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "dimension", "epochs", "seeds", at_least=1)


def main(config: Config) -> None:
    """Train and measure every seed, and print or write the records."""
    names = ("dataset", "variant", "data_home")
    given = {name: getattr(config, name) for name in names}
    data = OverlapData(**given, overlap_features=True).load()
    subject = {"dataset": data.dataset.description.name}
    for name in (config.record, f"{config.record}-cnt") if config.record else ():
        for path in record_paths(data, config.results, name).values():
            StudyRecord(path, subject, {"seeds": config.seeds}, needed=("seeds", "metrics"))
    tables: dict[str, dict[str, list[Any]]] = {name: {"dev": [], "test": []} for name in ("PV", "PV + Cnt")}
    for seed in range(config.seeds):
        vectors = train_vectors(data.train, config, seed)
        features = {name: pair_features(vectors, split) for name, split in data.scored_splits.items()}
        weights = regression(pair_features(vectors, data.train), data.train.labels)
        for name, by_split in tables.items():
            for part, tables_of_seeds in by_split.items():
                x = features[part]
                scores = x[:, 0] if name == "PV" else x @ weights
                tables_of_seeds.append(per_question(data.scored_splits[part], scores))
        print(f"seed {seed} of {config.seeds} is measured", flush=True)
    # PV-DBOW does not train the words' own vectors, and those of texts are inferred from these.
    parameters = int(vectors.syn1neg.size)
    records = records_of(config, data, tables, parameters)
    if config.record is not None:
        paths = {}
        for record in records:
            counts = "" if record.model == "PV" else "cnt"
            protocol = record.protocol if len(data.dataset.description.protocols) > 1 else ""
            paths[record_path(config.results, config.record, counts, protocol)] = record
        save_records(paths)
    print(paper_ours_table(records))


def train_vectors(train: EncodedSplit, config: Config, seed: int) -> "Doc2Vec":
    """Learn the words' output vectors, by which texts get theirs, from the distinct texts of a split."""
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    documents: list[TaggedDocument] = []
    for texts in (train.questions, train.candidates.texts):
        for words in words_of(texts):
            documents.append(TaggedDocument(words, [len(documents)]))
    # One worker, so that a seed gives the same vectors again.
    return Doc2Vec(
        documents,
        dm=0,
        vector_size=config.dimension,
        epochs=config.epochs,
        min_count=1,
        workers=1,
        seed=seed,
    )


def words_of(texts: EncodedTexts) -> list[list[str]]:
    """Give the words of texts by their numbers, as gensim takes them."""
    bounds = zip(texts.offsets, texts.offsets[1:], strict=False)
    return [list(map(str, texts.words[start:stop])) for start, stop in bounds]


def pair_features(vectors: "Doc2Vec", split: EncodedSplit) -> np.ndarray:
    """Give the cosine of each pair's inferred vectors and its overlap features, `(rows, 5)`."""
    from gensim.models import doc2vec

    units = []
    # gensim starts a text's vector from Python's hash of the text, which is another one in every process.
    start = partial(doc2vec.pseudorandom_weak_vector, hashfxn=lambda text: zlib.crc32(text.encode()))
    with patch.object(doc2vec, "pseudorandom_weak_vector", start):
        for texts in (split.questions, split.candidates.texts):
            found = []
            for words in words_of(texts):
                vectors.random.seed(vectors.seed)  # or else a vector depends on those inferred before
                found.append(vectors.infer_vector(words))
            matrix = np.asarray(found, np.float64)
            units.append(matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12))
    cosines = np.sum(units[0][split.question_of_row] * units[1][split.candidates.index], axis=1)
    assert split.features is not None
    return np.column_stack([cosines, split.features])


def regression(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Fit a logistic regression, and give its weights; the constant changes no ranking."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(features, labels).coef_[0]


def records_of(
    config: Config,
    data: TrainingData,
    tables: dict[str, dict[str, list[Any]]],
    parameters: int,
) -> list[ResultRecord]:
    """Make a record per protocol and system."""
    dataset = data.dataset
    configuration = {
        key: value for key, value in asdict(config).items() if key not in ("data_home", "results")
    }
    records = []
    for protocol, rule in dataset.description.protocols.items():
        for name, by_split in tables.items():
            record = ResultRecord(
                paper="field",
                dataset=dataset.description.name,
                protocol=protocol,
                split="test",
                model=name,
                embeddings=f"PV-DBOW, {config.dimension}d",
                variant=dataset.variant,
                seeds=list(range(config.seeds)),
                **over_seeds(by_split["test"], by_split["dev"], rule),
                parameters=parameters + 5 * (name != "PV"),
                seconds_per_epoch=None,
                command=clean_command(),
                configuration=configuration,
                data=data.data_hash,
                main=True,
            )
            records.append(record)
    return records


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
