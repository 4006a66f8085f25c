"""Imports go one way through the rooms, imports for types included."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "answer_ranking"
ROOMS = (
    "base",
    "layers",
    "data_prep",
    "models",
    "evaluation",
    "training",
    "engine",
    "reports",
    "ranking",
    "reproduce",
    "cli",
)


def imported_rooms(source):
    """Name the rooms that a module imports from, wherever in it the import stands."""
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{each.name}" for each in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == PACKAGE and len(parts) > 1:
                rooms.add(parts[1])
    return rooms & set(ROOMS)


def test_no_import_runs_up():
    upwards = set()
    for place, room in enumerate(ROOMS):
        paths = list((ROOT / room).rglob("*.py"))
        assert paths, room
        for path in paths:
            above = imported_rooms(path.read_text(encoding="utf-8")) & set(ROOMS[place + 1 :])
            upwards |= {(path.relative_to(ROOT).as_posix(), each) for each in above}
    assert not upwards
