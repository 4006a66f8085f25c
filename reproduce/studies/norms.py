"""What a trained HyperQA or CosineQA has learnt (Figures 4 and 5, Tables 8 and 9 of the HyperQA paper).

    python reproduce/studies/norms.py --dataset trecqa
    python reproduce/studies/norms.py --dataset trecqa --model cosineqa

Trains one seed with the options of the data set's own script. Leaves figures in the output folder, and prints
the tables.

The paper says that questions have longer vectors than answers, that common words are near the origin, and
that rare ones are far from it. The last tables look: effect sizes with 95 % intervals by the bootstrap over
questions, plain and at equal numbers of words; and rank correlations of a word's norm with its frequency, and
with the level that the paper prints for it.

With --record the numbers and Table 9 are kept, and the figures go to docs/. The pairs of Table 8 are texts of
the data set and are printed only.
"""

import sys
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable
from answer_ranking.base.ranges import check_range
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.data_prep.encoded_split import count_words
from answer_ranking.data_prep.word_vectors.contextual import encoder_among
from answer_ranking.engine import Seed, StudyRecord
from answer_ranking.evaluation.figures import BLUE, ORANGE, new_figure, norm_histogram, save_figure
from answer_ranking.evaluation.norm_comparison import Effect, NormComparison, compare_norms, rank_correlation
from answer_ranking.evaluation.tables import text_table
from answer_ranking.models.catalogue import of_paper
from answer_ranking.reports.studies.norms_page import EFFECTS
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import (
    Experiment,
    RecordOptions,
    figures_folder,
    given_option,
    parse,
    recorded_presets,
)
from answer_ranking.reproduce.experiments.run import facts, train

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure

    from answer_ranking.data_prep import EncodedSplit, Vocabulary

PRINTED_LEVELS = {
    "Table 8": (
        "are based the of in and",
        "sales today 14 billion 183 for was networking launched",
        "gross diageo famous nursing twitter founder jack dorsey",
        "is what contributed modern born match social",
        "burger king corp florence nightingale italy who",
    ),
    "Table 9": (
        "to and an on in of its the had or go",
        "be a was up put said but",
        "judging returning volunteered managing meant cited",
        "responsibility engineering trading prosecuting",
        "turkish autonomous cowboys warren seven what",
        "ebay magdalena spielberg watson nova",
    ),
}
"""The paper's words, from the origin outwards. A word at two levels (is, founder) stands at the first."""


@dataclass(frozen=True, kw_only=True)
class NormsOptions(RecordOptions):
    """What is looked at."""

    split: Literal["dev", "test"] = "test"
    """Which split to look at."""
    levels: int = 6
    """Number of levels of the hierarchy: equal steps of the words' norms."""
    pairs: int = 3
    """How many questions with a correct answer to lay out by levels (Table 8)."""
    tsne_texts: int = 2000
    """At most so many texts in Figure 4, drawn at random; 0 leaves it out."""
    seed: int = 0
    """Seed of the training, of the draws, of t-SNE and of the bootstrap."""
    output: Path = Path("outputs/norms")
    """Folder for the figures."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "levels", at_least=2)
        check_range(self, "pairs", "tsne_texts", at_least=0)
        check_range(self, "seed", at_least=0, at_most=1_000_000)  # as `RunOptions.first_seed`


def presets(dataset: str) -> list[Experiment]:
    """Return the experiments of the data set's own script, or those with the defaults."""
    find_description(dataset)  # refuses a name that is none
    data = DataOptions(dataset=dataset)
    usual = [Experiment.of(entry.name, data) for entry in of_paper("hyperqa")]
    return recorded_presets("hyperqa", dataset) or usual


def analyse(experiment: Experiment) -> dict[str, Any]:
    """Train, make all figures and tables, and keep them if wanted; return the numbers."""
    options = experiment.run
    path = options.record_file
    subject = {"dataset": experiment.data.dataset, "model": experiment.title}
    record = StudyRecord(path, subject, {}, extent_of=lambda _: {}, needed=("norms",))
    folders = [options.output, figures_folder(options.results)] if path else [options.output]
    for folder in folders:
        check_writable(folder)
    if encoder := encoder_among(experiment.data.embeddings, experiment.data.embeddings_home):
        raise UserError(f"{encoder} gives a word no vector of its own, so no norm: name other --embeddings.")
    data = experiment.data.load()
    model, _ = train(experiment, data, Seed(options.seed))
    split = data.splits[options.split]
    title = f"{experiment.title}, {data.title}, {options.split}"
    found = vectors_of(model, split)

    stem = path.stem if path else f"{experiment.data.dataset}-{experiment.name}"
    names = []
    for part, figure in draw(found, experiment, title).items():
        names.append(f"{part}-{stem}.png")
        for folder in folders:
            save_figure(figure, folder / names[-1])
    levels = words_by_level(split, data.vocabulary, found.word_norms, options.levels)
    print_levels(title, levels)
    print_pairs(split, data.vocabulary, level_of(found.word_norms, options.levels), options.pairs)
    comparison = compare_norms(
        found.question_norms,
        split.questions.lengths,
        found.answer_norms,
        split.candidates.lengths,
        split.question_of_row,
        seed=options.seed,
    )
    print_comparison(comparison)
    correlations = word_correlations(split, data.vocabulary, found, options.seed)
    print_correlations(correlations)
    print(f"\nFigures: {options.output}")
    numbers = {
        **facts(experiment, data),
        "title": title,
        "norms": asdict(comparison),
        "words_by_level": levels,
        "word_correlations": correlations,
        "split": options.split,
        "seed": options.seed,
    }
    record.write({**numbers, "figures": names})
    return numbers


