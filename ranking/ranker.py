"""A trained ranker in use: load it once, rank many; and what a model with attention looks at."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from answer_ranking.base.command import import_tensorflow
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_path, atomic_write
from answer_ranking.data_prep import Tokenizer, Vocabulary, encode_split
from answer_ranking.data_prep.overlap_features import overlap_features
from answer_ranking.data_prep.tables import check_table

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure

_COLUMNS = ["question_id", "question", "rank", "score", "candidate_id", "candidate"]


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
        n_words = _n_words(model)
        if n_words is not None and n_words != len(vocabulary):
            raise ValueError(
                f"the vocabulary has {len(vocabulary)} words, and the model beside it vectors of {n_words}."
            )
        self.needs_features = any(each.name == "features" for each in model.inputs)
        if self.needs_features and (idf is None or idf.shape != (len(vocabulary),) or idf.dtype.kind != "f"):
            received = None if idf is None else f"{idf.dtype} {idf.shape}"
            raise ValueError(
                f"a model with the input `features` needs `idf`, a number for each of the {len(vocabulary)} "
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
        with atomic_path(folder / "ranker.keras") as temporary:
            self.model.save(temporary)
        with atomic_write(folder / "vocabulary.json") as file:
            facts = {"words": self.vocabulary.words[2:], **self._tokens, "name": self.name}
            json.dump(facts, file, ensure_ascii=False)
        if self.idf is not None:
            with atomic_write(folder / "idf.npy", "wb") as file:
                np.save(file, self.idf)

    @classmethod
    def load(cls, folder: str | Path) -> "Ranker":
        """Read what `save` wrote; a UserError names a file that is missing, damaged, or of another model."""
        folder = Path(folder)
        path = folder / "vocabulary.json"
        if not path.is_file():
            raise UserError(f"cannot read {path}. MODEL must be the model/ folder that a training left.")
        with _reading(path):
            facts = json.loads(path.read_text(encoding="utf-8"))
            if not all(isinstance(word, str) for word in facts["words"]):
                raise TypeError("a word is no text")
            vocabulary = Vocabulary(facts["words"])
            options = {name: facts[name] for name in ("lowercase", "mask_numbers")}
        import_tensorflow()
        import keras

        import answer_ranking.layers
        import answer_ranking.models  # noqa: F401  (both register the classes that the file names)

        with _reading(folder / "ranker.keras"):
            model = keras.models.load_model(folder / "ranker.keras", compile=False)
        if any(each.name == "features" for each in model.inputs):
            with _reading(folder / "idf.npy"):
                options["idf"] = np.load(folder / "idf.npy", allow_pickle=False)
        try:
            return cls(model, vocabulary, name=facts.get("name", ""), **options)
        # An archive, which `np.load` opens as well, has no shape.
        except (ValueError, AttributeError) as error:
            raise UserError(f"the files of {folder} do not fit: {error} Train the model again.") from error

    def _scores(self, table: pd.DataFrame) -> np.ndarray:
        # Here, since it takes seconds: what is wrong with the texts is said before.
        from answer_ranking.training import score

        split = encode_split(table.assign(label=0), self.tokenizer, self.vocabulary)
        if self.needs_features and self.idf is not None:
            split = replace(split, features=overlap_features(split, self.vocabulary, self.idf))
        return score(self.model, split)


def _n_words(model: "keras.Model") -> int | None:
    """Count the words of which a model has vectors; None where it has no such layer."""
    for layer in model.layers:
        if layer.name == "word_vectors":
            return layer.input_dim
        if hasattr(layer, "layers") and (found := _n_words(layer)) is not None:
            return found
    return None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise UserError(f"{path} cannot be read ({error}). Train the model again.") from error
