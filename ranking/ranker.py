"""A trained ranker in use: load it once, rank many; and what a model with attention looks at."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import numpy as np
import pandas as pd

from answer_ranking.base.command import import_tensorflow, printable
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_path, atomic_write, read_content
from answer_ranking.data_prep import Tokenizer, Vocabulary, encode_split
from answer_ranking.data_prep.overlap_features import overlap_features
from answer_ranking.data_prep.tables import check_table

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure

_COLUMNS = ["question_id", "question", "rank", "score", "candidate_id", "candidate"]
_VOCABULARY_HASH = "vocabulary.sha256"
"""The part of a model's file that holds the SHA-256 of the `vocabulary.json` with which it was saved."""
_LONGEST_CONFIG = 1_000_000  # bytes; a paper's model has some ten thousand


@dataclass(frozen=True)
class Explanation:
    """The words of a question and an answer, and the attention to each (Attentive Pooling, Fig. 5, 6).

    The words are those of the model's tokenizer; the weights of a text are float32 `(words,)` of sum 1.

    Example:
        >>> one = Explanation(["who", "?"], np.array([0.75, 0.25]), ["ann", "."], np.array([0.5, 0.5]))
        >>> one.strongest(1)
        {'question': [('who', 0.75)], 'answer': [('ann', 0.5)]}
    """

    question: list[str]
    question_weights: np.ndarray
    answer: list[str]
    answer_weights: np.ndarray

    def strongest(self, number: int = 8) -> dict[str, list[tuple[str, float]]]:
        """Give the words with the largest weights of both texts, the largest first."""
        return {
            side: [(words[i], float(weights[i])) for i in np.argsort(-weights, kind="stable")[:number]]
            for side, words, weights in (
                ("question", self.question, self.question_weights),
                ("answer", self.answer, self.answer_weights),
            )
        }

    def figure(self, title: str = "") -> "Figure":
        """Draw every word on a ground as strong as its weight; many scripts need `html` instead."""
        from answer_ranking.evaluation.attention_figures import attention_heat_map

        return attention_heat_map(*self._texts(), title=title)

    def html(self, title: str = "") -> str:
        """Write the same as a page that shows a word's weight when it is pointed at."""
        from answer_ranking.evaluation.attention_figures import attention_html

        return attention_html(*self._texts(), title=title)

    def _texts(self) -> tuple:
        return self.question, self.question_weights, self.answer, self.answer_weights