@dataclass(frozen=True)
class Vectors:
    """The vectors that texts have before they come onto the ball, as in the paper, and the norms of words."""

    questions: np.ndarray
    answers: np.ndarray
    """Of the distinct answers."""
    answer_of_row: np.ndarray
    """Which of these is the answer of a row of the split."""
    words: np.ndarray
    """The numbers of the words that occur."""
    vocabulary_norms: np.ndarray
    """Of all words that the model knows, projected."""
    input_norms: np.ndarray
    """Of all words that the model knows, before the projection."""

    @cached_property
    def word_norms(self) -> np.ndarray:
        """The norms of the projected words that occur; 0 for the others."""
        norms = np.zeros_like(self.vocabulary_norms)
        norms[self.words] = self.vocabulary_norms[self.words]
        return norms

    @cached_property
    def question_norms(self) -> np.ndarray:
        """The norms of the questions."""
        return np.linalg.norm(self.questions, axis=1)

    @cached_property
    def answer_norms(self) -> np.ndarray:
        """The norms of the answers, by row."""
        return np.linalg.norm(self.answers, axis=1)[self.answer_of_row]


def vectors_of(model: "keras.Model", split: "EncodedSplit") -> Vectors:
    """Compute the vectors of a split's texts and words."""
    encoding, candidates = model.encoding, split.candidates
    sums = encoding.sums(encoding.pack(split.questions, candidates.texts)).numpy()
    projected = encoding.projection(encoding.word_vectors).numpy()
    words = np.unique(np.concatenate([split.questions.words, candidates.texts.words]))
    words = words[words > 1]  # padding and the unknown word are no words
    norms = [np.linalg.norm(vectors, axis=1) for vectors in (projected, np.asarray(encoding.word_vectors))]
    n = split.n_questions
    return Vectors(sums[:n], sums[n:], candidates.index, words, *norms)


def draw(found: Vectors, experiment: Experiment, title: str) -> "dict[str, Figure]":
    """Draw the figures, by the first part of their files' names."""
    options, edge = experiment.run, experiment.model.max_norm
    norms = found.question_norms, found.answer_norms
    figures = {
        "norms": norm_histogram(*norms, max_norm=edge, title=title),
        "word_norms": word_norm_figure(found.word_norms[found.words], title),
    }
    if options.tsne_texts:
        figures["tsne"] = tsne_figure(found, title, options.tsne_texts, options.seed)
    return figures


def level_of(norms: np.ndarray, levels: int) -> np.ndarray:
    """Number the levels of norms from 1, equal steps from 0 to the largest norm."""
    largest = max(float(norms.max(initial=0.0)), 1e-12)
    return np.minimum((norms / largest * levels).astype(int), levels - 1) + 1


def words_by_level(
    split: "EncodedSplit", vocabulary: "Vocabulary", norms: np.ndarray, levels: int
) -> list[dict[str, Any]]:
    """Sort a split's words into levels of their norm, a mapping per level with its commonest (Table 9)."""
    counts = count_words([split], len(vocabulary))
    known = np.flatnonzero(counts[2:]) + 2
    level, step = level_of(norms[known], levels), norms[known].max() / levels
    rows = []
    for number in range(1, levels + 1):
        here = known[level == number]
        named = here[np.argsort(-counts[here], kind="stable")][:12]
        words = [vocabulary.words[i] for i in named]
        limits = f"{(number - 1) * step:.2f}-{number * step:.2f}"
        rows.append({"norms": limits, "words": len(here), "most_frequent": words})
    return rows


def word_correlations(
    split: "EncodedSplit", vocabulary: "Vocabulary", found: Vectors, seed: int
) -> list[dict[str, Any]]:
    """Correlate words' norms with their frequency in the split, and with the paper's levels.

    The norms before the projection show what the word vectors brought along.
    """
    counts = count_words([split], len(vocabulary))
    compared = [("frequency", found.words, counts[found.words])]
    for table, levels in PRINTED_LEVELS.items():
        level_of_word = {word: level for level, words in enumerate(levels, 1) for word in words.split()}
        known = [word for word in level_of_word if word in vocabulary.index]
        numbers = np.array([vocabulary.index[word] for word in known], int)
        printed = np.array([level_of_word[word] for word in known], int)
        compared.append((f"level in {table}", numbers, printed))
    rows = []
    for name, words, values in compared:
        has_vector = found.input_norms[words] > 0  # without one, it has no norm of its own
        words, values = words[has_vector], values[has_vector]
        row = {"with": name, "words": len(words)}
        for place, norms in (("projected", found.vocabulary_norms), ("before", found.input_norms)):
            row[place] = asdict(rank_correlation(norms[words], values, seed=seed))
        rows.append(row)
    return rows


