"""Building and searching an index of a million answers: recall, speed and memory.

    python benchmarks/search.py

The answers are halves of two sentences of --datasets, drawn at random and put together, all distinct, about
--length words each; the questions are those of the data sets' dev parts; the ranker is --preset.

1. The index: from a Parquet table to the finished index (texts, points, quantised points, BM25), and one
   question at a time, which was never asked before, from its text to ten answers: by each first stage, and
   with the first 100 re-ranked by Cosinet, CTRN and AP-CNN (of the papers' sizes; CTRN and AP-CNN are not
   trained).
2. The points alone, beside faiss' IndexFlatIP on the lifted points (exact search, the same threads):
   recall@10 against the exact distances in float64 and milliseconds, for several numbers of lists that are
   looked through and of points that are compared exactly; and the search of the first 200,000. Every point of
   `hyperqa_squad` has the ball's largest norm, where the distance ranks like the cosine: with norms drawn
   from 0.3 to 0.7 all is measured once more.

Each part is a process of its own. Memory-mapped points that the system keeps in its cache count into the
peak. OMP_NUM_THREADS says how many threads faiss uses. A million takes five minutes, 8 GB of memory and 3 GB
of disk.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import (
    add_counts,
    arguments,
    in_own_process,
    milliseconds,
    parse,
    print_table,
    seconds,
    write_figures,
)

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import load_dataset, load_word_vectors
from answer_ranking.evaluation.environment import peak_memory
from answer_ranking.evaluation.figures import BLUE, ORANGE, new_figure, save_figure
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking import Ranker
from answer_ranking.ranking.model_folder import find_model
from answer_ranking.ranking.search.first_stages import quantised
from answer_ranking.ranking.search.first_stages.geometry import asked, lift
from answer_ranking.ranking.search.first_stages.nearest_points import NearestPoints
from answer_ranking.ranking.search.index import AnswerIndex

K = 10
SETTINGS = (
    (300, 32),
    (500, 16),
    (500, 8),
    (500, 4),
    (1_000, 4),
    (500, 2),
    (1_000, 2),
    (3_000, 2),
    (10_000, 1),
)
"""How many points are compared exactly, and which share of the lists (1 / n) is looked through."""
FIRST = 200_000
NORMS = {"norms of the ranker": None, "norms 0.3 to 0.7": (0.3, 0.7)}
"""The norms between which those of the points are drawn; None for their own."""


def main() -> None:
    """Measure all parts, print the main figures, write them and draw them."""
    parser = arguments(__doc__, "search.json")
    add_datasets(parser)
    add_counts(
        parser,
        points=(1_000_000, "answers"),
        questions=(400, "questions; the first half is not timed"),
        length=(20, "words of an answer"),
    )
    about = "the ranker: hyperqa_minilm needs the encoder, and an hour or two for a million"
    parser.add_argument("--preset", default="hyperqa_squad", help=f"{about} (default: hyperqa_squad)")
    parser.add_argument("--draw", type=Path, help="where to draw recall against speed (default: nowhere)")
    options = parse(parser)
    find_model(options.preset)  # before the texts are made
    figures = {"points": options.points, "ranker": options.preset, "datasets": options.datasets}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_texts(folder, options.datasets, options.points, options.questions, options.length)
        print("measuring: the index", flush=True)
        figures |= in_own_process(measure_index, folder, options.preset)
        figures["of_points"] = {}
        for name, norms in NORMS.items():
            print(f"measuring: {name}", flush=True)
            figures["of_points"][name] = in_own_process(measure_points, folder, options.preset, norms)
    for millions in (10, 100):
        more = extrapolated(figures, millions * 1_000_000)
        figures.setdefault("extrapolated", {})[f"{millions}M"] = more
    report(figures)
    write_figures(options.output, figures)
    if options.draw:
        save_figure(drawn(figures), options.draw)


def add_datasets(parser: argparse.ArgumentParser) -> None:
    """Add the option of the data sets whose sentences the answers are made of."""
    names = ["squad-sent", "wikiqa", "insuranceqa"]
    about = "where sentences come from; sample is bundled"
    parser.add_argument("--datasets", nargs="+", default=names, help=about)


def make_texts(
    folder: Path, datasets: list[str], n_answers: int, n_questions: int = 200, length: int = 20
) -> None:
    """Write answers made of halves of sentences, the same ones every time, and real questions."""
    rng = np.random.default_rng(0)
    splits = [load_dataset(name) for name in datasets]
    sentences: dict[str, None] = {}
    real: list[str] = []
    for data in splits:
        for part in (data.train, data.dev):
            sentences |= dict.fromkeys(part["candidate"].unique())
        real += data.dev["question"].unique().tolist()
    half = max(length // 2, 1)
    words = [each for each in map(str.split, sentences) if len(each) >= half]
    texts: dict[str, None] = {}
    while len(texts) < n_answers:
        before = len(texts)
        for first, second in rng.integers(len(words), size=(n_answers, 2)):
            texts[" ".join(words[first][:half] + words[second][-half:])] = None
        if len(texts) - before < n_answers // 100:
            raise UserError(f"{' '.join(datasets)}: too few sentences for {n_answers:,} answers.")
    pd.DataFrame({"answer": list(texts)[:n_answers]}).to_parquet(folder / "answers.parquet")
    drawn = rng.choice(len(real), min(n_questions, len(real)), replace=False)
    (folder / "questions.json").write_text(json.dumps([real[i] for i in drawn]))


def measure_index(folder: Path, preset: str) -> dict[str, Any]:
    """Build the index as a user does, and search it one question at a time."""
    every = json.loads((folder / "questions.json").read_text())
    warm, questions = every[: len(every) // 2], every[len(every) // 2 :]
    start = time.perf_counter()
    ranker = Ranker.from_preset(preset)
    index = AnswerIndex.build(ranker, folder / "answers.parquet", folder / "index")
    build_seconds, build_peak = time.perf_counter() - start, peak_memory()
    texts = pd.read_parquet(folder / "answers.parquet")["answer"].head(20_000).tolist()
    encoding = seconds(partial(ranker.encode_document, texts))
    encode = timed(lambda text: ranker.encode_query([text]), questions)
    searches = {}
    for stage in ("nearest", "bm25", "both"):
        search = partial(index.search, k=K, first_stage=stage)
        for text in warm:
            search(text)
        searches[stage] = timed(search, questions)
    for name, other in rerankers().items():
        search = partial(index.search, k=K, first_stage="nearest", rerank=other)
        searches[f"nearest, then {name}"] = timed(search, questions[:30])
    return {
        "build_seconds": build_seconds,
        "build_peak_bytes": build_peak * 2**20,
        "texts_encoded_per_second": len(texts) / encoding,
        "one_question_encoded": encode,
        "bytes_on_disk": bytes_of_kinds(folder / "index"),
        "searches": searches,
    }


def bytes_of_kinds(folder: Path) -> dict[str, int]:
    """Sum up the sizes of an index' files of each kind."""
    sizes: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            in_segment = path.parent.parent.name == "segments"
            name = path.stem if in_segment else path.relative_to(folder).parts[0]
            kind = name.partition("-")[0]
            sizes[kind] = sizes.get(kind, 0) + path.stat().st_size
    return sizes