class Ranker:
    """A trained model with its vocabulary: ranks plain text.

    A list-wise model (Cosinet's) sees the answers to a question in the order in which they are given: give
    sentences of one text in the text's order. Words outside the vocabulary are all the same to a model.

    Args:
        model: a Keras model with the inputs `question` and `answer` (pairs) or `answers` (lists), and
            `features` if it was trained with the word-overlap features.
        vocabulary: the words whose vectors the model has.
        lowercase: whether words are put into lower case. Default True.
        mask_numbers: whether numbers are replaced by `<num>`. Default False.
        idf: float `(words,)`, the inverse document frequencies of the training texts; needed by a model with
            the input `features`.
        name: what the model was trained on, for a reader of the folder.

    Raises:
        ValueError: the model's word vectors are not those of the vocabulary, or `idf` does not fit.

    Example:
        >>> from answer_ranking.models import hyperqa
        >>> vocabulary = Vocabulary(["who", "wrote", "ann", "."])
        >>> vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 8)).astype("float32")
        >>> ranker = Ranker(hyperqa(vectors, dimension=4), vocabulary)
        >>> ranker.rank("Who wrote it?", ["Ann.", "It rained."], top_k=1)["rank"].tolist()
        [1]
    """

    def __init__(
        self,
        model: "keras.Model",
        vocabulary: Vocabulary,
        *,
        lowercase: bool = True,
        mask_numbers: bool = False,
        idf: np.ndarray | None = None,
        name: str = "",
    ):
        n_vectors, n_words = _n_vectors(model), len(vocabulary.words)
        if n_vectors is not None and n_vectors != n_words:
            raise ValueError(
                f"the vocabulary has {n_words} words, and the model beside it vectors of {n_vectors}."
            )
        if not (isinstance(lowercase, bool) and isinstance(mask_numbers, bool)):
            raise ValueError("`lowercase` and `mask_numbers` are true or false.")
        self.needs_features = any(each.name == "features" for each in model.inputs)
        if self.needs_features and (idf is None or idf.shape != (n_words,) or idf.dtype.kind != "f"):
            received = None if idf is None else f"{idf.dtype} {idf.shape}"
            raise ValueError(
                f"a model with the input `features` needs `idf`, a number for each of the {n_words} "
                f"words. Received: idf={received}"
            )
        self.model = model
        self.vocabulary = vocabulary
        self.idf = idf
        self.name = name
        self._tokens = {"lowercase": lowercase, "mask_numbers": mask_numbers}
        self.tokenizer = Tokenizer(pretokenised=False, **self._tokens)

    def rank(self, question: str, answers: Sequence[str], top_k: int | None = None) -> pd.DataFrame:
        """Rank answers to a question; a UserError names an empty text, or says that there are no answers.

        Returns the columns `text`, `score` (float) and `rank` (int, from 1) of all answers, or of the `top_k`
        best. The best is first; equal scores keep the given order.
        """
        table = pd.DataFrame({"question": question, "candidate": list(answers)}, dtype=object)
        table = check_table(table, "the texts", unit="row", labelled=False)
        scores = self._scores(table)
        order = np.argsort(-scores, kind="stable")[:top_k]
        texts = table["candidate"].to_numpy(object)[order]
        return pd.DataFrame(
            {"text": texts, "score": scores[order].astype(float), "rank": range(1, len(order) + 1)}
        )

    def rank_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rank the candidates of every question of a table, such as `load_table(path, labelled=False)` gives.

        Returns the columns `question_id`, `question`, `rank`, `score`, `candidate_id`, `candidate`: the
        questions in their order, the candidates of each the best first; equal scores keep their order. A
        UserError names a column that is missing, or an empty text.
        """
        table = check_table(table, "the table", unit="row", labelled=False)
        scores = self._scores(table)
        questions = pd.factorize(table["question_id"].to_numpy(object))[0]
        order = np.lexsort((-scores, questions))
        ranked = table.iloc[order].assign(score=scores[order].astype(float))
        ranked["rank"] = ranked.groupby("question_id", sort=False).cumcount() + 1
        return ranked[_COLUMNS].reset_index(drop=True)

    def score(self, pairs: Iterable[tuple[str, str]]) -> np.ndarray:
        """Score pairs of a question and an answer, in any order; a UserError names an empty text.

        For a list-wise model the pairs of one question are a list. Returns float32, one score per pair.
        """
        table = pd.DataFrame(list(pairs), columns=["question", "candidate"], dtype=object)
        table["candidate_id"] = range(len(table))
        table = check_table(table, "the pairs", unit="row", labelled=False)
        scores = np.empty(len(table), np.float32)
        scores[table["candidate_id"].to_numpy(int)] = self._scores(table)
        return scores

    def explain(self, question: str, answer: str) -> Explanation:
        """Compute what AP-CNN or AP-BiLSTM attends to in a pair (Attentive Pooling, Eq. 13 to 16).

        A UserError says that the model has no attention, or that a text has no words.
        """
        from answer_ranking.models.attentive_pooling import attention_weights

        words = self.tokenizer([question, answer])
        if not all(words):
            raise UserError("the question and the answer need at least one word.")
        try:
            weights = attention_weights(self.model, *(self.vocabulary.encode(text)[None] for text in words))
        except ValueError as error:
            raise UserError("the model has no attention: AP-CNN and AP-BiLSTM have it.") from error
        return Explanation(words[0], weights[0][0], words[1], weights[1][0])

    def save(self, folder: str | Path) -> None:
        """Write the model, its vocabulary and its way of making tokens into a folder, which is made."""
        folder = Path(folder)
        facts = {"words": self.vocabulary.words[2:], **self._tokens, "name": self.name}
        if self.idf is not None:
            facts["idf"] = self.idf.tolist()
        content = json.dumps(facts, ensure_ascii=False).encode()
        with atomic_path(folder / "ranker.keras") as temporary:
            self.model.save(temporary)
            with ZipFile(temporary, "a") as archive:
                archive.writestr(_VOCABULARY_HASH, hashlib.sha256(content).hexdigest())
        with atomic_write(folder / "vocabulary.json", "wb") as file:
            file.write(content)

    @classmethod
    def load(cls, folder: str | Path) -> "Ranker":
        """Read what `save` wrote; a UserError names a file that is missing, damaged, or of another model."""
        words_path, model_path = Path(folder) / "vocabulary.json", Path(folder) / "ranker.keras"
        for path in (words_path, model_path):
            if not path.is_file():
                raise UserError(f"cannot read {path}. MODEL must be the model/ folder that a training left.")
        with _reading(words_path):
            content = read_content(words_path)
            facts = json.loads(content)
            vocabulary = Vocabulary(facts.pop("words"))
            if not all(isinstance(word, str) for word in vocabulary.index):
                raise TypeError("a word is no text")
            idf = facts.pop("idf", None)
        with _reading(model_path):
            model = _load_model(model_path, hashlib.sha256(content).hexdigest())
        with _reading(Path(folder)):
            return cls(model, vocabulary, idf=None if idf is None else np.array(idf, np.float32), **facts)

    def _scores(self, table: pd.DataFrame) -> np.ndarray:
        # Here, since it takes seconds: what is wrong with the texts is said before.
        from answer_ranking.training import score

        split = encode_split(table.assign(label=0), self.tokenizer, self.vocabulary)
        if self.needs_features and self.idf is not None:
            split = replace(split, features=overlap_features(split, self.vocabulary, self.idf))
        return score(self.model, split)


def _n_vectors(model: "keras.Model") -> int | None:
    """Count the words of which a model has vectors; None where it has no such layer."""
    for layer in model.layers:
        if layer.name == "word_vectors":
            return layer.input_dim
        if hasattr(layer, "layers") and (found := _n_vectors(layer)) is not None:
            return found
    return None


def _load_model(path: Path, vocabulary_hash: str) -> "keras.Model":
    """Load a model that was saved with a vocabulary; a ValueError says that it has another, or is no model.

    Its weights lie in its file uncompressed, so that a file cannot ask for much more memory than its size.
    """
    import_tensorflow()
    import h5py
    import keras
    import tensorflow as tf

    # Both register the classes that the file names.
    import answer_ranking.layers
    import answer_ranking.models  # noqa: F401

    size = path.stat().st_size
    with ZipFile(path) as archive:
        members = {member.filename: member.file_size for member in archive.infolist()}
        if sum(members.values()) > size or members["config.json"] > _LONGEST_CONFIG:
            raise ValueError("its parts are larger than a model's")
        if archive.read(_VOCABULARY_HASH).decode() != vocabulary_hash:
            raise ValueError("the vocabulary beside it is not its own")
        config = json.loads(archive.read("config.json"))
        stored: list[int] = []
        with archive.open("model.weights.h5") as part, h5py.File(part) as weights:
            weights.visititems(lambda name, item: stored.append(getattr(item, "nbytes", 0)))
    # Built in a graph that never runs, it takes no memory.
    with tf.Graph().as_default(), keras.StatelessScope():
        n_weights = keras.saving.deserialize_keras_object(config).count_params()
    if max(sum(stored), 4 * n_weights) > size:
        raise ValueError("its weights are larger than the file")
    model = keras.models.load_model(path, compile=False)
    if not all(np.isfinite(weight).all() for weight in model.get_weights()):
        raise ValueError("a weight is not finite")
    return model


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    # A damaged file makes Keras, HDF5 and TensorFlow raise almost anything.
    except Exception as error:
        what = printable(" ".join(str(error).split()))
        raise UserError(f"{path} cannot be read ({what:.300}). Train the model again.") from error
