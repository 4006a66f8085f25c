"""Rank candidate answers with a trained ranker.

    python reproduce/rank.py MODEL "question" candidates.txt
    python reproduce/rank.py MODEL --table questions.csv --output ranked.csv

MODEL is the folder `model/` that a training left behind; candidates.txt holds one candidate per line ("-"
reads them from standard input). Prints rank, score and candidate, best first. With --table many questions are
ranked at once: a table with the columns question and candidate, as those that rankers are trained on (CSV,
TSV, Parquet or JSON lines); the ranking comes out as CSV. A ranker that was trained on lists (Cosinet's) sees
the order of the candidates: give sentences of one text in the text's order. Words that were in none of the
tables of the training are all the same to a ranker.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from data_prep.cli import run_command
from data_prep.errors import UserError

if TYPE_CHECKING:
    import keras
    import numpy as np
    import pandas as pd

    from data_prep import EncodedSplit, Vocabulary


def rank_texts(folder: Path, question: str, candidates: list[str]) -> list[tuple[float, str]]:
    """Score candidate answers with a saved ranker.

    Args:
        folder: a folder that `reproduce.experiment.save_ranker` wrote.
        question: the question, as plain text.
        candidates: the candidate answers, as plain text; a list-wise ranker sees them as one list in this
            order, which should be the document's.

    Returns:
        Scores and candidates, the best first; equal scores keep the given order.

    Raises:
        UserError: the folder holds no ranker, or a text has no words.
    """
    import pandas as pd

    for text in (question, *candidates):
        if not text.strip():
            raise UserError("the question and every candidate need at least one word.")
    table = pd.DataFrame({"question": question, "candidate": candidates})
    table = table.assign(question_id="question", candidate_id=[str(i) for i in range(len(candidates))])
    ranked = rank_table(folder, table)
    return list(zip(ranked["score"].tolist(), ranked["candidate"].tolist(), strict=True))


def rank_table(folder: Path, table: "pd.DataFrame") -> "pd.DataFrame":
    """Rank the candidates of every question of a table with a saved ranker.

    Args:
        folder: a folder that `reproduce.experiment.save_ranker` wrote.
        table: a checked table, see `data_prep.tables.check_table`; it needs no labels.

    Returns:
        The columns `question_id`, `question`, `rank` (int, from 1), `score` (float), `candidate_id`,
        `candidate`: the questions in their order, the candidates of each the best first; equal scores keep
        their order.

    Raises:
        UserError: the folder holds no ranker.

    Example:
        >>> from data_prep import load_table
        >>> rank_table(Path("outputs/model"), load_table("new.csv", labelled=False))  # doctest: +SKIP
    """
    import numpy as np

    from data_prep import Tokenizer, encode_split

    vocabulary, options = read_vocabulary(folder)
    tokenizer = Tokenizer(pretokenised=False, **options)
    split = encode_split(table.assign(label=0), tokenizer, vocabulary)
    scores = _scores(folder, split, vocabulary)
    order = np.lexsort((-scores, split.question_of_row))
    ranked = table.iloc[order].assign(score=scores[order].astype(float))
    ranked["rank"] = ranked.groupby("question_id", sort=False).cumcount() + 1
    names = ["question_id", "question", "rank", "score", "candidate_id", "candidate"]
    return ranked[names].reset_index(drop=True)


def _scores(folder: Path, split: "EncodedSplit", vocabulary: "Vocabulary") -> "np.ndarray":
    """Score the rows of a split."""
    from dataclasses import replace

    from models.attentive_pooling import RANKERS
    from training.list_scorer import ListScorer
    from training.pair_scorer import PairScorer
    from training.shared_text_scorer import SharedTextScorer

    ranker = load_ranker(folder)
    n_words = _n_words(ranker)
    if n_words is not None and n_words != len(vocabulary):
        raise UserError(
            f"{folder / 'vocabulary.json'} has {len(vocabulary)} words, and the ranker beside it vectors of "
            f"{n_words}. Train the model again."
        )
    if ranker.inputs[1].name == "answers":
        # A list-wise ranker: the candidates of a question are one list, in the order in which they are given.
        return ListScorer(ranker, split)()
    if len(ranker.inputs) > 2:
        split = replace(split, features=_features(folder, split, vocabulary))
    # Attentive Pooling can compare the states of one question with those of many answers.
    return (SharedTextScorer if ranker.name in RANKERS else PairScorer)(ranker, split)()


def _n_words(ranker: "keras.Model") -> int | None:
    """Count the words of which a ranker has vectors; None where it has no such layer."""
    for layer in ranker.layers:
        if layer.name == "word_vectors":
            return layer.input_dim
        if hasattr(layer, "layers") and (found := _n_words(layer)) is not None:
            return found
    return None


def read_vocabulary(folder: Path) -> "tuple[Vocabulary, dict[str, bool]]":
    """Read the vocabulary of a model folder, and the options of its tokenizer."""
    import json

    from data_prep import Vocabulary

    path = folder / "vocabulary.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(word, str) for word in facts["words"]):
            raise TypeError("a word is no text")
        return Vocabulary(facts["words"]), {name: facts[name] for name in ("lowercase", "mask_numbers")}
    except OSError as error:
        raise UserError(
            f"cannot read {path} ({error.strerror}). MODEL must be the model/ folder that a training left."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}). Train the model again.") from error


def _features(folder: Path, split: "EncodedSplit", vocabulary: "Vocabulary") -> "np.ndarray":
    """Compute the overlap features of every row."""
    import numpy as np

    from data_prep.overlap_features import overlap_features

    path = folder / "idf.npy"
    try:
        idf = np.load(path, allow_pickle=False)
        if idf.shape != (len(vocabulary),) or idf.dtype.kind != "f":
            raise ValueError(f"{idf.dtype} {idf.shape} for {len(vocabulary)} words")
    # An archive, which `np.load` opens as well, has no shape.
    except (OSError, ValueError, EOFError, BadZipFile, AttributeError) as error:
        raise UserError(f"{path} cannot be read ({error}). Train the model again.") from error
    return overlap_features(split, vocabulary, idf)


def load_ranker(folder: Path) -> "keras.Model":
    """Load the ranker of a model folder."""
    import keras

    import layers  # noqa: F401  (registers the layers that the file names)

    path = folder / "ranker.keras"
    try:
        return keras.models.load_model(path, compile=False)
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise UserError(f"{path} cannot be read ({error}). Train the model again.") from error


def main() -> None:
    """Read the command line and print the ranking."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder of a trained ranker")
    parser.add_argument("question", nargs="?", help="the question")
    parser.add_argument("candidates", nargs="?", help='file with one candidate per line, or "-"')
    parser.add_argument("--table", metavar="FILE", help="table of questions and candidates to rank instead")
    parser.add_argument(
        "--output", metavar="FILE", help="with --table: the CSV file to write (default: print)"
    )
    parser.add_argument("--top", type=int, default=None, help="only the first so many of each question")
    options = parser.parse_args()
    if options.top is not None and options.top < 1:
        raise UserError(f"--top must be at least 1. Received: {options.top}")
    if options.table is None:
        if options.candidates is None:
            raise UserError("give a question and a file of candidates, or --table FILE. See --help.")
        if options.output is not None:
            raise UserError("--output goes with --table. Redirect the output instead.")
        _print_ranking(options.model, options.question, options.candidates, options.top)
    elif options.question is not None:
        raise UserError("give either a question and a file of candidates, or --table FILE.")
    else:
        _write_rankings(options.model, options.table, options.output, options.top)


