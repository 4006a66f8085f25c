"""Rank candidate answers with a trained ranker.

    python reproduce/rank.py MODEL "question" candidates.txt

MODEL is the folder `model/` that a training left behind; candidates.txt holds one candidate per line ("-"
reads them from standard input). Prints rank, score and candidate, best first. A ranker that was
trained on lists (Cosinet's) sees the order of the candidates: give sentences of one text in the text's order.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from data_prep.cli import run_command
from data_prep.errors import UserError

if TYPE_CHECKING:
    import keras
    import numpy as np

    from data_prep import EncodedTexts, Vocabulary


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
    from data_prep import EncodedTexts, Tokenizer

    vocabulary, options = read_vocabulary(folder)
    tokenizer = Tokenizer(pretokenised=False, **options)
    for text in (question, *candidates):
        if not text.strip():
            raise UserError("the question and every candidate need at least one word.")
    texts = EncodedTexts.from_tokens(tokenizer([question, *candidates]), vocabulary)
    ranker = load_ranker(folder)
    words = texts.padded()
    if ranker.inputs[1].name == "answers":
        # A list-wise ranker: the candidates are one list, in the order in which they are given.
        scores = ranker.predict([words[:1], words[None, 1:]], verbose=0)[0]
    else:
        inputs = [words[:1].repeat(len(candidates), axis=0), words[1:]]
        if len(ranker.inputs) > len(inputs):
            inputs.append(_features(folder, texts, vocabulary))
        scores = ranker.predict(inputs, verbose=0)
    order = sorted(range(len(candidates)), key=lambda i: -scores[i])
    return [(float(scores[i]), candidates[i]) for i in order]


def read_vocabulary(folder: Path) -> "tuple[Vocabulary, dict[str, bool]]":
    """Read the vocabulary of a model folder, and the options of its tokenizer."""
    import json

    from data_prep import Vocabulary

    path = folder / "vocabulary.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return Vocabulary(facts["words"]), {name: facts[name] for name in ("lowercase", "mask_numbers")}
    except OSError as error:
        raise UserError(
            f"cannot read {path} ({error.strerror}). MODEL must be the model/ folder that a training left."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}). Train the model again.") from error


def _features(folder: Path, texts: "EncodedTexts", vocabulary: "Vocabulary") -> "np.ndarray":
    """Compute the overlap features of the first text with each of the others."""
    from zipfile import BadZipFile

    import numpy as np

    from data_prep import EncodedSplit
    from data_prep.overlap_features import overlap_features

    path = folder / "idf.npy"
    try:
        idf = np.load(path, allow_pickle=False)
        if idf.shape != (len(vocabulary),) or idf.dtype.kind != "f":
            raise ValueError(f"{idf.dtype} {idf.shape} for {len(vocabulary)} words")
    # An archive, which `np.load` opens as well, has no shape.
    except (OSError, ValueError, EOFError, BadZipFile, AttributeError) as error:
        raise UserError(f"{path} cannot be read ({error}). Train the model again.") from error
    n = len(texts) - 1
    pairs = EncodedSplit(
        questions=texts.take([0]),
        candidates=texts.take(np.arange(1, n + 1)),
        candidate_offsets=np.array([0, n]),
        labels=np.zeros(n, np.int8),
        question_ids=["question"],
        candidate_ids=[str(i) for i in range(n)],
    )
    return overlap_features(pairs, vocabulary, idf)


def load_ranker(folder: Path) -> "keras.Model":
    """Load the ranker of a model folder."""
    import keras

    import layers  # noqa: F401  (registers the layers that the file names)

    path = folder / "ranker.keras"
    try:
        return keras.models.load_model(path, compile=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}). Train the model again.") from error


def main() -> None:
    """Read the command line and print the ranking."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder of a trained ranker")
    parser.add_argument("question", help="the question")
    parser.add_argument("candidates", help='file with one candidate per line, or "-"')
    parser.add_argument("--top", type=int, default=None, help="print only so many")
    options = parser.parse_args()
    try:
        text = (
            sys.stdin.read() if options.candidates == "-" else Path(options.candidates).read_text("utf-8-sig")
        )
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {options.candidates}: {error}. Give a UTF-8 text file.") from error
    candidates = [line.strip() for line in text.splitlines() if line.strip()]
    if not candidates:
        raise UserError(f"{options.candidates} holds no candidates: write one per line.")
    for place, (score, candidate) in enumerate(rank_texts(options.model, options.question, candidates), 1):
        if options.top is not None and place > options.top:
            break
        print(f"{place:3}  {score:9.4f}  {candidate}")


if __name__ == "__main__":
    run_command(main)