def rerankers() -> dict[str, Ranker]:
    """Cosinet's preset, and CTRN and AP-CNN of the papers' sizes with their first weights."""
    trained = Ranker.from_preset("cosinet_squad")
    vectors = load_word_vectors(["glove-6b-50d"], trained.vocabulary)
    rankers = {"Cosinet": trained}
    for name in ("ctrn", "ap-cnn"):
        model = CATALOGUE[name].build(vectors.matrix)
        ranker = Ranker(model, trained.vocabulary, vectors=("glove-6b-50d",))
        rankers[CATALOGUE[name].title] = ranker
    return rankers


def timed(search: Callable[[str], Any], questions: list[str]) -> dict[str, float]:
    """Time one question after the other."""
    return milliseconds([seconds(partial(search, text)) for text in questions])


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


def measure_points(folder: Path, preset: str, norms: tuple[float, float] | None) -> dict[str, Any]:
    """Compare the search for the nearest points with exact search."""
    import faiss

    index = AnswerIndex.open(folder / "index")
    ranker = Ranker.from_preset(preset)
    texts = json.loads((folder / "questions.json").read_text())
    questions = with_norms(ranker.encode_query(texts), norms, 1)
    blocks = []
    for number, (name, _) in enumerate(index.manifest.segments, start=2):
        block = np.load(folder / "index" / "segments" / name / "points.npy")
        blocks.append(with_norms(block, norms, number))
    points = Points(np.concatenate(blocks))
    del blocks

    def measured(search: NearestPoints, truth: np.ndarray) -> dict[str, float]:
        def rows_of(point: np.ndarray) -> np.ndarray:
            ((rows, _),) = search.nearest(point[None], K, ranker.score_points)
            return rows

        return found(rows_of, questions, truth)

    truth = exact(points, questions)
    figures: dict[str, Any] = {
        "flat_ms": flat_milliseconds(points, questions[:50]),
        "threads": faiss.omp_get_max_threads(),
    }
    first = Points(points.points(slice(0, FIRST)))
    of_first = measured(in_use(folder, first), exact(first, questions))
    figures["first"] = {"points": len(first), **of_first}
    figures |= swept(folder, points, partial(measured, truth=truth))
    for row in (figures["chosen"], *figures["sweep"]):
        row["speed_against_flat"] = figures["flat_ms"] / row["median_ms"]
    return figures


def flat_milliseconds(points: Points, questions: np.ndarray) -> float:
    """Time faiss' exact search on the lifted points, one question at a time: the median."""
    import faiss

    flat = faiss.IndexFlatIP(points.dimension + 1)
    for block in points.blocks():
        flat.add(lift(block))
    times = []
    for vector in asked(questions, "hyperbolic"):
        times.append(seconds(partial(flat.search, vector[None], K)))
    return milliseconds(times)["median_ms"]