def _print_ranking(model: Path, question: str, path: str, top: int | None) -> None:
    from data_prep.files import decode_text

    if any("\ud800" <= character <= "\udfff" for character in question):
        raise UserError("the question is not UTF-8 text. Set the terminal to UTF-8, or use --table FILE.")
    where = "standard input" if path == "-" else path
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {where}: {error}. Give a UTF-8 text file.") from error
    # A line feed alone ends a line, as in tables.
    candidates = [line.strip() for line in decode_text(content, where).split("\n") if line.strip()]
    if not candidates:
        raise UserError(f"{where} holds no candidates: write one per line.")
    for place, (score, candidate) in enumerate(rank_texts(model, question, candidates)[:top], 1):
        print(f"{place:3}  {score:9.4f}  {candidate}")


def _write_rankings(model: Path, path: str, output: str | None, top: int | None) -> None:
    from data_prep import load_table
    from data_prep.files import atomic_write

    ranked = rank_table(model, load_table(path, labelled=False))
    if top is not None:
        ranked = ranked[ranked["rank"] <= top]
    if output is None:
        ranked.to_csv(sys.stdout, index=False)
        return
    with atomic_write(output) as file:
        ranked.to_csv(file, index=False)
    print(f"{len(ranked):,} candidates of {ranked['question_id'].nunique():,} questions: {output}")


if __name__ == "__main__":
    run_command(main)
