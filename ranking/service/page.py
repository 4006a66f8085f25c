"""The page: a question, ranked answers, two ways side by side, and the reasons of one answer."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from markupsafe import Markup
from starlette.exceptions import HTTPException

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.overlap_features import stop_words
from answer_ranking.data_prep.words import words_of
from answer_ranking.ranking.pages import FOLDER, render
from answer_ranking.ranking.search.first_stages import title_of
from answer_ranking.ranking.service.api_page import described
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.problems import explained
from answer_ranking.ranking.service.schemas import Answer, Answers, SearchRequest, View
from answer_ranking.ranking.service.serving import Serving, serving_of

_RERANK = "+rerank"
_RUNS = re.compile(r"(\w+)")
router = APIRouter(include_in_schema=False)


@router.get("/", response_class=HTMLResponse)
async def show(request: Request, view: Annotated[View, Query()]) -> HTMLResponse:
    """Show the answers to a question, and why one of them is where it is."""
    serving = serving_of(request)
    engine = serving.engine
    names = _names(engine, view)
    _choose(view, names)
    columns: list[tuple[str, Answers]] = []
    why = problem = ""
    status, headers = 200, None
    try:
        if view.q.strip():
            await _search(serving, view, names, columns)
            if view.why and engine.rankers:
                others = [each.candidate for each in columns[0][1].answers]
                why = await serving.reasons(view.q, view.why, others)
    except (HTTPException, UserError) as error:
        status, problem = explained(error)
        headers = getattr(error, "headers", None)
    text = render(
        "page.html",
        title=view.q or "Answer ranking",
        root="",
        view=view,
        names=names,
        most=serving.limits.most_candidates,
        examples=engine.examples,
        columns=columns,
        problem=problem or engine.problem,
        why=Markup(why),
        place=_place(view.why, columns),
        explains=bool(engine.rankers),
        knows_confidence=engine.knows_confidence,
        marked=partial(marked, words=_content_words(view.q)),
        links=_links,
    )
    return HTMLResponse(text, status, headers)


def _names(engine: Engine, view: View) -> dict[str, str]:
    """Name what can order the answers, as values of the page and in words.

    For candidates of one's own these are rankers, else first stages, alone and with "+rerank".
    """
    if view.own or not engine.first_stages:
        return engine.titles
    names = {name: title_of(name) for name in engine.first_stages}
    if engine.can_rerank:
        names |= {name + _RERANK: f"{title}, then read closely" for name, title in names.items()}
    return names


def _choose(view: View, names: dict[str, str]) -> None:
    """Put ways that there are in the place of others; what is compared is another way."""
    if view.left not in names:
        view.left = next(iter(names), "")
    others = [name for name in names if name != view.left]
    if view.right not in others:
        view.right = next(iter(others), "")


async def _search(
    serving: Serving, view: View, names: dict[str, str], columns: list[tuple[str, Answers]]
) -> None:
    """Add the columns of a view, as far as nothing is refused."""
    for name in (view.left, view.right) if view.compare and view.right else (view.left,):
        if view.own:
            found = await serving.rank(view.q, view.own, name)
        else:
            rerank = name.endswith(_RERANK)
            asked = SearchRequest(
                question=view.q,
                k=view.k,
                first_stage=name.removesuffix(_RERANK),
                rerank=rerank,
                min_confidence=view.min_confidence if serving.engine.knows_confidence else 0,
            )
            found = await serving.search(asked)
        columns.append((names.get(name, name), found))


def _place(text: str, columns: Sequence[tuple[str, Answers]]) -> tuple[int, int]:
    """Say in which column, from 1, and at which rank a text stands first; 0 and 0 for nowhere."""
    lines = text.splitlines()  # A browser sends their ends as CR LF.
    for number, (_, found) in enumerate(columns, start=1):
        for each in found.answers:
            if each.candidate.splitlines() == lines:
                return number, each.rank
    return 0, 0


def _content_words(question: str) -> frozenset[str]:
    return frozenset(words_of(question)) - stop_words()


def marked(text: str, words: frozenset[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, and say which of them are among some words.

    Example:
        >>> marked("It glows.", frozenset(["glows"]))
        [('It', False), (' ', False), ('glows', True), ('.', False)]
    """
    pieces = []
    for piece in filter(None, _RUNS.split(text)):
        # The words of a script without blanks are pairs of characters.
        if not piece.isascii() and len(words_of(piece)) > 1:
            pieces += _marked_characters(piece, words)
        else:
            pieces.append((piece, piece.lower() in words))
    return pieces


def _marked_characters(run: str, words: frozenset[str]) -> list[tuple[str, bool]]:
    marks = [False] * len(run)
    for place in range(len(run) - 1):
        if run[place : place + 2] in words:
            marks[place] = marks[place + 1] = True
    return list(zip(run, marks, strict=True))


def _links(answer: Answer) -> list[tuple[str, str]]:
    """Give the columns of an answer that hold an address of the web."""
    links = []
    for name, value in answer.columns.items():
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            links.append((name, value))
    return links


@router.get("/api/docs", response_class=HTMLResponse)
async def docs(request: Request) -> HTMLResponse:
    """Describe the API."""
    operations = described(request.app.openapi())
    return HTMLResponse(render("docs.html", title="API", root="../", operations=operations))


def _file(name: str, kind: str) -> Callable[[], FileResponse]:
    def give() -> FileResponse:
        return FileResponse(FOLDER / name, media_type=kind)

    return give


for _name, _kind in (
    ("style.css", "text/css"),
    ("page.js", "text/javascript"),
    ("favicon.svg", "image/svg+xml"),
):
    router.add_api_route(f"/{_name}", _file(_name, _kind), response_class=Response)
