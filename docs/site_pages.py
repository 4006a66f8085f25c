"""The pages of the site that are no files of docs/: README, results, and a page of docstrings per package."""

import pkgutil
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("layers", "models", "training", "data_prep", "evaluation")


def on_files(files, config):
    """Add the pages."""
    pages = {
        "index.md": (ROOT / "README.md").read_text(encoding="utf-8"),
        "RESULTS.md": (ROOT / "reproduce" / "RESULTS.md").read_text(encoding="utf-8"),
        **{f"api/{package}.md": docstrings(package) for package in PACKAGES},
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def docstrings(package: str) -> str:
    """Write the page of a package: its own docstring, then module by module."""
    modules = sorted(
        module.name
        for module in pkgutil.iter_modules([str(ROOT / package)])
        if not module.name.startswith("__") and not module.ispkg
    )
    parts = [
        f"# {package}",
        f"::: {package}\n    options:\n      members: false\n      show_root_heading: false",
    ]
    return "\n\n".join([*parts, *(f"::: {package}.{module}" for module in modules)]) + "\n"


def on_page_markdown(markdown, page, config, files):
    """Lead links to files of the repository to their pages; those without one lose the link."""
    markdown = re.sub(r"\]\((?:\.\./)?reproduce/RESULTS\.md", "](RESULTS.md", markdown)
    markdown = re.sub(r"\]\(docs/", "](", markdown)
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)*(?:LICENSE|CITATION\.cff)\)", r"\1", markdown)
