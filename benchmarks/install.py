"""What `pip install answer-ranking` brings, and how long `import answer_ranking.layers` takes.

    python benchmarks/install.py

The package is built from this folder and installed into an empty environment, without extras: Keras, NumPy
and what they need, no backend. The import is timed in this environment, beside that of Keras alone, in
processes by turns.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from functools import partial
from pathlib import Path

from common import (
    add_counts,
    arguments,
    by_turns,
    in_words,
    parse,
    print_table,
    ratios,
    seconds,
    write_figures,
)

from answer_ranking.base.command import run_command

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = {"ours": "import answer_ranking.layers", "plain": "import keras"}


def main() -> None:
    """Measure both and write the figures."""
    parser = arguments(__doc__, "install.json")
    add_counts(parser, rounds=(5, "how often the imports take turns"))
    options = parse(parser)
    with tempfile.TemporaryDirectory() as folder:
        sizes = installed_sizes(Path(folder))
    total = sum(sizes.values()) / 1e6
    largest = sorted(sizes, key=lambda name: -sizes[name])[:8]
    print_table(["package", "MB"], [[name, sizes[name] / 1e6] for name in largest])
    print(f"all {len(sizes)} together: {total:.0f} MB")
    ways = {name: partial(seconds, partial(run_python, code)) for name, code in IMPORTS.items()}
    times = by_turns(options.rounds, ways)
    print(f"import of Keras / import of the layers: {in_words(ratios(times['plain'], times['ours']))}")
    table = {"pip install, without a backend": {"ours": [total]}, "import of the layers": times}
    write_figures(options.output, {"bytes": sizes, "table": table})


def installed_sizes(folder: Path) -> dict[str, int]:
    """Install the package into an empty environment in `folder`; give the bytes of its parts, by name."""
    venv.create(folder / "empty", with_pip=False)
    python = folder / "empty" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    # A build leaves files in its folder, and takes those that an earlier one has left there.
    left_out = shutil.ignore_patterns(".*", "outputs", "build", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, folder / "source", ignore=left_out, symlinks=True)
    subprocess.run([*pip, "install", *quiet, str(folder / "source")], check=True)
    (packages,) = (folder / "empty").glob("lib/python*/site-packages")
    return {path.name: size_of(path) for path in packages.iterdir()}


def size_of(path: Path) -> int:
    """Add up the bytes of a file, or of all files below a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def run_python(code: str) -> None:
    """Run a line in a process of its own."""
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    run_command(main)
