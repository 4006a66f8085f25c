"""Recall, speed and memory of the search for the nearest points in the ball: `ranking.search.ball`.

    python benchmarks/search.py

Points are made as HyperQA makes them: a text is the sum of its words' projections, relu(x) of a normal x.
Half of its words are drawn from the hundred of its topic, the others after Zipf's law; --topics 0 draws all
words so. A question has a third of a text's words and three others. Norms are either all near the ball's
largest, as with real models (0.7 +- 0.01), or spread from 0.3 to 0.7. The two differ: with equal norms, the
distance ranks like the cosine.

For each, in a process of its own: recall@10 against the exact distances in float64, milliseconds for one
question at a time, the same for faiss' IndexFlatIP on the lifted points (exact search), and the time and the
peak memory of building. Texts, their encoding and BM25 are not part of it. Memory-mapped points that the
system keeps in its cache count into the peak. OMP_NUM_THREADS says how many threads faiss uses.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import arguments, give_back, measured_by, write_figures

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable
from answer_ranking.ranking.search import ball

NORMS = {"near 0.7": (0.69, 0.71), "0.3 to 0.7": (0.3, 0.7)}
CHUNK, N_WORDS, TOPIC_WORDS, K = 50_000, 50_000, 100, 10


def main() -> None:
    """Measure both kinds of norms, print a table, and write the figures."""
    parser = arguments(__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="texts (default: a million)")
    parser.add_argument("--dimension", type=int, default=400, help="d (default: 400)")
    parser.add_argument("--questions", type=int, default=200, help="questions that are timed (default: 200)")
    parser.add_argument("--length", type=int, default=20, help="words of a text (default: 20)")
    parser.add_argument("--topics", type=int, default=1000, help="topics of the texts (default: 1000; or 0)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "search.json")
    parser.add_argument("--measure", choices=NORMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in ("points", "dimension", "questions", "length"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} must be at least 1. Received: {getattr(options, name)}")
    check_writable(options.output.parent)
    if options.measure:
        give_back(measure(options))
        return
    words = [
        f"--{name}={getattr(options, name)}"
        for name in ("points", "dimension", "questions", "length", "topics")
    ]
    figures = {
        "points": options.points,
        "dimension": options.dimension,
        "topics": options.topics,
        "norms": {name: measured_by(__file__, ["--measure", name, *words]) for name in NORMS},
    }
    for name, row in figures["norms"].items():
        print(
            f"norms {name:11} recall@10 {row['recall_at_10']:.4f}, "
            f"{row['speed_against_flat']:.1f} times as fast as FlatIP; "
            f"median {row['median_ms']:.1f} ms, p95 {row['p95_ms']:.1f} ms; "
            f"built in {row['build_seconds']:.0f} s, at most {row['build_peak_bytes'] / 2**30:.1f} GiB"
        )
    write_figures(options.output, figures)


class MappedPoints:
    """Points in files of 50,000, memory-mapped as in an index."""

    def __init__(self, paths: list[Path]):
        self.parts = [np.load(path, mmap_mode="r") for path in paths]
        self.dimension = self.parts[0].shape[1]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def points(self, rows: np.ndarray) -> np.ndarray:
        part = rows // CHUNK
        return np.concatenate([self.parts[i][rows[part == i] - i * CHUNK] for i in np.unique(part)])

    def blocks(self, first: int = 0) -> Iterator[np.ndarray]:
        for i, points in enumerate(self.parts):
            if (i + 1) * CHUNK > first:
                yield points[max(first - i * CHUNK, 0) :]


def measure(options: argparse.Namespace) -> dict:
    """Make points, build the search, and compare it with exact search."""
    import faiss

    with tempfile.TemporaryDirectory() as folder:
        points, questions = make(Path(folder), options)
        start = time.perf_counter()
        path = None
        if len(points) > ball.EXACT_UP_TO:
            path = Path(folder) / "quantised"
            path.mkdir()
            ball.write_quantised(path, points, "hyperbolic")
        search = ball.Ball(points, "hyperbolic", path, len(points) if path else 0)
        search.nearest(questions[:1], K)
        seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        times, hits = [], 0
        truth = exact(points, questions)
        # The first questions bring the points into the system's cache.
        for question in questions:
            search.nearest(question[None], K)
        for question, best in zip(questions, truth, strict=True):
            start = time.perf_counter()
            ((rows, _),) = search.nearest(question[None], K)
            times.append(time.perf_counter() - start)
            hits += len(set(rows) & set(best))
        flat = faiss.IndexFlatIP(options.dimension + 1)
        for block in points.blocks():
            flat.add(ball.lift(block))
        flat_times = []
        for question in questions[:50]:
            last = np.float32(-(1 + question @ question))
            start = time.perf_counter()
            flat.search(np.append(2 * question, last)[None], K)
            flat_times.append(time.perf_counter() - start)
    return {
        "recall_at_10": hits / (K * len(questions)),
        "speed_against_flat": float(np.median(flat_times) / np.median(times)),
        "median_ms": 1e3 * float(np.median(times)),
        "p95_ms": 1e3 * float(np.quantile(times, 0.95)),
        "flat_median_ms": 1e3 * float(np.median(flat_times)),
        "build_seconds": seconds,
        "build_peak_bytes": peak,
        "threads": faiss.omp_get_max_threads(),
    }


def make(folder: Path, options: argparse.Namespace) -> tuple[MappedPoints, np.ndarray]:
    """Draw texts and questions, and write their points; the same ones for each kind of norms."""
    rng = np.random.default_rng(0)
    words = np.maximum(rng.normal(size=(N_WORDS, options.dimension)), 0).astype(np.float32)
    share = 1 / np.arange(10, N_WORDS + 10)
    cumulated = np.cumsum(share / share.sum())

    topics = rng.integers(N_WORDS, size=(max(options.topics, 1), TOPIC_WORDS))

    def draw(n: int, length: int) -> np.ndarray:
        drawn = np.minimum(np.searchsorted(cumulated, rng.random((n, length))), N_WORDS - 1)
        topic = rng.integers(len(topics), size=(n, 1))
        own = topics[topic, rng.integers(TOPIC_WORDS, size=(n, length))]
        return np.where(rng.random((n, length)) < 0.5 * (options.topics > 0), own, drawn)

    def points_of(texts: np.ndarray) -> np.ndarray:
        sums = words[texts[:, 0]]
        for column in texts.T[1:]:
            sums += words[column]
        norms = rng.uniform(*NORMS[options.measure], (len(texts), 1)).astype(np.float32)
        return sums * (norms / np.linalg.norm(sums, axis=1, keepdims=True))

    paths = []
    first = draw(min(CHUNK, options.points), options.length)
    for start in range(0, options.points, CHUNK):
        texts = draw(min(CHUNK, options.points - start), options.length) if start else first
        paths.append(folder / f"{start}.npy")
        np.save(paths[-1], points_of(texts))
    about = first[rng.choice(len(first), options.questions), : max(options.length // 3, 1)]
    return MappedPoints(paths), points_of(np.concatenate([about, draw(options.questions, 3)], axis=1))


def exact(points: MappedPoints, questions: np.ndarray) -> np.ndarray:
    """Find the nearest points by the distance in float64, (questions, 10)."""
    best_rows, best = np.empty((len(questions), 0), np.int64), np.empty((len(questions), 0))
    asked, start = questions.astype(float), 0
    for block in points.blocks():
        block = block.astype(float)
        inner, outer = np.square(block).sum(axis=1), np.square(asked).sum(axis=1)[:, None]
        apart = outer + inner - 2 * asked @ block.T
        near = np.concatenate([best, -apart / ((1 - inner) * (1 - outer))], axis=1)
        rows = np.broadcast_to(np.arange(start, start + len(block)), apart.shape)
        rows = np.concatenate([best_rows, rows], axis=1)
        kept = np.argsort(-near, axis=1)[:, :K]
        best, best_rows = np.take_along_axis(near, kept, 1), np.take_along_axis(rows, kept, 1)
        start += len(block)
    return best_rows


if __name__ == "__main__":
    run_command(main)
