"""A ranker without TensorFlow: a text is the sum of its words' vectors, brought onto a ball or a sphere."""

import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from answer_ranking.data_prep import Tokenizer, Vocabulary

D = 12
WORDS = [f"w{i}" for i in range(300)]


class StubRanker:
    def __init__(self, similarity="hyperbolic", seed=0):
        self.similarity, self.seed = similarity, seed
        self.vocabulary, self.tokenizer = Vocabulary(WORDS), Tokenizer(pretokenised=True)
        self.vectors = np.random.default_rng(seed).normal(size=(len(self.vocabulary), D)).astype(np.float32)

    def encode_query(self, texts):
        points = np.stack(
            [self.vectors[self.vocabulary.encode(words)].sum(axis=0) for words in self.tokenizer(texts)]
        )
        # Norms between 0.3 and 1 - 1e-5, so that the distance does not rank like the cosine.
        length = np.linalg.norm(points, axis=1, keepdims=True)
        return (points / length * np.minimum(0.3 + length / 20, 1 - 1e-5)).astype(np.float32)

    encode_document = encode_query

    def encode_and_tell_known(self, texts):
        known = [any(word in self.vocabulary.index for word in text.split()) for text in texts]
        return self.encode_query(texts), np.array(known)

    def score(self, pairs):
        return self.score_points(*(self.encode_query(side) for side in zip(*pairs, strict=True)))

    def score_points(self, questions, answers):
        return (3 - 2 * self.distance(questions.astype(float), answers.astype(float))).astype(np.float32)

    def check_nearest_is_best(self):
        """They are."""

    def distance(self, q, a):
        if self.similarity == "hyperbolic":
            apart = np.square(q - a).sum(axis=-1)
            edge = (1 - np.square(q).sum(axis=-1)) * (1 - np.square(a).sum(axis=-1))
            return np.arccosh(1 + 2 * apart / edge)
        lengths = np.linalg.norm(q, axis=-1) * np.linalg.norm(a, axis=-1)
        return -(q * a).sum(axis=-1) / lengths

    def save(self, folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        with ZipFile(Path(folder) / "ranker.keras", "w") as archive:
            archive.writestr("config.json", json.dumps({"layer": self.similarity, "seed": self.seed}))

    @classmethod
    def load(cls, folder):
        with ZipFile(Path(folder) / "ranker.keras") as archive:
            config = json.loads(archive.read("config.json"))
        return cls(config["layer"], config["seed"])


def texts(n, seed=1):
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, draw.integers(2, 15))) for _ in range(n)]


def sum_of_shares(index, question, stages):
    """Add up, by answer, the scores of the first hundred on a scale up to 1: from 0, or the last point's."""
    sums = {}
    for stage in stages:
        found = index.search(question, k=100, first_stage=stage)
        floor = found["score"].min() if stage == "nearest" else 0
        for row in found.itertuples():
            share = (row.score - floor) / (found["score"].max() - floor)
            sums[row.candidate_id] = sums.get(row.candidate_id, 0) + share
    return sums
