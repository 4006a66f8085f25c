"""TensorFlow is imported without the lines that its libraries write before they read the log level."""

import os
import sys
import tempfile
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def hide_tensorflow_logs() -> None:
    """Hide the lines of TensorFlow's import and its notes, unless TF_CPP_MIN_LOG_LEVEL asks for them.

    What its libraries write is shown after an exception. Where TensorFlow is there already, or is never
    imported, nothing changes.
    """
    if os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "3" and "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds TensorFlow where Python does, and lets it be loaded quietly."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "tensorflow" else None
        if spec is not None and spec.loader is not None:
            spec.loader = _QuietLoader(spec.loader)
        return spec


class _QuietLoader(Loader):
    def __init__(self, loader: Loader):
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if sys.stderr is None:  # there is nothing to hide from
            self._loader.exec_module(module)
            return
        stderr = os.dup(2)
        with tempfile.TemporaryFile() as hidden:
            os.dup2(hidden.fileno(), 2)
            try:
                self._loader.exec_module(module)
            except BaseException:
                hidden.seek(0)
                os.write(stderr, hidden.read())
                raise
            finally:
                os.dup2(stderr, 2)
                os.close(stderr)
