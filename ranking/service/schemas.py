"""What requests ask and what they are answered, as JSON."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class Asked(BaseModel):
    """What a request asks; fields that are not known are refused."""

    model_config = ConfigDict(extra="forbid")


class RankRequest(Asked):
    """A question and candidate answers."""

    question: Text
    candidates: list[Text] = Field(min_length=1)
    ranker: str = ""


class SearchRequest(Asked):
    """A question to the index."""

    question: Text
    k: int = Field(default=10, ge=1, description="The most answers.")
    first_stage: str = Field(default="", description="One that /api/health lists, or several with +.")
    rerank: bool = Field(default=False, description="Re-rank the first answers by the re-ranker.")
    where: dict[str, Any] = Field(default={}, description="Columns, each with the value or values to have.")
    columns: list[str] | None = Field(default=None, description="The columns to give; unless given, all.")
    min_confidence: float = Field(
        default=0, ge=0, le=1, description="Only answers with at least this confidence."
    )


class ExplainRequest(Asked):
    """A question and an answer."""

    question: Text
    answer: Text
    ranker: str = ""
    method: str = "own"


class Answer(BaseModel):
    """An answer in its place."""

    rank: int
    score: float
    candidate: str
    candidate_id: str | None = None
    confidence: float | None = None
    columns: dict[str, Any] = {}


class Answers(BaseModel):
    """Ranked answers, the best first."""

    answers: list[Answer]
    milliseconds: float
    first_stage: str = ""
    rerank: bool = False
    ranker: str = ""
    note: str = ""


class Health(BaseModel):
    """Whether all is well."""

    status: str
    problem: str
    answers: int
    rankers: list[str]
    first_stages: list[str]


class View(BaseModel):
    """What the page shows; its address holds all of it."""

    q: str = ""
    left: str = ""
    right: str = ""
    compare: bool = False
    k: int = Field(10, ge=1)
    min_confidence: float = Field(0, ge=0, le=1)
    candidates: str = ""
    why: str = ""

    @property
    def own(self) -> list[str]:
        """The candidates, one of each line."""
        lines = map(str.strip, self.candidates.splitlines())
        return list(filter(None, lines))
