"""A way of searching an FAQ, and the one that a training has left."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.ranking.model_folder import preset_names
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.confidence import Confidence
from answer_ranking.ranking.search.first_stages import entries_of, parts_of

POINTS, QUESTION_POINTS = "nearest", "questions"
"""The first stages of a model's points, of answers and of questions; all others are of words."""
TRAINED = "trained"
"""The name of the model that was trained on the table, beside those of the presets."""
ENCODER, ON_ENCODER = "minilm", "hyperqa_minilm"
"""The encoder of contextual words whose cosine is searched, with nothing trained, and its preset."""


@dataclass(frozen=True)
class Pipeline:
    """A way of searching: what the index is made of, what searches it, and what re-ranks what was found."""

    first_stage: str
    search: tuple[str, ...] = ("answer",)
    """The columns in which words and letters are looked for."""
    model: str = ""
    """Whose points are searched: "trained", a preset, the encoder's name for its cosine, or "" for none."""
    rerank: str = ""
    """Which model re-ranks: "trained", a preset, or "" for none."""
    rerank_depth: int = 0
    embeddings_home: str | None = None
    """The folder of word vectors that the training was given."""

    def index_options(self) -> dict[str, Any]:
        """Give the arguments of `AnswerIndex.build` that this pipeline needs."""
        return {
            "search": list(self.search),
            "first_stages": parts_of(self.first_stage),
            "default_stage": self.first_stage,
        }

    def model_of(self, folder: Path) -> Ranker | Path | None:
        """Give the model of the points, `folder` being that of the training."""
        # Rankers, whose index names the encoder's folder, where one was given.
        if self.model in (ENCODER, ON_ENCODER):
            return Ranker.load(self.model, self.embeddings_home)
        return _model(self.model, folder) if self.model else None

    def search_options(self, folder: Path) -> str:
        """Give the options of `answer-ranking search` that ask this pipeline in the index built for it."""
        if not self.rerank:
            return ""
        rerank, depth = str(_model(self.rerank, folder)), str(self.rerank_depth)
        return shlex.join(["--rerank", rerank, "--rerank-depth", depth])

    @property
    def needs_encoder(self) -> bool:
        """Whether it reads the tokens of `ENCODER`."""
        return self.model in (ENCODER, ON_ENCODER)

    @property
    def title(self) -> str:
        """The pipeline in a table."""
        title = f"{self.first_stage} in {' + '.join(self.search)}"
        if self.model:
            title += f", points of {self.model}" + (" (untrained)" if self.model == ENCODER else "")
        if self.rerank:
            title += f", first {self.rerank_depth} re-ranked by {self.rerank}"
        return title


def _model(name: str, folder: Path) -> Path:
    return folder / "model" if name == TRAINED else Path(name)


def read_pipeline(folder: Path) -> tuple[Pipeline, Confidence | None]:
    """Read the best pipeline from the folder that a training left, and its confidence, if it learnt any.

    A UserError says that the folder holds none, or that its file is damaged.
    """
    path = folder / "result.json"
    if not path.is_file():
        raise UserError(f"{path} not found. Give the folder that `answer-ranking train` left.")
    try:
        result = json.loads(decode_text(read_content(path), path))
        facts = result.get("pipeline")
        if facts is None:
            raise UserError(f"{path} names no pipeline: the table of that training was not an FAQ.")
        home = result.get("options", {}).get("embeddings_home")
        if not isinstance(home, str | None):
            raise TypeError(f"embeddings_home is {home!r:.40}")
        if not set(facts["search"]) <= {"question", "answer"}:
            raise ValueError(f"it searches {facts['search']!r:.40}")
        pipeline = Pipeline(**{**facts, "search": tuple(facts["search"]), "embeddings_home": home})
        entries_of(parts_of(pipeline.first_stage))
        for name in (pipeline.model, pipeline.rerank):
            if name not in ("", TRAINED, ENCODER, *preset_names()):
                raise ValueError(f"{name!r:.40} is not a model")
        learnt = result.get("confidence")
        confidence = Confidence.read(learnt) if learnt else None
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}). Train again.") from error
    return pipeline, confidence
