"""Show what a trained AP-CNN or AP-BiLSTM attends to in a pair of texts (Attentive Pooling, Fig. 5, 6).

    python reproduce/attention.py MODEL "question" "answer"
    python reproduce/attention.py MODEL "question" "answer" --output attention.html

MODEL is the folder `model/` that a training left behind. Prints the words that each text is pooled by, the
strongest first, and draws every word on a ground as strong as its attention: a picture, or a page that says
each word's weight when it is pointed at, as --output ends in .png or .html. The picture's font lacks many
scripts, such as the Chinese: use .html for them.

In Python: attention_figure(folder, question, answer) and attention_page(folder, question, answer).
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from data_prep.cli import run_command
from data_prep.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


def attend(folder: Path, question: str, answer: str) -> "tuple[list[str], np.ndarray, list[str], np.ndarray]":
    """Compute the attention of a saved ranker to the words of a pair (Eq. 13 to 16).

    Args:
        folder: a folder that `reproduce.experiment.save_ranker` wrote.
        question: the question, as plain text.
        answer: the answer, as plain text.

    Returns:
        The question's words and their attention, float32 `(words,)` of sum 1; the answer's words and theirs.
        Words are those that the model's tokenizer makes of the texts, a word that the training did not know
        among them.

    Raises:
        UserError: the folder holds no ranker, or one without attention; or a text has no words.

    Example:
        >>> attend(Path("outputs/model"), "who wrote it ?", "Ann wrote it .")  # doctest: +SKIP
    """
    from data_prep import Tokenizer
    from reproduce.rank import load_ranker, read_vocabulary

    vocabulary, options = read_vocabulary(folder)
    words = Tokenizer(pretokenised=False, **options)([question, answer])
    if not all(words):
        raise UserError("the question and the answer need at least one word.")
    # Here, since it takes seconds: what is wrong with the arguments is said before.
    from models.attentive_pooling import attention_weights

    ranker = load_ranker(folder)
    try:
        of_question, of_answer, _ = attention_weights(ranker, *(vocabulary.encode(t)[None] for t in words))
    except ValueError as error:
        raise UserError(f"{folder} has a ranker without attention: AP-CNN and AP-BiLSTM have it.") from error
    return words[0], of_question[0], words[1], of_answer[0]


def attention_figure(folder: Path, question: str, answer: str) -> "Figure":
    """Draw the attention of a saved ranker to a pair of texts (Fig. 5, 6).

    Args:
        folder: as for `attend`, and so the texts.
        question: the question.
        answer: the answer.

    Returns:
        A matplotlib figure, see `evaluation.attention_figures.attention_heat_map`.

    Raises:
        UserError: as `attend`.

    Example:
        >>> attention_figure(Path("outputs/model"), "who ?", "Ann .").savefig("a.png")  # doctest: +SKIP
    """
    from evaluation.attention_figures import attention_heat_map

    return attention_heat_map(*attend(folder, question, answer))


def attention_page(folder: Path, question: str, answer: str) -> str:
    """Write the attention of a saved ranker to a pair of texts as an HTML page.

    Args:
        folder: as for `attend`, and so the texts.
        question: the question.
        answer: the answer.

    Returns:
        The page, see `evaluation.attention_figures.attention_html`.

    Raises:
        UserError: as `attend`.

    Example:
        >>> page = attention_page(Path("outputs/model"), "who ?", "Ann .")  # doctest: +SKIP
    """
    from evaluation.attention_figures import attention_html

    return attention_html(*attend(folder, question, answer))


def main() -> None:
    """Read the command line, print the strongest words and draw the pair."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder of a trained AP-CNN or AP-BiLSTM")
    parser.add_argument("question", help="the question")
    parser.add_argument("answer", help="a candidate answer")
    parser.add_argument(
        "--output", type=Path, default=Path("attention.png"), help="the file to write: .png or .html"
    )
    options = parser.parse_args()
    if options.output.suffix not in (".png", ".html"):
        raise UserError(f"--output must end in .png or .html. Received: {options.output}")
    pair = attend(options.model, options.question, options.answer)
    _draw(pair, options.output)
    for side, words, weights in (("question", *pair[:2]), ("answer", *pair[2:])):
        strongest = weights.argsort()[::-1][:8]
        print(f"{side:9}", ", ".join(f"{words[i]} {weights[i]:.3f}" for i in strongest))
    print(options.output)


def _draw(pair: tuple, path: Path) -> None:
    from data_prep.files import atomic_write
    from evaluation.attention_figures import attention_heat_map, attention_html
    from reproduce.experiment import save_figure

    if path.suffix == ".html":
        with atomic_write(path) as file:
            file.write(attention_html(*pair))
        return
    save_figure(attention_heat_map(*pair), path)


if __name__ == "__main__":
    run_command(main)
