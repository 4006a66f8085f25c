"""The pages of the site that are not files of docs/: README, results, and a page of docstrings per room."""

import ast
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("layers", "models", "training", "data_prep", "evaluation", "engine", "ranking")
NAMED = {
    "ranking": (
        "train_options.TrainOptions",
        "wrong_answers.draw_wrong_answers",
        "pipelines.compare_pipelines",
        "pipelines.PipelineComparison",
        "search.build_options.BuildOptions",
    )
}
"""What a room's docstrings name, but the room does not export."""
OF_KERAS = ("layers", "models", "training")
"""Here `build` and others are overridden methods of Keras, which need no entry; see mkdocs.yml."""


def on_files(files, config):
    """Add the pages."""
    pages = {
        "index.md": (ROOT / "README.md").read_text(encoding="utf-8"),
        **{
            f"{name}.md": (ROOT / f"{name}.md").read_text(encoding="utf-8")
            for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")
        },
        "RESULTS.md": (ROOT / "reproduce" / "RESULTS.md").read_text(encoding="utf-8"),
        **{f"api/{room}.md": docstrings(room) for room in ROOMS},
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def docstrings(room: str) -> str:
    """Write the page of a room: its docstring, then everything that it exports or names."""
    module = f"answer_ranking.{room}"
    options = "" if room in OF_KERAS else '\n    options:\n      filters: ["!^_"]'
    parts = [
        f"# {room}",
        f"`from {module} import ...`",
        f"::: {module}\n    options:\n      members: false\n      show_root_heading: false",
        *(f"::: {module}.{name}{options}" for name in (*exported(room), *NAMED.get(room, ()))),
    ]
    return "\n\n".join(parts) + "\n"


def exported(room: str) -> list[str]:
    """Read the names that a room takes from its modules, without importing TensorFlow."""
    tree = ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))
    ours = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.level or node.module.startswith("answer_ranking"))
    )
    return sorted({alias.name for node in ours for alias in node.names})


def on_page_markdown(markdown, page, config, files):
    """Lead links to files of the repository to their pages; links to other files become plain text."""
    markdown = re.sub(r"\]\((?:\.\./)?reproduce/RESULTS\.md", "](RESULTS.md", markdown)
    markdown = re.sub(r"\]\(\.\./(README|CONTRIBUTING|CHANGELOG|SECURITY)\.md", r"](\1.md", markdown)
    markdown = re.sub(r"\]\(README\.md", "](index.md", markdown)
    markdown = re.sub(r"\]\(docs/", "](", markdown)
    markdown = re.sub(r'(<img src=")docs/', r"\1", markdown)
    return re.sub(
        r"\[([^\]]+)\]\((?:\.\./)*(?:LICENSE|CITATION\.cff|[\w/]+\.(?:py|txt|toml))\)", r"\1", markdown
    )
