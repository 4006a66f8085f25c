"""Recall, speed and memory of the search for the nearest points in the ball: `ranking.search.ball`.

    python benchmarks/search.py

The points are those that `hyperqa_squad` gives to texts of about --length words: halves of two sentences of
--datasets, drawn at random and put together, all distinct; the questions are those of the data sets' dev
parts. Every point of that ranker has the ball's largest norm, where the distance ranks like the cosine; so
all is measured once more with norms drawn from 0.3 to 0.7.

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
from answer_ranking.data_prep import load_dataset
from answer_ranking.ranking import Ranker
from answer_ranking.ranking.search import ball

NORMS = {"of the ranker": None, "0.3 to 0.7": (0.3, 0.7)}
CHUNK, K = 50_000, 10


def main() -> None:
    """Measure both kinds of norms, print a table, and write the figures."""
    parser = arguments(__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="texts (default: a million)")
    parser.add_argument(
        "--datasets", nargs="+", default=["squad-sent", "wikiqa", "insuranceqa"], help="names"
    )
    parser.add_argument("--questions", type=int, default=200, help="questions that are timed (default: 200)")
    parser.add_argument("--length", type=int, default=20, help="words of a text (default: 20)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "search.json")
    parser.add_argument("--measure", choices=NORMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in ("points", "questions", "length"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} must be at least 1. Received: {getattr(options, name)}")
    check_writable(options.output.parent)
    if options.measure:
        give_back(measure(options))
        return
    words = [f"--{name}={getattr(options, name)}" for name in ("points", "questions", "length")]
    words += ["--datasets", *options.datasets]
    norms = {name: measured_by(__file__, ["--measure", name, *words]) for name in NORMS}
    figures = {
        **norms["of the ranker"],
        "points": options.points,
        "ranker": "hyperqa_squad",
        "datasets": options.datasets,
        "norms": norms,
    }
    for name, row in figures["norms"].items():
        print(
            f"norms {name:13} recall@10 {row['recall_at_10']:.4f}, "
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
        ranker = Ranker.from_preset("hyperqa_squad")
        texts, asked = make_texts(options)
        start = time.perf_counter()
        points = MappedPoints(write_points(Path(folder), texts, ranker, NORMS[options.measure]))
        encoding = time.perf_counter() - start
        path = None
        if len(points) > ball.EXACT_UP_TO:
            path = Path(folder) / "quantised"
            path.mkdir()
            ball.write_quantised(path, points, "hyperbolic")
        search = ball.Ball(points, "hyperbolic", path, len(points) if path else 0)
        questions = with_norms(ranker.encode_query(asked), NORMS[options.measure], 1)
        search.nearest(questions[:1], K)
        seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        times, hits = [], 0
        truth = exact(points, questions)
        # The first questions bring the points into the system's cache.
        for question in questions:
            search.nearest(question[None], K)
        for text, question, best in zip(asked, questions, truth, strict=True):
            start = time.perf_counter()
            ranker.encode_query([text])
            ((rows, _),) = search.nearest(question[None], K)
            times.append(time.perf_counter() - start)
            hits += len(set(rows) & set(best))
        flat = faiss.IndexFlatIP(points.dimension + 1)
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
        "texts_encoded_per_second": len(texts) / encoding,
        "build_peak_bytes": peak,
        "threads": faiss.omp_get_max_threads(),
    }


def make_texts(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Put halves of sentences together, the same ones every time; the questions are real."""
    rng = np.random.default_rng(0)
    splits = [load_dataset(name) for name in options.datasets]
    sentences = [
        text for data in splits for part in (data.train, data.dev) for text in part["candidate"].unique()
    ]
    half = max(options.length // 2, 1)
    words = [each for each in map(str.split, dict.fromkeys(sentences)) if len(each) >= half]
    texts: dict[str, None] = {}
    while len(texts) < options.points:
        before = len(texts)
        for first, second in rng.integers(len(words), size=(options.points, 2)):
            texts[" ".join(words[first][:half] + words[second][-half:])] = None
        if len(texts) - before < options.points // 100:
            raise UserError(f"{' '.join(options.datasets)}: too few sentences for {options.points:,} texts.")
    asked = [text for data in splits for text in data.dev["question"].unique()]
    chosen = rng.choice(len(asked), min(options.questions, len(asked)), replace=False)
    return list(texts)[: options.points], [asked[i] for i in chosen]


def write_points(
    folder: Path, texts: list[str], ranker: Ranker, norms: tuple[float, float] | None
) -> list[Path]:
    """Encode texts into files of 50,000 points."""
    paths = []
    for start in range(0, len(texts), CHUNK):
        paths.append(folder / f"{start}.npy")
        np.save(paths[-1], with_norms(ranker.encode_document(texts[start : start + CHUNK]), norms, start))
    return paths


def with_norms(points: np.ndarray, norms: tuple[float, float] | None, seed: int) -> np.ndarray:
    """Give points other norms, drawn uniformly; None keeps their own."""
    if norms is None:
        return points
    drawn = np.random.default_rng(seed).uniform(*norms, (len(points), 1))
    return (points * (drawn / np.linalg.norm(points, axis=1, keepdims=True))).astype(np.float32)


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
