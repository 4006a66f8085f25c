"""Has the code that made a result changed in a way that matters?

A result depends on some source files, or on some definitions of a file. Each has a fingerprint that is blind
to what cannot change a number: comments, docstrings, layout, type hints, the texts of errors, imports that
only type hints need, a configuration's own list `sources`, how many elements a dataset prefetches, and
imports and assignments of one line that end with the comment `# speed only`: they change how something is run
and not what comes out, which a test has to show.
"""

import ast
import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

_OF_TYPES = {"typing", "collections.abc"}
_SPEED_ONLY = "  # speed only"


class _WithoutWhatCannotMatter(ast.NodeTransformer):
    """Take docstrings, type hints, the texts of errors and what is marked as speed only out of a tree."""

    def __init__(self, code: str):
        marked = (i for i, line in enumerate(code.split("\n"), start=1) if line.endswith(_SPEED_ONLY))
        self._speed_only = set(marked)

    def visit(self, node: ast.AST) -> ast.AST | None:
        simple = isinstance(node, ast.Import | ast.ImportFrom | ast.Assign)
        if simple and node.lineno == node.end_lineno and node.lineno in self._speed_only:
            return None
        return super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        # A constant that stands alone: a docstring, of a field as well.
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "prefetch" and len(node.args) == 1:
            # When elements are made, not which. All count as 4, the number of the first records.
            node.args = [ast.Constant(4)]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        # Whether there is an annotation makes a dataclass's field, and ClassVar unmakes it; which one it is
        # does not matter.
        names = {
            getattr(each, "id", getattr(each, "attr", None))
            for each in ast.walk(node.annotation)
            if isinstance(each, ast.Name | ast.Attribute)
        }
        if "ClassVar" in names and getattr(node.target, "id", None) == "sources":
            # The list of an experiment's sources: each of these has a fingerprint of its own.
            return None
        node.annotation = ast.Name("ClassVar" if "ClassVar" in names else "hint")
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse:
            return None
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module in _OF_TYPES else node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        # An error stops a training; what it says about it does not change the numbers of another.
        kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(kind, None)


def _canonical(node: object) -> str:
    """Write a tree as text that is the same under every version of Python, unlike `ast.dump`'s."""
    if isinstance(node, ast.AST):
        fields = (
            f"{name}={_canonical(value)}"
            for name, value in sorted(ast.iter_fields(node), key=lambda field: field[0])
            if name not in ("ctx", "kind", "type_comment", "type_ignores") and value not in (None, [])
        )
        return f"{type(node).__name__}({', '.join(fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_canonical, node))}]"
    return repr(node)


def code_fingerprint(code: str, name: str | None = None) -> str | None:
    r"""Return a hash of what a Python source does.

    Args:
        code: the source's text.
        name: a function, class or constant at the top level, or one of a class as "Class.name"; None for the
            whole source.

    Returns:
        Twelve hexadecimal digits; None where there is no definition of that name.

    Raises:
        SyntaxError: the text is no Python.

    Example:
        >>> code_fingerprint("def f(x: int) -> int:\n    '''Double.'''\n    return 2 * x  # twice\n") == (
        ...     code_fingerprint("def f(x):\n    return 2*x"))
        True
    """
    tree = ast.parse(code)
    if name is not None:
        outer, _, inner = name.partition(".")
        tree.body = [node for node in tree.body if outer in _defined(node)]
        if inner:
            members = (each for node in tree.body for each in getattr(node, "body", []))
            tree.body = [node for node in members if inner in _defined(node)]
        if not tree.body:
            return None
    text = _canonical(_WithoutWhatCannotMatter(code).visit(tree))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


@lru_cache(maxsize=4096)
def _cached_fingerprint(code: str, name: str | None) -> str | None:
    return code_fingerprint(code, name)


def source_fingerprints(sources: Iterable[str], root: str | Path) -> dict[str, str]:
    """Return the fingerprints of sources.

    Args:
        sources: files and patterns of files from the root, such as "training/fit.py" and
            "layers/masked_*.py"; or one definition of a file, such as "reproduce/experiment.py::measure" and
            "reproduce/experiment.py::ExperimentConfig.lowercase".
        root: the repository.

    Returns:
        The fingerprint of each file, or definition, in the order of their names.

    Raises:
        ValueError: a source is not there.

    Example:
        >>> root = Path(__file__).parent.parent
        >>> list(source_fingerprints(["evaluation/run*.py", "evaluation/ranking.py::summarise"], root))
        ['evaluation/ranking.py::summarise', 'evaluation/runs.py']
    """
    found = {}
    for source in sources:
        pattern, _, name = source.partition("::")
        prints = {
            "::".join(filter(None, (file.relative_to(root).as_posix(), name))): _cached_fingerprint(
                file.read_text(encoding="utf-8"), name or None
            )
            for file in Path(root).glob(pattern)
        }
        if not prints or None in prints.values():
            raise ValueError(f"sources must name code that exists. Received: {source!r} under {root}.")
        found |= prints
    return dict(sorted(found.items()))


def changed_sources(recorded: Mapping[str, str], root: str | Path) -> list[str]:
    """Name the sources that are no longer what they were.

    Args:
        recorded: what `source_fingerprints` returned once.
        root: the repository.

    Returns:
        The files and definitions that have changed, or are gone.

    Example:
        >>> changed_sources({"evaluation/absent.py": "0123456789ab"}, Path(__file__).parent.parent)
        ['evaluation/absent.py']
    """
    changed = []
    for source, fingerprint in recorded.items():
        file, _, name = source.partition("::")
        path = Path(root) / file
        now = _cached_fingerprint(path.read_text(encoding="utf-8"), name or None) if path.is_file() else None
        if now != fingerprint:
            changed.append(source)
    return changed
