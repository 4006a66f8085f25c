"""HyperQA's analyses of what a trained ranker has learnt (Figures 4 and 5, Tables 8 and 9 of the paper).

    python reproduce/hyperqa_analysis.py MODEL --dataset trecqa

MODEL is the folder `model/` that a training of HyperQA or CosineQA left behind. Leaves figures and numbers in
the output folder, and prints the tables. Figure 4 needs scikit-learn: pip install -e '.[analysis]'.

The paper says that questions have longer vectors than answers. The last table looks: effect sizes with 95 %
intervals by the bootstrap over questions, plain and at equal numbers of words. With --record they go to
reproduce/results/norms/ and the figures to docs/, from which `python -m evaluation.report` writes a part of
docs/hyperqa.md.
"""

import hashlib
import importlib.util
import json
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro

from data_prep.cli import run_command
from data_prep.errors import UserError

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure

    from data_prep import EncodedSplit, Vocabulary
    from evaluation.norm_analysis import NormComparison

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    "reproduce/hyperqa_analysis.py::analyse",
    "evaluation/norm_analysis.py",
    "training/packed_bag_of_words.py",
)
"""The code on which the comparison of norms depends, beside the model's and the data's."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The options."""

    model: Annotated[Path, tyro.conf.Positional]
    """Folder `model/` of a trained HyperQA or CosineQA."""
    dataset: str
    """Name of the data set, such as trecqa."""
    variant: str | None = None
    """Training set of the data set, where there are several; the split is the same."""
    split: Literal["dev", "test"] = "test"
    """Which split to look at."""
    levels: int = 6
    """Number of levels of the hierarchy: equal steps of the words' norms."""
    pairs: int = 3
    """How many questions with a correct answer to lay out by levels (Table 8)."""
    tsne_texts: int = 2000
    """At most so many texts in Figure 4, drawn at random; 0 leaves it out."""
    seed: int = 0
    """Seed of the draws, of t-SNE and of the bootstrap."""
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    output: Path = Path("outputs/hyperqa_analysis")
    """Folder for the figures and the numbers."""
    record: bool = False
    """Also keep the numbers in --results and the figures in --figures, for docs/hyperqa.md."""
    results: Path = ROOT / "reproduce" / "results" / "norms"
    """With --record: folder of the numbers."""
    figures: Path = ROOT / "docs"
    """With --record: folder of the figures."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        from training.option_ranges import check_range

        check_range(self, "levels", at_least=2)
        check_range(self, "pairs", at_least=0)
        check_range(self, "tsne_texts", at_least=0)
        if self.tsne_texts and importlib.util.find_spec("sklearn") is None:
            raise UserError(
                "Figure 4 needs scikit-learn: pip install -e '.[analysis]', or leave it out: --tsne-texts 0."
            )


def level_of(norms: np.ndarray, levels: int) -> np.ndarray:
    """Number the levels of norms from 1, equal steps from 0 to the largest norm.

    Example:
        >>> level_of(np.array([0.0, 1.0, 2.9, 3.0]), 3).tolist()
        [1, 2, 3, 3]
    """
    largest = max(float(norms.max(initial=0.0)), 1e-12)
    return np.minimum((norms / largest * levels).astype(int), levels - 1) + 1


def words_by_level(
    split: "EncodedSplit", vocabulary: "Vocabulary", norms: np.ndarray, levels: int, shown: int = 12
) -> list[tuple[str, int, list[str]]]:
    """Sort a split's words into levels (Table 9).

    Args:
        split: the texts.
        vocabulary: their words.
        norms: norm of every word of the vocabulary.
        levels: number of levels.
        shown: number of words to name, the most frequent of a level first.

    Returns:
        Per level its norms, its number of distinct words, and some of them.
    """
    counts = sum(
        np.bincount(texts.words, minlength=len(vocabulary)) for texts in (split.questions, split.candidates)
    )
    known = np.flatnonzero(counts[2:]) + 2
    level, step = level_of(norms[known], levels), norms[known].max() / levels
    rows = []
    for number in range(1, levels + 1):
        here = known[level == number]
        named = here[np.argsort(-counts[here], kind="stable")][:shown]
        words = [vocabulary.words[i] for i in named]
        rows.append((f"{(number - 1) * step:.2f}-{number * step:.2f}", len(here), words))
    return rows


def pair_by_level(texts: list[list[int]], vocabulary: "Vocabulary", level: np.ndarray) -> list[list[str]]:
    """Lay the words of texts out by their level, each text in its own order (Table 8).

    Args:
        texts: the word numbers of each text.
        vocabulary: the words.
        level: level of every word of the vocabulary.

    Returns:
        A row per level: its name, and the words of each text that lie there.
    """
    return [
        [f"H{number}", *(" ".join(vocabulary.words[i] for i in text if level[i] == number) for text in texts)]
        for number in range(1, int(level.max()) + 1)
    ]


def tsne_figure(questions: np.ndarray, answers: np.ndarray, config: Config, title: str) -> "Figure":
    """Draw the texts' vectors in three dimensions by t-SNE (Figure 4)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from sklearn.manifold import TSNE

    vectors = np.concatenate([questions, answers])
    is_question = np.arange(len(vectors)) < len(questions)
    if len(vectors) > config.tsne_texts:
        some = np.sort(np.random.default_rng(config.seed).permutation(len(vectors))[: config.tsne_texts])
        vectors, is_question = vectors[some], is_question[some]
    if len(vectors) < 10:
        raise UserError(
            f"t-SNE needs at least 10 texts, {len(vectors)} are here. Leave it out by --tsne-texts 0."
        )
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    places = TSNE(3, init="pca", perplexity=perplexity, random_state=config.seed).fit_transform(vectors)
    figure = Figure(figsize=(5.6, 5.0), dpi=160)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(projection="3d")
    for mask, name, colour in ((~is_question, "answers", "#d9731a"), (is_question, "questions", "#1f5fa8")):
        axes.scatter(*places[mask].T, s=6, color=colour, alpha=0.6, label=f"{name} ({mask.sum():,})")
    axes.set(xticklabels=[], yticklabels=[], zticklabels=[])
    axes.legend(frameon=False, fontsize="small")
    axes.set_title(title, fontsize="medium")
    return figure


