"""The page: a question, ranked answers side by side, and the reasons of one of them."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import Environment, FileSystemLoader
from starlette.exceptions import HTTPException

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.search.first_stages import title_of
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.limits import MOST_QUERY
from answer_ranking.ranking.service.problems import explained
from answer_ranking.ranking.service.schemas import Answers, View
from answer_ranking.ranking.service.serving import Serving, serving_of
from answer_ranking.ranking.service.texts import fits_a_drawing

_FOLDER = Path(__file__).parent
_PAGE = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True).get_template("page.html")
_RERANK = "+rerank"
_MOST_NEAR = 20  # answers on the disk
router = APIRouter(include_in_schema=False)


@router.get("/", response_class=HTMLResponse)
async def show(request: Request, view: Annotated[View, Query()]) -> HTMLResponse:
    """Show the answers to a question, and why one of them is where it is."""
    serving = serving_of(request)
    engine = serving.engine
    names = _names(engine, view)
    view.left = view.left if view.left in names else next(iter(names), "")
    columns: list[tuple[str, Answers]] = []
    reasons: list[tuple[str, str]] = []
    problem = ""
    try:
        await _ask(serving, view, names, columns, reasons)
    except (HTTPException, UserError) as error:
        _, problem = explained(error)
    near = _near(view.q, columns[0][1]) if columns and engine.has_disk else []
    text = _PAGE.render(
        view=view,
        names=names,
        columns=columns,
        problem=problem or engine.problem,
        reasons=reasons,
        drawing=_drawing,
        drawn=fits_a_drawing(view.q, view.why),
        explains=bool(engine.rankers),
        near=near,
    )
    return HTMLResponse(text, 422 if problem else 200)


async def _ask(
    serving: Serving,
    view: View,
    names: dict[str, str],
    columns: list[tuple[str, Answers]],
    reasons: list[tuple[str, str]],
) -> None:
    """Add the columns and the reasons of a view, as far as nothing is refused."""
    if not view.q.strip():
        return
    chosen = [view.left]
    if view.right in names:
        chosen.append(view.right)
    for name in chosen:
        columns.append((names.get(name, name), await _column(serving, view, name)))
    if view.why:
        for name in serving.engine.rankers:
            reason = await serving.explain(view.q, view.why, name)
            reasons.append((name, reason.summary))


async def _column(serving: Serving, view: View, name: str) -> Answers:
    if view.own:
        return await serving.rank(view.q, view.own, name)
    first_stage = name.removesuffix(_RERANK)
    return await serving.search(view.q, view.k, first_stage, name.endswith(_RERANK))


def _names(engine: Engine, view: View) -> dict[str, str]:
    """Name what can order the answers, as values of the page and in words.

    For candidates of one's own these are rankers, else first stages, alone and with "+rerank".
    """
    if view.own or not engine.first_stages:
        return {name: name for name in engine.rankers}
    names = {name: title_of(name) for name in engine.first_stages}
    if engine.can_rerank:
        names |= {name + _RERANK: f"{title}, re-ranked" for name, title in names.items()}
    return names


def _drawing(**values: Any) -> str:
    return "why.svg?" + urlencode(values, doseq=True)


def _near(question: str, found: Answers) -> list[str]:
    """Give the texts of the first answers, as many as the address of their drawing can hold."""
    texts = [each.text for each in found.answers[:_MOST_NEAR]]
    while texts and len(_drawing(question=question, answer=texts, method="disk")) > MOST_QUERY:
        texts.pop()
    return texts


@router.get("/style.css")
async def style() -> Response:
    """Give the page's style."""
    return FileResponse(_FOLDER / "style.css", media_type="text/css")


@router.get("/page.js")
async def script() -> Response:
    """Give the page's script."""
    return FileResponse(_FOLDER / "page.js", media_type="text/javascript")
