"""Building and searching an index of a million answers: recall, speed and memory.

    python benchmarks/search.py

The answers are halves of two sentences of --datasets, drawn at random and put together, all distinct, about
--length words each; the questions are those of the data sets' dev parts; the ranker is `hyperqa_squad`.

1. The index: from a Parquet table to the finished index (texts, points, quantised points, BM25), and one
   question at a time from its text to ten answers: by each first stage, and with the first 100 re-ranked by
   Cosinet, CTRN and AP-CNN (of the papers' sizes; CTRN and AP-CNN are not trained).
2. The points alone, beside faiss' IndexFlatIP on the lifted points (exact search, the same threads):
   recall@10 against the exact distances in float64 and milliseconds, for several numbers of lists that are
   looked through and of points that are compared exactly. Every point of that ranker has the ball's largest
   norm, where the distance ranks like the cosine; so all is measured once more with norms drawn from 0.3 to
   0.7. And the search of 200,000 points, which is exact.

Each part is a process of its own. Memory-mapped points that the system keeps in its cache count into the
peak. OMP_NUM_THREADS says how many threads faiss uses. A million takes five minutes, 8 GB of memory and 3 GB
of disk.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import arguments, check_options, give_back, measured_by, write_figures

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import load_dataset, load_word_vectors
from answer_ranking.evaluation.figures import BLUE, ORANGE, new_figure, save_figure
from answer_ranking.ranking import Ranker
from answer_ranking.ranking.search.first_stages import quantised
from answer_ranking.ranking.search.first_stages.geometry import lift
from answer_ranking.ranking.search.first_stages.nearest import EXACT_UP_TO
from answer_ranking.ranking.search.first_stages.nearest_points import NearestPoints
from answer_ranking.ranking.search.index import AnswerIndex

K = 10
SETTINGS = ((300, 32), (1_000, 32), (1_000, 16), (1_000, 8), (1_000, 4), (3_000, 4), (3_000, 2), (10_000, 1))
"""How many points are compared exactly, and which share of the lists (1 / n) is looked through."""
PARTS = {"index": None, "points": None, "spread": (0.3, 0.7)}


def main() -> None:
    """Measure all parts, print the main figures, write them and draw them."""
    parser = arguments(__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="answers (default: a million)")
    names = ["squad-sent", "wikiqa", "insuranceqa"]
    parser.add_argument(
        "--datasets", nargs="+", default=names, help="where sentences come from; sample is bundled"
    )
    parser.add_argument("--questions", type=int, default=200, help="questions that are timed (default: 200)")
    parser.add_argument("--length", type=int, default=20, help="words of an answer (default: 20)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "search.json")
    parser.add_argument("--draw", type=Path, help="where to draw recall against speed (default: nowhere)")
    parser.add_argument("--measure", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        part = options.measure
        figures = (
            measure_index(options.folder) if part == "index" else measure_points(options.folder, PARTS[part])
        )
        give_back(figures)
        return
    check_options(options, "points", "questions", "length", output=options.output)
    parts = {}
    with tempfile.TemporaryDirectory() as folder:
        make_texts(Path(folder), options)
        for part in PARTS:
            print(f"measuring: {part}", flush=True)
            parts[part] = measured_by(__file__, ["--measure", part, "--folder", folder])
    index, points = parts["index"], parts["points"]
    figures = {
        "points": options.points,
        "ranker": "hyperqa_squad",
        "datasets": options.datasets,
        **{name: points["chosen"][name] for name in ("recall_at_10", "speed_against_flat")},
        **{name: index["searches"]["nearest"][name] for name in ("median_ms", "p95_ms")},
        **{name: index.pop(name) for name in ("build_seconds", "build_peak_bytes")},
        **index,
        "of_points": {"norms of the ranker": points, "norms 0.3 to 0.7": parts["spread"]},
    }
    figures["extrapolated"] = {f"{n}M": extrapolated(figures, n * 1_000_000) for n in (10, 100)}
    print(summary(figures))
    write_figures(options.output, figures)
    if options.draw:
        save_figure(drawn(figures), options.draw)


def make_texts(folder: Path, options: argparse.Namespace) -> None:
    """Write answers made of halves of sentences, the same ones every time, and real questions."""
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
            raise UserError(
                f"{' '.join(options.datasets)}: too few sentences for {options.points:,} answers."
            )
    pd.DataFrame({"answer": list(texts)[: options.points]}).to_parquet(folder / "answers.parquet")
    asked = [text for data in splits for text in data.dev["question"].unique()]
    drawn = rng.choice(len(asked), min(options.questions, len(asked)), replace=False)
    (folder / "questions.json").write_text(json.dumps([asked[i] for i in drawn]))


def measure_index(folder: Path) -> dict[str, Any]:
    """Build the index as a user does, and search it one question at a time."""
    questions = json.loads((folder / "questions.json").read_text())
    start = time.perf_counter()
    ranker = Ranker.from_preset("hyperqa_squad")
    index = AnswerIndex.build(ranker, folder / "answers.parquet", folder / "index")
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    texts = pd.read_parquet(folder / "answers.parquet")["answer"].head(20_000).tolist()
    start = time.perf_counter()
    ranker.encode_document(texts)
    encoded = len(texts) / (time.perf_counter() - start)
    searches = {
        stage: timed(lambda text: index.search(text, K, stage), questions)  # noqa: B023
        for stage in ("nearest", "bm25", "both")
    }
    for name, other in rerankers().items():
        few = questions[:30]
        alone = timed(lambda text: other.rank(text, texts[:100]), few)  # noqa: B023
        whole = timed(lambda text: index.search(text, K, "nearest", rerank=other), few)  # noqa: B023
        searches[f"nearest, then {name}"] = {**whole, "ranks_100_ms": alone["median_ms"]}
    sizes: dict[str, int] = {}
    for path in (folder / "index").rglob("*"):
        if path.is_file():
            kind = (
                path.stem
                if path.parent.parent.name == "segments"
                else path.relative_to(folder / "index").parts[0]
            )
            kind = kind.partition("-")[0]
            sizes[kind] = sizes.get(kind, 0) + path.stat().st_size
    return {
        "build_seconds": seconds,
        "build_peak_bytes": peak,
        "texts_encoded_per_second": encoded,
        "bytes_on_disk": sizes,
        "searches": searches,
    }


def rerankers() -> dict[str, Ranker]:
    """Cosinet's preset, and CTRN and AP-CNN of the papers' sizes with their first weights."""
    from answer_ranking.models import ap_cnn, ctrn

    trained = Ranker.from_preset("cosinet_squad")
    vectors = load_word_vectors(["glove-6b-50d"], trained.vocabulary)
    built = {"CTRN": ctrn(vectors.matrix, 128, hidden=(128,)), "AP-CNN": ap_cnn(vectors.matrix)}
    others = {
        name: Ranker(model, trained.vocabulary, vectors=("glove-6b-50d",)) for name, model in built.items()
    }
    return {"Cosinet": trained, **others}


def timed(search: Callable[[str], Any], questions: list[str]) -> dict[str, float]:
    """Time one question after the other, after a first round."""
    times = []
    for text in [*questions, *questions]:
        start = time.perf_counter()
        search(text)
        times.append(1e3 * (time.perf_counter() - start))
    times = times[len(questions) :]
    return {"median_ms": float(np.median(times)), "p95_ms": float(np.quantile(times, 0.95))}


class Points:
    """Points in memory."""

    def __init__(self, points: np.ndarray):
        self._points, self.dimension = points, points.shape[1]

    def __len__(self) -> int:
        return len(self._points)

    def points(self, rows: np.ndarray) -> np.ndarray:
        return self._points[rows]

    def blocks(self, first: int = 0) -> Iterator[np.ndarray]:
        for start in range(first, len(self), 50_000):
            yield self._points[start : start + 50_000]


def measure_points(folder: Path, norms: tuple[float, float] | None) -> dict[str, Any]:
    """Compare the search for the nearest points with exact search."""
    import faiss

    index = AnswerIndex.open(folder / "index")
    ranker = Ranker.from_preset("hyperqa_squad")
    texts = json.loads((folder / "questions.json").read_text())
    questions = with_norms(ranker.encode_query(texts), norms, 1)
    blocks = [
        np.load(path)
        for path in (
            folder / "index" / "segments" / name / "points.npy" for name, _ in index.manifest.segments
        )
    ]
    points = Points(np.concatenate([with_norms(block, norms, i) for i, block in enumerate(blocks, start=2)]))
    del blocks
    truth = exact(points, questions)
    flat = faiss.IndexFlatIP(points.dimension + 1)
    for block in points.blocks():
        flat.add(lift(block))
    flat_times = []
    for question in questions[:50]:
        last = np.float32(-(1 + question @ question))
        start = time.perf_counter()
        flat.search(np.append(2 * question, last)[None], K)
        flat_times.append(1e3 * (time.perf_counter() - start))
    del flat
    figures: dict[str, Any] = {
        "flat_ms": float(np.median(flat_times)),
        "threads": faiss.omp_get_max_threads(),
    }
    first = Points(points.points(slice(0, EXACT_UP_TO)))
    exact_search = NearestPoints(first, "hyperbolic")
    figures["exact"] = {
        "points": len(first),
        **found(exact_search, ranker, texts, questions, exact(first, questions)),
    }
    if len(points) <= EXACT_UP_TO:
        chosen = NearestPoints(points, "hyperbolic")
        figures["chosen"] = found(chosen, ranker, texts, questions, truth)
    else:
        start = time.perf_counter()
        quantiser = quantised.train_quantiser(points, "hyperbolic")
        codes = (quantised.quantise((quantiser, "hyperbolic"), block) for block in points.blocks())
        quantised.write_quantised(folder, quantiser, codes)
        figures["quantised_in_seconds"] = time.perf_counter() - start
        figures["sweep"] = []
        settings = quantised._CHOSEN, quantised._PROBED_SHARE
        for quantised._CHOSEN, quantised._PROBED_SHARE in SETTINGS:
            codes = quantised.QuantisedPoints(folder, len(points), "hyperbolic")
            search = NearestPoints(points, "hyperbolic", codes, len(points))
            row = found(search, ranker, texts, questions, truth)
            figures["sweep"].append(
                {"compared": quantised._CHOSEN, "share_of_lists": 1 / quantised._PROBED_SHARE, **row}
            )
            if settings == (quantised._CHOSEN, quantised._PROBED_SHARE):
                figures["chosen"] = figures["sweep"][-1]
    for row in (figures["chosen"], *figures.get("sweep", ())):
        row["speed_against_flat"] = figures["flat_ms"] / row["median_ms"]
    return figures


def found(
    search: NearestPoints, ranker: Ranker, texts: list[str], questions: np.ndarray, truth: np.ndarray
) -> dict[str, float]:
    """Measure recall@10 and the milliseconds from a question's text to its rows."""
    hits = 0
    for question, best in zip(questions, truth, strict=True):
        hits += len(set(search.nearest(question[None], K, ranker.score_points)[0][0]) & set(best))
    times = []
    for text, question in zip(texts, questions, strict=True):
        start = time.perf_counter()
        ranker.encode_query([text])
        search.nearest(question[None], K, ranker.score_points)
        times.append(1e3 * (time.perf_counter() - start))
    times_of = {"median_ms": float(np.median(times)), "p95_ms": float(np.quantile(times, 0.95))}
    return {"recall_at_10": hits / truth.size, **times_of}