def tsne_figure(found: Vectors, title: str, texts: int, seed: int) -> "Figure":
    """Draw vectors of texts in three dimensions by t-SNE, at most `texts` of them (Figure 4)."""
    from matplotlib.figure import Figure
    from sklearn.manifold import TSNE

    vectors = np.concatenate([found.questions, found.answers])
    is_question = np.arange(len(vectors)) < len(found.questions)
    if len(vectors) > texts:
        some = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:texts])
        vectors, is_question = vectors[some], is_question[some]
    if len(vectors) < 10:
        raise UserError(
            f"t-SNE needs at least 10 texts. Received: {len(vectors)}. Leave it out by --tsne-texts 0."
        )
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    places = TSNE(3, init="pca", perplexity=perplexity, random_state=seed).fit_transform(vectors)
    figure = Figure(figsize=(5.6, 5.0), dpi=160)
    axes = figure.add_subplot(projection="3d")
    for mask, name, colour in ((~is_question, "answers", ORANGE), (is_question, "questions", BLUE)):
        label = f"{name} ({mask.sum():,})"
        axes.scatter(*places[mask].T, s=6, color=colour, alpha=0.6, label=label)
    axes.set(xticklabels=[], yticklabels=[], zticklabels=[])
    axes.legend(frameon=False, fontsize="small")
    axes.set_title(title, fontsize="medium")
    return figure


def word_norm_figure(norms: np.ndarray, title: str) -> "Figure":
    """Draw the histogram of the words' norms (Figure 5 b)."""
    figure, (axes,) = new_figure(1, 5.2, 3.2)
    axes.hist(norms, bins=40, color=BLUE, alpha=0.8)
    axes.set(xlabel="Euclidean norm of the projected word", ylabel="distinct words", title=title)
    return figure


def print_levels(title: str, levels: list[dict[str, Any]]) -> None:
    """Print the words by their level (Table 9)."""
    print(f"{title}: words by level (Table 9)\n")
    for row in levels:
        print(f"  {row['norms']}  {row['words']:6,} words: {', '.join(row['most_frequent'])}")


def print_comparison(comparison: NormComparison) -> None:
    """Print the effects with their intervals."""
    effects = [[words, str(getattr(comparison, name))] for name, words in EFFECTS.items()]
    n_questions, share = comparison.n_questions, comparison.lengths_in_common
    print(f"\nQuestions against answers, {n_questions} questions, with 95 % intervals\n")
    print(text_table(["", "effect"], effects))
    print(
        f"\n{share:.0%} of the questions have a length that is usual among answers (the middle 90 %):\n"
        "where that is little, the comparison at equal length is an extrapolation."
    )


def print_correlations(correlations: list[dict[str, Any]]) -> None:
    """Print the rank correlations of the words' norms."""
    rows = []
    for row in correlations:
        projected, before = Effect(**row["projected"]), Effect(**row["before"])
        rows.append([row["with"], f"{row['words']:,}", str(projected), str(before)])
    print("\nSpearman's correlation of a word's norm, with 95 % intervals\n")
    print(text_table(["with its", "words", "projected", "before the projection"], rows))


def print_pairs(split: "EncodedSplit", vocabulary: "Vocabulary", level: np.ndarray, pairs: int) -> None:
    """Print the first questions with a correct answer, the words of both by their level (Table 8)."""
    for number in np.flatnonzero(split.n_correct > 0)[:pairs]:
        start, end = split.candidate_offsets[[number, number + 1]]
        correct = start + np.argmax(split.labels[start:end])
        texts = [split.questions.take([number]).words, split.candidates.take([correct]).words]
        print("\nA question and a correct answer by level (Table 8)\n")
        for height in range(1, int(level.max()) + 1):
            sides = []
            for text in texts:
                words = [vocabulary.words[i] for i in text[level[text] == height]]
                sides.append(" ".join(words) or "–")
            print(f"  H{height}  {'  |  '.join(sides)}")


def main(args: list[str]) -> None:
    """Read the command line, and analyse."""
    dataset = given_option(args, "--dataset")
    if dataset is None and not {"-h", "--help"} & set(args):
        raise UserError("--dataset is missing, such as --dataset trecqa.")
    looked_at = [replace(preset, run=NormsOptions()) for preset in presets(dataset or "wikiqa")]
    analyse(parse(__doc__, looked_at, args))


if __name__ == "__main__":
    run_command(lambda: main(sys.argv[1:]))
