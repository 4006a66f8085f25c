"""A ranker's model as an ONNX file, for programs without Python."""

import importlib.util
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_path, atomic_write, remove_leftovers
from answer_ranking.data_prep.word_vectors.word_pieces import WordPieces
from answer_ranking.ranking.contextual_vocabulary import ContextualVocabulary

if TYPE_CHECKING:
    import keras

    from answer_ranking.ranking.ranker import Ranker

_TOLERANCE = 1e-3  # of a score; HyperQA's distances near the edge of the ball have no more digits in float32


def export_onnx(ranker: "Ranker", path: str | Path, texts: Sequence[str] = ()) -> float:
    """Write a model as ONNX, with its words beside it, and check it against Keras with onnxruntime.

    The model takes the numbers of words, int32 `question (pairs, length)` and `answer (pairs, length)`, 0
    being padding, and gives float32 scores `(pairs,)`. The file `NAME.words.json` beside `NAME.onnx` lists
    the words whose numbers are 2, 3 and so on, and how a text is made into words; any other is number 1.

    Args:
        ranker: one that scores pairs without the word-overlap features.
        path: the file to write, ending in .onnx.
        texts: texts whose words are added to those of the training, where the ranker can look them up.

    Returns:
        The largest difference between the scores of onnxruntime and of Keras, over pairs of random words.

    Raises:
        UserError: a package is missing, the model reads lists or features, or the check fails.

    Example:
        >>> export_onnx(Ranker.load("model"), "model.onnx")  # doctest: +SKIP
    """
    path = Path(path)
    if path.suffix != ".onnx":
        raise UserError(f"the name must end in .onnx. Received: {path}")
    if isinstance(ranker.open_vocabulary, ContextualVocabulary):
        raise UserError(
            f"this ranker's words come from {ranker.open_vocabulary.source}, not from its folder. Export a "
            "ranker of word vectors."
        )
    if isinstance(ranker.tokenizer, WordPieces):
        raise UserError("this ranker reads word pieces, not words. Export a ranker of word vectors.")
    missing = [name for name in ("tf2onnx", "onnxruntime") if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"{' and '.join(missing)} missing: pip install 'answer-ranking[onnx]'.")
    ranker.open_vocabulary.encode(texts)
    model, added, words = ranker.model, ranker.open_vocabulary.added, ranker.open_vocabulary.words
    if len(added):
        from answer_ranking.ranking.keras_texts import with_word_vectors, word_layer

        vectors = np.asarray(word_layer(model).embeddings)
        model = with_word_vectors(model, np.concatenate([vectors, added]))
    inputs = [each.name for each in model.inputs]
    if inputs != ["question", "answer"]:
        raise UserError(f"models of pairs of texts can be exported. This one reads {', '.join(inputs)}.")
    words_file = path.with_suffix(".words.json")
    # Keras exports what has been called.
    model([np.ones((1, 1), np.int32)] * 2)
    with atomic_path(path) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.export(str(temporary), format="onnx", verbose=False)
        difference = _difference(temporary, model, len(words))
        if not difference <= _TOLERANCE:  # NaN, too
            raise UserError(f"the ONNX model's scores differ from Keras' by {difference:.2g}: not written.")
        # Killed here, an export leaves a model without words, and never one with those of another.
        words_file.unlink(missing_ok=True)
    with atomic_write(words_file) as file:
        json.dump({"words": words, **ranker.tokenizer.settings}, file, ensure_ascii=False)
    remove_leftovers(path.parent)
    return difference


def _difference(path: Path, model: "keras.Model", n_words: int) -> float:
    """Compare scores of pairs of several lengths."""
    import onnxruntime

    session, rng, differences = onnxruntime.InferenceSession(str(path)), np.random.default_rng(0), []
    for n, question_length, answer_length in ((1, 1, 1), (1, 9, 30), (5, 12, 4), (3, 17, 80)):
        pair = {}
        for name, length in (("question", question_length), ("answer", answer_length)):
            words = rng.integers(1, n_words + 2, (n, length), np.int32)
            lengths = np.append(length, rng.integers(1, length + 1, n - 1))
            pair[name] = np.where(np.arange(length) < lengths[:, None], words, 0).astype(np.int32)
        expected = model(list(pair.values())).numpy()
        differences.append(np.abs(session.run(None, pair)[0] - expected).max())
    return float(np.max(differences))