def with_norms(points: np.ndarray, norms: tuple[float, float] | None, seed: int) -> np.ndarray:
    """Give points other norms, drawn uniformly; None keeps their own."""
    if norms is None:
        return points
    drawn = np.random.default_rng(seed).uniform(*norms, (len(points), 1))
    return (points * (drawn / np.linalg.norm(points, axis=1, keepdims=True))).astype(np.float32)


def exact(points: Points, questions: np.ndarray) -> np.ndarray:
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


def extrapolated(figures: dict[str, Any], n: int) -> dict[str, Any]:
    """Multiply what grows with the number of answers; nothing of this is measured."""
    times = n / figures["points"]
    return {
        "build_hours": figures["build_seconds"] * times / 3600,
        "bytes_on_disk": {name: int(size * times) for name, size in figures["bytes_on_disk"].items()},
    }


def summary(figures: dict[str, Any]) -> str:
    """Set the main figures as text."""
    lines = [
        f"{figures['points']:,} answers: built in {figures['build_seconds']:.0f} s, at most "
        f"{figures['build_peak_bytes'] / 2**30:.1f} GiB; {figures['texts_encoded_per_second']:,.0f} texts "
        "encoded a second"
    ]
    for name, row in figures["searches"].items():
        lines.append(f"{name:20} median {row['median_ms']:6.1f} ms, p95 {row['p95_ms']:6.1f} ms")
    for name, part in figures["of_points"].items():
        row, first = part["chosen"], part["exact"]
        lines.append(
            f"{name}: recall@10 {row['recall_at_10']:.4f}, {row['speed_against_flat']:.1f} times as fast as "
            f"FlatIP ({part['flat_ms']:.0f} ms); the first {first['points']:,}: {first['recall_at_10']:.4f}"
        )
    return "\n".join(lines)


def drawn(figures: dict[str, Any]) -> Any:
    """Draw recall against speed."""
    picture, (axes,) = new_figure(1, 6.4, 3.6)
    for (name, part), colour in zip(figures["of_points"].items(), (BLUE, ORANGE), strict=True):
        rows = sorted(part.get("sweep", [part["chosen"]]), key=lambda row: row["speed_against_flat"])
        speeds, recalls = ([row[key] for row in rows] for key in ("speed_against_flat", "recall_at_10"))
        axes.plot(speeds, recalls, "o-", color=colour, label=name, markersize=4, linewidth=1.2)
        row = part["chosen"]
        axes.plot(
            row["speed_against_flat"], row["recall_at_10"], "o", color=colour, markersize=10, fillstyle="none"
        )
    axes.axhline(0.99, color="#777777", linestyle=":", linewidth=1)
    axes.set(xlabel="times as fast as exact search (FlatIP)", ylabel="recall@10")
    axes.set_title(f"{figures['points']:,} answers; the rings are the settings in use", fontsize="medium")
    axes.legend(frameon=False, fontsize="small")
    return picture


if __name__ == "__main__":
    run_command(main)
