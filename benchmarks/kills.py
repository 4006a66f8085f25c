"""What writes, to be killed at any moment, and what is to be there afterwards: the old or the new state."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Tokenizer
from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.ranking.export import export_onnx

PAIRS = [("who painted it", "the chapel"), ("when", "it was built in rome")]
_TOLERANCE = 1e-3  # between onnxruntime's scores and ours


@dataclass(frozen=True)
class Writing:
    """What is killed, and what then looks at the files: False where something is lost."""

    write: Callable[[], Any]
    check: Callable[[], bool]
    imports: tuple[str, ...] = ()
    """What takes seconds to import, before there is anything to kill."""


def save(place: Path, folder: Path) -> Writing:
    """Save a ranker where there is none."""

    def check() -> bool:
        try:
            scores = Ranker.load(folder / "model").score(PAIRS)
        except UserError:
            return not (folder / "model" / "ranker.keras").exists()
        return scores.tolist() == _stored(place / "new-scores.json")

    return Writing(lambda: Ranker.load(place / "new-model").save(folder / "model"), check)


def swap(place: Path, folder: Path) -> Writing:
    """Save a ranker over another one."""
    model = folder / "model"
    shutil.copytree(place / "model", model)
    states = [_stored(place / name) for name in ("scores.json", "new-scores.json")]
    return Writing(
        lambda: Ranker.load(place / "new-model").save(model),
        lambda: Ranker.load(model).score(PAIRS).tolist() in states,
    )


def build(place: Path, folder: Path) -> Writing:
    """Build an index; the same call goes on."""
    index = folder / "index"

    def write() -> None:
        AnswerIndex.build(place / "model", place / "t.csv", index, chunk_rows=100)

    def check() -> bool:
        if not (index / "manifest.json").exists():
            write()
        return found_in(index) == _stored(place / "found.json")

    return Writing(write, check)


def add(place: Path, folder: Path) -> Writing:
    """Add answers to an index."""
    index = folder / "index"
    shutil.copytree(place / "index", index)
    more = pd.DataFrame({"candidate_id": [f"n{i}" for i in range(500)], "candidate": ["the chapel"] * 500})
    return Writing(lambda: AnswerIndex.open(index).add(more), lambda: _whole(index, (1_000, 1_500)))


def delete(place: Path, folder: Path) -> Writing:
    """Delete answers of an index."""
    index = folder / "index"
    shutil.copytree(place / "index", index)
    return Writing(lambda: AnswerIndex.open(index).delete(["c1", "c2"]), lambda: _whole(index, (1_000, 998)))


def train(place: Path, folder: Path) -> Writing:
    """Train a ranker; the same call goes on."""

    def check() -> bool:
        return trained_metrics(place, folder) == _stored(place / "trained.json")

    return Writing(lambda: trained_metrics(place, folder), check, ("keras", "answer_ranking.training"))


def trained_metrics(place: Path, folder: Path) -> Any:
    """Train on the sound table, or go on with it, and give the metrics of dev and test."""
    from answer_ranking.ranking import train_ranker

    trained = train_ranker(place / "train.csv", epochs=3, output=folder / "outputs")
    return json.loads(json.dumps(trained.result["metrics"]))


def export(place: Path, folder: Path) -> Writing:
    """Export a ranker over the export of another one, which has other words."""
    for path in (place / "export").iterdir():
        shutil.copy(path, folder)
    states = [_stored(place / name) for name in ("scores.json", "new-scores.json")]

    def write() -> None:
        export_onnx(Ranker.load(place / "new-model"), folder / "model.onnx")

    def check() -> bool:
        if not (folder / "model.words.json").exists():
            write()  # between the model and its words
        scores = exported_scores(folder / "model.onnx")
        return any(np.allclose(scores, state, atol=_TOLERANCE) for state in states)

    return Writing(write, check, ("keras", "tf2onnx", "answer_ranking.layers"))


def exported_scores(path: Path) -> list[float]:
    """Score with an exported model, as a program without this package does."""
    import onnxruntime

    words = json.loads(path.with_suffix(".words.json").read_text())["words"]
    numbers = {word: number for number, word in enumerate(words, start=2)}
    session, scores = onnxruntime.InferenceSession(str(path)), []
    for pair in PAIRS:
        texts = {}
        for name, tokens in zip(("question", "answer"), Tokenizer(pretokenised=False)(pair), strict=True):
            texts[name] = np.array([[numbers.get(token, 1) for token in tokens]], np.int32)
        scores.append(float(session.run(None, texts)[0][0]))
    return scores


# A training takes as long as ten savings: of 19 kills 15 meet files, two a training and two an export.
WAYS = (*3 * (save, swap, build, add, delete), *2 * (train, export))


def scores_of(folder: Path) -> list[float]:
    """Score with a ranker's folder."""
    return Ranker.load(folder).score(PAIRS).tolist()


def found_in(folder: Path) -> list[list[Any]]:
    """Search an index by all that it has."""
    found = AnswerIndex.open(folder).search([pair[0] for pair in PAIRS], k=200, first_stage="both")
    return found[["candidate_id", "score"]].astype(str).to_numpy().tolist()


def _whole(folder: Path, lengths: tuple[int, ...]) -> bool:
    return len(AnswerIndex.open(folder)) in lengths and bool(found_in(folder))


def _stored(path: Path) -> Any:
    return json.loads(path.read_text())