def word_norm_figure(norms: np.ndarray, title: str) -> "Figure":
    """Draw the histogram of the words' norms (Figure 5 b)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.2), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.hist(norms, bins=40, color="#1f5fa8", alpha=0.8)
    axes.set(xlabel="Euclidean norm of the projected word", ylabel="distinct words", title=title)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def analyse(config: Config) -> None:
    """Make all figures and tables.

    Args:
        config: the options.

    Raises:
        UserError: the folder holds no HyperQA or CosineQA, or the data are missing.
    """
    from data_prep import Tokenizer, encode_split, load_dataset
    from data_prep.files import atomic_write
    from evaluation.figures import norm_histogram
    from evaluation.norm_analysis import compare_norms
    from evaluation.tables import text_table
    from reproduce.rank import load_ranker, read_vocabulary
    from training.packed_bag_of_words import PackedBagOfWords

    vocabulary, options = read_vocabulary(config.model)
    ranker = load_ranker(config.model)
    if ranker.name not in ("HyperQA", "CosineQA"):
        raise UserError(f"{config.model} holds a {ranker.name}. Give the folder of a HyperQA or CosineQA.")
    dataset = load_dataset(config.dataset, config.variant, config.data_home)
    tokenizer = Tokenizer(pretokenised=dataset.description.pretokenised, **options)
    split = encode_split(getattr(dataset, config.split), tokenizer, vocabulary)
    title = f"{ranker.name}, {dataset.description.title}, {config.split}"

    encoding = PackedBagOfWords(ranker.get_layer("encoder"))
    # The vectors before they are brought onto the ball, as in the paper.
    sums = encoding.sums(encoding.pack(split.questions, split.candidates.texts)).numpy()
    questions, distinct = sums[: split.n_questions], sums[split.n_questions :]
    question_norms, distinct_norms = (np.linalg.norm(each, axis=1) for each in (questions, distinct))
    answer_norms = distinct_norms[split.candidates.index]
    word_norms = np.linalg.norm(encoding.projection(encoding.word_vectors).numpy(), axis=1)
    word_norms[:2] = 0  # padding and the unknown word are no words
    occurring = np.unique(np.concatenate([split.questions.words, split.candidates.texts.words]))
    occurring = occurring[occurring > 1]

    figures = {
        "norms": norm_histogram(
            question_norms,
            answer_norms,
            max_norm=ranker.get_layer("encoder").get_layer("ball").max_norm,
            title=title,
        ),
        "word_norms": word_norm_figure(word_norms[occurring], title),
    }
    if config.tsne_texts:
        figures["tsne"] = tsne_figure(questions, distinct, config, title)
    for name, figure in figures.items():
        with atomic_write(config.output / f"{name}.png", "wb") as file:
            figure.savefig(file, format="png")

    rows = words_by_level(split, vocabulary, word_norms, config.levels)
    print(f"{title}: words by level (Table 9)\n")
    for norms, count, words in rows:
        print(f"  {norms}  {count:6,} words: {', '.join(words)}")

    within = np.zeros_like(word_norms)
    within[occurring] = word_norms[occurring]
    level = level_of(within, config.levels)
    starts = np.flatnonzero(split.n_correct > 0)[: config.pairs]
    for number in starts:
        correct = split.candidate_offsets[number] + np.argmax(
            split.labels[slice(*split.candidate_offsets[[number, number + 1]])]
        )
        texts = [
            split.questions.take([number]).words.tolist(),
            split.candidates.take([correct]).words.tolist(),
        ]
        print("\nA question and a correct answer by level (Table 8)\n")
        for name, question, answer in pair_by_level(texts, vocabulary, level):
            print(f"  {name}  {question or '–'}  |  {answer or '–'}")

    comparison = compare_norms(
        question_norms,
        split.questions.lengths,
        answer_norms,
        split.candidates.lengths,
        split.question_of_row,
        seed=config.seed,
    )
    effects = {
        "norm of a question / of its candidates": comparison.ratio,
        "standardised difference of log norms": comparison.standardised,
        "share of questions that are longer": comparison.share_longer,
        "norm grows as length to the power": comparison.length_exponent,
        "question / answer at equal length": comparison.ratio_at_equal_length,
    }
    print(
        f"\nQuestions against answers, {comparison.n_questions} questions (95 % intervals over questions)\n"
    )
    print(text_table(["", "effect"], [[name, str(effect)] for name, effect in effects.items()]))
    print(
        f"\n{comparison.lengths_in_common:.0%} of the questions have a length that is usual among answers "
        "(their middle 90 %):\nwhere that is little, the comparison at equal length is an extrapolation."
    )
    with atomic_write(config.output / "analysis.json") as file:
        json.dump(
            {
                "model": ranker.name,
                "dataset": config.dataset,
                "split": config.split,
                "norms": comparison.values(),
                "words_by_level": [{"norms": norms, "words": count} for norms, count, _ in rows],
            },
            file,
            indent=1,
        )
        file.write("\n")
    if config.record:
        record(config, ranker, title, comparison, figures)
    print(f"\nFigures and numbers: {config.output}")


def record(
    config: Config,
    ranker: "keras.Model",
    title: str,
    comparison: "NormComparison",
    figures: "dict[str, Figure]",
) -> None:
    """Keep a comparison and its figures for the page of HyperQA.

    Args:
        config: the options.
        ranker: the model.
        title: names model, data set and split.
        comparison: the effects.
        figures: by name; "norms" and "tsne" are kept.

    Raises:
        UserError: the model was trained on another data set, or a folder cannot be written to.
    """
    from data_prep.files import atomic_write
    from evaluation.records import package_versions
    from evaluation.source_fingerprints import source_fingerprints
    from reproduce.experiment import slug

    facts = json.loads((config.model / "vocabulary.json").read_text(encoding="utf-8"))
    if facts.get("dataset") != config.dataset:
        raise UserError(
            f"{config.model} was trained on {facts.get('dataset')}. What is recorded are texts of a model's "
            "own data set: leave out --record, or give another MODEL."
        )
    variant = config.variant or ""
    name = slug(config.dataset, variant, config.split, ranker.name)
    kept = {f"{part}-{name}.png": figures[part] for part in ("norms", "tsne") if part in figures}
    for file_name, figure in kept.items():
        with atomic_write(config.figures / file_name, "wb") as file:
            figure.savefig(file, format="png", dpi=100)
    # As one types it in the repository's folder, where a training has left the model.
    place = "/".join(["outputs", *config.model.resolve().parts[-3:]])
    words = ["python", "reproduce/hyperqa_analysis.py", place, "--record", "--dataset", config.dataset]
    words += ["--variant", variant] if variant else []
    words += ["--split", config.split] if config.split != "test" else []
    content = {
        "title": f"{title}, {variant}" if variant else title,
        "model": ranker.name,
        "dataset": config.dataset,
        "variant": variant,
        "split": config.split,
        "embeddings": facts["embeddings"],
        "ranker_sha256": hashlib.sha256((config.model / "ranker.keras").read_bytes()).hexdigest(),
        "norms": comparison.values(),
        "figures": list(kept),
        "command": shlex.join(words),
        "versions": package_versions(),
        "code": source_fingerprints(SOURCES, ROOT),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    with atomic_write(config.results / f"{name}.json") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    run_command(lambda: analyse(tyro.cli(Config, description=__doc__)))
