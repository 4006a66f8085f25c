"""The parts of a build: in turn on this machine, or in tasks of a Ray cluster."""

import functools
import io
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from answer_ranking.base.errors import UserError

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker

_LOST = 5  # so often a task is run again whose node is lost
_AHEAD = 2  # tasks begun for every processor: a result waits here while the next is computed
PROBED = 1_000
"""Texts by which another machine is compared with this one."""

_Shared = TypeVar("_Shared")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_items(
    function: Callable[[_Shared, _Item], _Result], shared: _Shared, items: Iterable[_Item], ray: Any = None
) -> Iterator[_Result]:
    """Give `function(shared, item)` for every item, in their order.

    Args:
        function: one that a node can import.
        shared: the same for all; sent once.
        items: taken as they are needed, so that few are held at a time.
        ray: the module, connected to a cluster. A task whose node is lost is run again on another; one that
            raises an exception is not. What tasks print on standard error is printed here, once.
    """
    if ray is None:
        for item in items:
            yield function(shared, item)
        return
    task = ray.remote(max_retries=_LOST, retry_exceptions=False)(_heard)
    sent = ray.put(shared)
    begun: deque[Any] = deque()
    printed: set[str] = set()

    def first() -> _Result:
        try:
            result, said = ray.get(begun.popleft())
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise UserError(
                f"a task was lost with its node {_LOST + 1} times ({error!s:.200}). See to the nodes, then "
                "run the same command again: what is finished is kept."
            ) from error
        if said and said not in printed:
            printed.add(said)
            print(said, end="", file=sys.stderr)
        return result

    for item in items:
        begun.append(task.remote(function, sent, item))
        # Nodes may have come or gone.
        while len(begun) >= _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))):
            yield first()
    while begun:
        yield first()


def _heard(function: Callable[[Any, Any], Any], shared: Any, item: Any) -> tuple[Any, str]:
    with redirect_stderr(io.StringIO()) as said:
        return function(shared, item), said.getvalue()


class Model(NamedTuple):
    """A ranker as it is sent to another machine."""

    files: tuple[tuple[str, bytes], ...]
    """The names and contents of its folder's files."""
    ranker: "Ranker | None" = None
    """The ranker itself, for this machine; None to make it of the files."""
    texts: tuple[str, ...] = ()
    points: bytes = b""
    """What this machine makes of the texts, float32; a node that makes other points of them is refused."""

    @classmethod
    def read(cls, folder: Path, ranker: "Ranker | None" = None) -> "Model":
        """Read a ranker's folder; `ranker` is the same one, where it is loaded already."""
        paths = sorted(folder.iterdir())
        return cls(tuple((path.name, path.read_bytes()) for path in paths), ranker)

    def with_probe(self, texts: list[str]) -> "Model":
        """Encode some texts here, so that other machines can be compared with this one."""
        return self._replace(texts=tuple(texts), points=self.encode(texts).tobytes())

    def encode(self, texts: list[str]) -> np.ndarray:
        """Encode answers, float32 `(n, d)`; the ranker is made when a process needs it first."""
        ranker = self.ranker or _ranker(self)
        return np.asarray(ranker.encode_document(texts), np.float32)


@functools.lru_cache(maxsize=1)
def _ranker(model: Model) -> "Ranker":
    from answer_ranking.ranking.ranker import Ranker

    with tempfile.TemporaryDirectory() as folder:
        for name, content in model.files:
            (Path(folder) / name).write_bytes(content)
        ranker = Ranker.load(folder)
    if model.points:
        with redirect_stderr(io.StringIO()) as said:
            points = np.asarray(ranker.encode_document(list(model.texts)), np.float32)
        expected = np.frombuffer(model.points, np.float32).reshape(points.shape)
        if not np.allclose(points, expected, atol=1e-5):
            raise UserError(
                "a node gives other points to the same texts than this machine. Make the model's word "
                f"vectors available on all nodes. {said.getvalue()}".strip()
            )
    return ranker
