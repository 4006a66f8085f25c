"""HyperQA's analyses of what a trained ranker has learnt (Figures 4 and 5, Tables 8 and 9 of the paper).

    python reproduce/hyperqa_analysis.py MODEL --dataset trecqa
    python reproduce/hyperqa_analysis.py --dataset trecqa --train cosineqa

MODEL is the folder `model/` that a training of HyperQA or CosineQA left behind. Without it one is trained
with one seed, as the data set's own script does it. Leaves figures and numbers in the output folder, and
prints the tables. Figure 4 needs scikit-learn: pip install -e '.[analysis]'.

The paper says that questions have longer vectors than answers. The last table looks: effect sizes with 95 %
intervals by the bootstrap over questions, plain and at equal numbers of words.

With --record, and without MODEL, the numbers and Table 9 go to reproduce/results/norms/ and the figures to
docs/, from which `python -m evaluation.report` writes a part of docs/hyperqa.md. Table 8 quotes the data
set's texts and is printed only.
"""

import importlib.util
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import tyro

from data_prep.cli import run_command
from data_prep.errors import UserError

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure

    from data_prep import EncodedSplit, Vocabulary

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    "reproduce/hyperqa_analysis.py::analyse",
    "reproduce/hyperqa_analysis.py::words_by_level",
    "reproduce/hyperqa_analysis.py::level_of",
    "evaluation/norm_analysis.py",
)
"""The code on which the numbers depend, beside that of the training."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The options."""

    model: Annotated[Path | None, tyro.conf.Positional] = None
    """Folder `model/` of a trained HyperQA or CosineQA; without it one is trained."""
    dataset: str
    """Name of the data set, such as trecqa."""
    variant: str | None = None
    """Training set of the data set, where there are several; the split is the same."""
    split: Literal["dev", "test"] = "test"
    """Which split to look at."""
    train: Literal["hyperqa", "cosineqa"] = "hyperqa"
    """Without MODEL: what to train."""
    embeddings: tuple[str, ...] | None = None
    """Without MODEL: word vectors, by name or path; several are concatenated. Unless given, the script's."""
    levels: int = 6
    """Number of levels of the hierarchy: equal steps of the words' norms."""
    pairs: int = 3
    """How many questions with a correct answer to lay out by levels (Table 8)."""
    tsne_texts: int = 2000
    """At most so many texts in Figure 4, drawn at random; 0 leaves it out."""
    seed: int = 0
    """Seed of the training, of the draws, of t-SNE and of the bootstrap."""
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""
    output: Path = Path("outputs/hyperqa_analysis")
    """Folder for the figures and the numbers."""
    record: bool = False
    """Without MODEL: keep the numbers in --results and the figures in --figures, for docs/hyperqa.md."""
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
        if self.model is not None and (self.record or self.embeddings or self.train != "hyperqa"):
            raise UserError(
                "--record, --train and --embeddings are for what this command trains itself. Leave them out, "
                "or MODEL."
            )
        if self.tsne_texts and importlib.util.find_spec("sklearn") is None:
            raise UserError(
                "Figure 4 needs scikit-learn: pip install -e '.[analysis]', or leave it out: --tsne-texts 0."
            )


@dataclass(frozen=True)
class Subject:
    """A trained ranker, the texts to look at, and, where it was trained here, the code that did it."""

    ranker: "keras.Model"
    vocabulary: "Vocabulary"
    split: "EncodedSplit"
    title: str
    embeddings: str = ""
    code: dict[str, str] | None = None


def load_subject(config: Config) -> Subject:
    """Load a ranker that was trained before, and encode the split with its vocabulary."""
    from data_prep import Tokenizer, encode_split, load_dataset
    from reproduce.rank import load_ranker, read_vocabulary

    vocabulary, options = read_vocabulary(config.model)
    ranker = load_ranker(config.model)
    if ranker.name not in ("HyperQA", "CosineQA"):
        raise UserError(f"{config.model} holds a {ranker.name}. Give the folder of a HyperQA or CosineQA.")
    dataset = load_dataset(config.dataset, config.variant, config.data_home)
    tokenizer = Tokenizer(pretokenised=dataset.description.pretokenised, **options)
    split = encode_split(getattr(dataset, config.split), tokenizer, vocabulary)
    return Subject(ranker, vocabulary, split, dataset.description.title)


def train_subject(config: Config) -> Subject:
    """Train a ranker with one seed, as the data set's own script does."""
    from reproduce import hyperqa_semevalcqa, hyperqa_trecqa, hyperqa_wikiqa
    from reproduce.experiment import config_fingerprints, load_experiment_data
    from reproduce.hyperqa_experiment import HyperQAConfig, train_hyperqa

    scripts = {"trecqa": hyperqa_trecqa, "wikiqa": hyperqa_wikiqa, "semevalcqa": hyperqa_semevalcqa}
    options = scripts[config.dataset].Config if config.dataset in scripts else HyperQAConfig
    names = ("variant", "embeddings", "data_home", "embeddings_home")
    given = {name: value for name in names if (value := getattr(config, name)) is not None}
    training = options(dataset=config.dataset, model=config.train, **given)
    data = load_experiment_data(training)
    # Taken before the training, during which somebody may change a file.
    code = config_fingerprints(training)
    run = train_hyperqa(training, data, config.seed, splits=())
    split = data.encoded.splits[config.split]
    return Subject(run.ranker, data.encoded.vocabulary, split, data.title, data.word_vectors.name, code)


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
        UserError: the folder holds no HyperQA or CosineQA, the data are missing, or a folder cannot be
            written to.
    """
    from data_prep.files import atomic_write, check_writable
    from evaluation.figures import norm_histogram
    from evaluation.norm_analysis import compare_norms
    from evaluation.tables import text_table
    from training.packed_bag_of_words import PackedBagOfWords

    for folder in (config.output, *((config.results, config.figures) if config.record else ())):
        check_writable(folder)
    subject = train_subject(config) if config.model is None else load_subject(config)
    ranker, vocabulary, split = subject.ranker, subject.vocabulary, subject.split
    title = f"{ranker.name}, {subject.title}, {config.split}"

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
        named = [{"norms": norms, "words": count, "most_frequent": words} for norms, count, words in rows]
        facts = {"title": title, "norms": comparison.values(), "words_by_level": named}
        record(config, subject, facts, figures)
    print(f"\nFigures and numbers: {config.output}")


def record(config: Config, subject: Subject, facts: dict[str, Any], figures: "dict[str, Figure]") -> None:
    """Keep what was found, and the figures, for the page of HyperQA.

    Args:
        config: the options.
        subject: what was trained.
        facts: what was found.
        figures: the figures by name.

    Raises:
        UserError: a folder cannot be written to.
    """
    from data_prep.files import atomic_write
    from evaluation.records import package_versions
    from evaluation.source_fingerprints import source_fingerprints
    from reproduce.experiment import clean_command, slug

    name = slug(config.dataset, config.variant or "", config.split, subject.ranker.name)
    for part, figure in figures.items():
        with atomic_write(config.figures / f"{part}-{name}.png", "wb") as file:
            figure.savefig(file, format="png", dpi=100)
    content = facts | {
        "model": subject.ranker.name,
        "dataset": config.dataset,
        "split": config.split,
        "embeddings": subject.embeddings,
        "seed": config.seed,
        "figures": [f"{part}-{name}.png" for part in figures],
        "command": clean_command(),
        "versions": package_versions(),
        "code": subject.code | source_fingerprints(SOURCES, ROOT),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    with atomic_write(config.results / f"{name}.json") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    run_command(lambda: analyse(tyro.cli(Config, description=__doc__)))