def in_use(folder: Path, points: Points) -> NearestPoints:
    """Quantise points, and search them as an index does."""
    quantiser = quantised.train_quantiser(points, "hyperbolic")
    codes = (quantised.quantise((quantiser, "hyperbolic"), block) for block in points.blocks())
    quantised.write_quantised(folder, quantiser, codes)
    read = quantised.QuantisedPoints(folder, len(points), "hyperbolic")
    return NearestPoints(points, "hyperbolic", read, len(points))


def swept(folder: Path, points: Points, measured: Callable[[NearestPoints], dict]) -> dict[str, Any]:
    """Measure the search in quantised points under all settings; `chosen` are those in use."""
    search = in_use(folder, points)
    figures: dict[str, Any] = {"chosen": measured(search), "sweep": []}
    own = quantised._CHOSEN, quantised._SCANNED, quantised._PROBED_SHARE
    quantised._SCANNED = 0
    for compared, share in SETTINGS:
        quantised._CHOSEN, quantised._PROBED_SHARE = compared, share
        figures["sweep"].append({"compared": compared, "share_of_lists": 1 / share, **measured(search)})
    quantised._CHOSEN, quantised._SCANNED, quantised._PROBED_SHARE = own
    return figures


def found(
    rows_of: Callable[[np.ndarray], np.ndarray], questions: np.ndarray, truth: np.ndarray
) -> dict[str, float]:
    """Measure recall@10, and the milliseconds from a question's point to its rows."""
    hits, times = 0, []
    for question, best in zip(questions, truth, strict=True):
        start = time.perf_counter()
        rows = rows_of(question)
        times.append(time.perf_counter() - start)
        hits += len(set(rows.tolist()) & set(best.tolist()))
    return {"recall_at_10": hits / truth.size, **milliseconds(times)}


def with_norms(points: np.ndarray, norms: tuple[float, float] | None, seed: int) -> np.ndarray:
    """Give points other norms, drawn uniformly; None keeps their own."""
    if norms is None:
        return points
    drawn = np.random.default_rng(seed).uniform(*norms, (len(points), 1))
    return (points * (drawn / np.linalg.norm(points, axis=1, keepdims=True))).astype(np.float32)


def exact(points: Points, questions: np.ndarray) -> np.ndarray:
    """Find the nearest points by the distance in float64, (questions, 10)."""
    best_rows, best = np.empty((len(questions), 0), np.int64), np.empty((len(questions), 0))
    questions, start = questions.astype(float), 0
    for block in points.blocks():
        block = block.astype(float)
        inner, outer = np.square(block).sum(axis=1), np.square(questions).sum(axis=1)[:, None]
        apart = outer + inner - 2 * questions @ block.T
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
        "bytes_on_disk": {kind: int(size * times) for kind, size in figures["bytes_on_disk"].items()},
    }


def report(figures: dict[str, Any]) -> None:
    """Print the main figures."""
    rate, memory = figures["texts_encoded_per_second"], figures["build_peak_bytes"] / 2**30
    print(f"built in {figures['build_seconds']:.0f} s, {memory:.1f} GiB; {rate:,.0f} texts encoded a second")
    rows = [[name, *row.values()] for name, row in figures["searches"].items()]
    print_table(["search", "median ms", "p95 ms", "p99 ms"], rows)
    rows = []
    for name, part in figures["of_points"].items():
        used, first = part["chosen"], part["first"]
        rows.append([name, used["recall_at_10"], used["speed_against_flat"], first["recall_at_10"]])
    print_table(["points", "recall@10", "FlatIP / ours", "recall@10 of the first"], rows)


def drawn(figures: dict[str, Any]) -> Any:
    """Draw recall against speed."""
    picture, (axes,) = new_figure(1, 6.4, 3.6)
    for (name, part), colour in zip(figures["of_points"].items(), (BLUE, ORANGE), strict=True):
        rows = sorted(part["sweep"], key=lambda row: row["speed_against_flat"])
        speeds = [row["speed_against_flat"] for row in rows]
        recalls = [row["recall_at_10"] for row in rows]
        axes.plot(speeds, recalls, "o-", color=colour, label=name, markersize=4, linewidth=1.2)
        in_use = part["chosen"]["speed_against_flat"], part["chosen"]["recall_at_10"]
        axes.plot(*in_use, "o", color=colour, markersize=10, fillstyle="none")
    axes.axhline(0.99, color="#777777", linestyle=":", linewidth=1)
    axes.set(xlabel="times as fast as exact search (FlatIP)", ylabel="recall@10")
    axes.set_title(f"{figures['points']:,} answers; the rings are the settings in use", fontsize="medium")
    axes.legend(frameon=False, fontsize="small")
    return picture


if __name__ == "__main__":
    run_command(main)
