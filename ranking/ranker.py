"""A trained ranker in use: load it once, rank many."""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import read_content
from answer_ranking.data_prep import EncodedSplit, EncodedTexts, Tokenizer, Vocabulary
from answer_ranking.data_prep.encoded_split import chunks, encode_split_by
from answer_ranking.data_prep.overlap_features import inverse_document_frequencies, overlap_features
from answer_ranking.data_prep.tables import check_table
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.data_prep.word_vectors.word_pieces import WordPieces
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking import model_folder
from answer_ranking.ranking.contextual_vocabulary import ContextualVocabulary
from answer_ranking.ranking.disk import Disk
from answer_ranking.ranking.explanation import Explanation
from answer_ranking.ranking.numpy_hyperqa import NumpyHyperQA
from answer_ranking.ranking.open_vocabulary import OpenVocabulary, by_whole_path, check_text, find_moved

if TYPE_CHECKING:
    import keras

    from answer_ranking.engine import TrainingData
    from answer_ranking.ranking.keras_scorer import KerasScorer

_COLUMNS = ["question_id", "question", "rank", "score", "candidate_id", "candidate"]
_TEXTS_AT_ONCE = 8192
_TOKENS_AT_ONCE = 1_000_000
"""Of an encoder's tokens, whose vectors are many times larger than the texts: 0.8 GB of 384 numbers."""
_PAIRS_AT_ONCE = 2048


class Ranker:
    """A trained model with its vocabulary: ranks plain text.

    HyperQA and CosineQA rank by NumPy, without TensorFlow, with the weights that they had when the ranker
    was made; the other models by Keras. A list-wise model (Cosinet's) sees the answers to a question in the
    order in which they are given: give sentences of one text in the text's order.

    Where `vectors` names what the model's word vectors were read from, words that the vocabulary lacks are
    looked up there. A word that is not found either is unknown: in a question it may be read as a word of the
    vocabulary that is written nearly so, else it equals itself alone (`OpenVocabulary`). A ranker may be
    called from several threads; Keras models take turns.

    Args:
        model: a Keras model with the inputs `question` and `answer` (pairs) or `answers` (lists), and
            `features` if it was trained with the word-overlap features; or a `NumpyHyperQA`.
        vocabulary: the words whose vectors the model has.
        lowercase: whether words are put into lower case. Default True.
        mask_numbers: whether numbers are replaced by `<num>`. Default False.
        idf: float `(words,)`, the inverse document frequencies of the training texts; needed by a model with
            the input `features`.
        name: what the model was trained on, for a reader of the folder.
        kind: the model's name in `models.catalogue`, which says what explains its scores and whether it
            encodes texts apart; "" or a name of your own for a model that is not there. None for one that a
            function of `models` built.
        vectors: the sources of the model's word vectors, as `load_word_vectors` takes them with its defaults.
        embeddings_home: folder of their files; None for QA_EMBEDDINGS_HOME and the user's cache.
        encoder: SHA-256 of the weights of the encoder that `vectors` names, for a model of contextual words,
            which is no part of the saved ranker, or for one that was trained from it; "" for others.

    Raises:
        ValueError: the model's word vectors are not those of the vocabulary, or `idf` does not fit.

    Example:
        >>> from answer_ranking.models import hyperqa
        >>> vocabulary = Vocabulary(["who", "wrote", "ann", "."])
        >>> vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 8)).astype("float32")
        >>> ranker = Ranker(hyperqa(vectors, dimension=4), vocabulary)
        >>> ranker.rank("Who wrote it?", ["Ann.", "It rained."], k=1)["rank"].tolist()
        [1]
        >>> ranker.unknown_words("Who wrote it?"), ranker.encode_document(["Ann."]).shape
        (['it', '?'], (1, 4))
    """

    def __init__(
        self,
        model: "keras.Model | NumpyHyperQA",
        vocabulary: Vocabulary,
        *,
        lowercase: bool = True,
        mask_numbers: bool = False,
        idf: np.ndarray | None = None,
        name: str = "",
        kind: str | None = None,
        vectors: Sequence[str] = (),
        embeddings_home: str | Path | None = None,
        encoder: str = "",
    ):
        self._loading = threading.Lock()
        self._model: keras.Model | None = None
        self._scorer: NumpyHyperQA | KerasScorer
        if isinstance(model, NumpyHyperQA):
            self._scorer, kind = model, kind or ("cosineqa" if model.distance == "cosine" else "hyperqa")
        else:
            from answer_ranking.ranking.keras_scorer import kind_of, make_scorer

            kind = kind_of(model) if kind is None else kind
            self._model, self._scorer = model, make_scorer(model, CATALOGUE.get(kind))
        self.kind = kind
        self.entry = CATALOGUE.get(kind)
        n_vectors, n_words = self._scorer.n_words, len(vocabulary.words)
        if n_vectors is not None and n_vectors != n_words:
            raise ValueError(
                f"the vocabulary has {n_words} words, and the model beside it vectors of {n_vectors}."
            )
        _check_facts(lowercase, mask_numbers, kind, vectors, encoder)
        if self._scorer.needs_features:
            _check_idf(idf, n_words)
        self.vocabulary = vocabulary
        self.idf = idf
        self.name = name
        self.encoder = encoder
        self.vectors = tuple(find_moved(source, embeddings_home) for source in vectors)
        self._tokens = {"lowercase": lowercase, "mask_numbers": mask_numbers}
        self._reads_pieces = self.entry is not None and self.entry.reads == "pieces"
        self.tokenizer = self._make_tokenizer()
        # A trained layer's vectors are no file's; a word without its document frequency has no features.
        can_grow = self._scorer.is_frozen and not self._scorer.needs_features
        self.open_vocabulary = self._opened(self.vectors if can_grow else (), embeddings_home, encoder)
        self._stored: tuple[Path, bytes] | None = None

    def _make_tokenizer(self) -> Tokenizer | WordPieces:
        if self._reads_pieces:
            return WordPieces(self.vocabulary.known_words, self._tokens["lowercase"])
        return Tokenizer(pretokenised=False, **self._tokens)

    def _opened(
        self, sources: Sequence[str], embeddings_home: str | Path | None, encoder: str
    ) -> OpenVocabulary | ContextualVocabulary:
        """Make what reads texts: words also beyond the vocabulary, or an encoder's tokens."""
        if encoder and not self._reads_pieces:
            return ContextualVocabulary(self.vectors[0], encoder, embeddings_home)
        # In a sum of words a vector of characters is noise; where words are compared it tells equal ones.
        compares_words = self.entry is not None and not self.entry.encodes_apart
        return OpenVocabulary(
            self.vocabulary,
            self.tokenizer,
            sources,
            self._scorer.vectors_of,
            embeddings_home,
            hashes=bool(sources) and compares_words,
        )

    @classmethod
    def of_training(cls, model: "keras.Model", kind: str, data: "TrainingData", name: str) -> "Ranker":
        """Make the ranker of a model that was trained on `data`; `name` says on what, for a reader."""
        idf = None
        if data.train.features is not None:
            idf = inverse_document_frequencies(data.train, len(data.vocabulary))
        return cls(
            model,
            data.vocabulary,
            idf=idf,
            name=name,
            kind=kind,
            vectors=data.sources,
            embeddings_home=data.embeddings_home,
            encoder=data.word_vectors.encoder,
            **data.tokens,
        )

    @classmethod
    def of_encoder(cls, source: str = "minilm", embeddings_home: str | Path | None = None) -> "Ranker":
        """Make the ranker by the cosine of the mean vectors of two texts' tokens: nothing is trained.

        `source` is an encoder of contextual words, see docs/contextual.md; a UserError says that it is not
        there.
        """
        from answer_ranking.models import hyperqa
        from answer_ranking.models.encodings import ContextualWords

        encoder = ContextualEncoder(source, embeddings_home)
        model = hyperqa(ContextualWords(encoder.dimensions), None, similarity="cosine")
        return cls(
            model,
            Vocabulary([]),
            name=f"nothing, {encoder.name}",
            kind="cosineqa",
            vectors=[source],
            embeddings_home=embeddings_home,
            encoder=encoder.sha256,
        )

    @property
    def is_contextual(self) -> bool:
        """Whether it reads the tokens of an encoder, and not words."""
        return isinstance(self.open_vocabulary, ContextualVocabulary)

    def keeping_vectors(self) -> "Ranker":
        """Give the ranker as one that keeps tokens' vectors in the user's cache: no text is encoded twice.

        This one goes on without. A ranker of word vectors has none to keep.
        """
        if not isinstance(self.open_vocabulary, ContextualVocabulary):
            return self
        keeping = copy(self)
        keeping.open_vocabulary = copy(self.open_vocabulary)
        keeping.open_vocabulary.kept = True
        return keeping

    @property
    def model(self) -> "keras.Model":
        """The Keras model as it was trained; a loaded HyperQA's is read when it is first asked for."""
        with self._loading:
            if self._model is None:
                if self._stored is None:
                    raise UserError("this ranker was made without a Keras model. Load one from a folder.")
                self._model = model_folder.read_keras_model(*self._stored)
            return self._model

    def rank(self, question: str, answers: Sequence[str], k: int | None = None) -> pd.DataFrame:
        """Rank answers to a question; a UserError names an empty text, or says that there are no answers.

        Returns the columns `candidate`, `score` (float) and `rank` (int, from 1) of all answers, or of the
        `k` best. The best is first; equal scores keep the given order.
        """
        if isinstance(answers, str):
            raise UserError("the answers must be a list of texts, not one text.")
        if k is not None and k < 1:
            raise UserError(f"k must be at least 1. Received: {k}")
        texts = list(answers)
        table = pd.DataFrame({"question": [question] * len(texts), "candidate": texts}, dtype=object)
        table = check_table(table, "the texts", unit="row", labelled=False)
        scores = self._scores(table)
        order = np.argsort(-scores, kind="stable")[:k]
        ranked = table["candidate"].to_numpy(object)[order]
        return pd.DataFrame(
            {"candidate": ranked, "score": scores[order].astype(float), "rank": range(1, len(order) + 1)}
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

    def explain(self, question: str, answer: str, method: str = "own") -> Explanation:
        """Say what each word of a pair does to its score.

        "own" gives the model's own reason: HyperQA's and CosineQA's share of every word, the attention of
        AP-CNN and AP-BiLSTM, Cosinet's relatedness, aNMM's matches, CTRN's gates. "occlusion", for every
        ranker and for those without a reason of their own, scores the pair without each word. A UserError
        says that a text has no words, or both have more than 2,000.
        """
        from answer_ranking.ranking.explaining import explain

        encoded = self.open_vocabulary.encode([question, answer], n_questions=1)
        words = self.open_vocabulary.tokens([question, answer])
        reason = "occlusion" if self.entry is None else self.entry.reason
        if isinstance(self._scorer, NumpyHyperQA):
            found = explain(words, encoded, method, reason, self.score_encoded)
        else:
            with self._scorer.grown(encoded, self._added(encoded)) as model:
                found = explain(words, encoded, method, reason, self.score_encoded, model)
        unknown = [*self.unknown_words(question), *self.open_vocabulary.unknown(answer, is_question=False)]
        return replace(found, unknown=frozenset(unknown))

    def disk(self, question: str, answers: Sequence[str]) -> Disk:
        """Place answers around a question in the Poincaré disk (HyperQA) or on the circle (CosineQA)."""
        if not self.by_numpy:
            raise UserError("only the points of HyperQA and CosineQA lie in a ball.")
        points, asked = self.encode_document(answers), self.encode_query([question])[0]
        return Disk.of(asked, points, list(answers), by_angle=self._scorer.similarity == "cosine")

    def save(self, folder: str | Path) -> None:
        """Write the model, its vocabulary and its way of making tokens into a folder, which is made.

        A process that is killed while it saves leaves the model that was there, or the new one.
        """
        folder = Path(folder)
        facts = {"words": self.vocabulary.known_words, **self._tokens, "name": self.name, "kind": self.kind}
        if self.vectors:
            home = self.open_vocabulary.embeddings_home
            facts["vectors"] = [path for each in self.vectors for path in by_whole_path(each, home)]
        if self.encoder:
            facts["encoder"] = self.encoder
        if self.idf is not None:
            facts["idf"] = self.idf.tolist()
        content = json.dumps(facts, ensure_ascii=False).encode()
        # A model that was only read for NumPy is copied from its file, without Keras.
        model = self._stored[0] if self._stored and self._model is None else self.model
        model_folder.save(folder, model, content)

    @classmethod
    def from_preset(cls, name: str) -> "Ranker":
        """Load a ranker that comes with the package; a UserError lists the names.

        It was trained on SQuAD-sent, and knows the 400,000 words of GloVe 6B 50d, or reads an encoder's
        tokens, which must be there. Its card says how good it is on data that it never saw, beside BM25
        (docs/presets.md).

        Example:
            >>> ranker = Ranker.from_preset("hyperqa_squad")
            >>> answers = ["The train leaves at noon.", "Marie Curie discovered radium."]
            >>> ranker.rank("Who discovered radium?", answers)["candidate"][0]
            'Marie Curie discovered radium.'
        """
        return cls.load(model_folder.find_preset(name))

    @classmethod
    def load(cls, folder: str | Path, embeddings_home: str | Path | None = None) -> "Ranker":
        """Read what `save` wrote; a UserError names a file that is missing, damaged, or of another model.

        The name of a preset, see `from_preset`, or of an encoder, see `of_encoder`, does as well; a folder of
        that name goes first. Neither TensorFlow nor Keras is imported for HyperQA and CosineQA.
        """
        if model_folder.names_encoder(folder, embeddings_home):
            return cls.of_encoder(str(folder), embeddings_home)
        folder = model_folder.find_model(folder)
        words_path, model_path = model_folder.vocabulary_file(folder), folder / model_folder.MODEL
        with model_folder.reading(words_path):
            content = read_content(words_path)
            facts = json.loads(content)
            vocabulary = Vocabulary(facts.pop("words"))
            if not all(isinstance(word, str) for word in vocabulary.index):
                raise TypeError("a word is not a text")
            idf = facts.pop("idf", None)
        model, kind = model_folder.read_model(model_path, content, facts.pop("kind", None))
        with model_folder.reading(folder):
            idf = None if idf is None else np.array(idf, np.float32)
            ranker = cls(model, vocabulary, idf=idf, kind=kind, embeddings_home=embeddings_home, **facts)
        ranker._stored = model_path.resolve(), content
        return ranker

    def unknown_words(self, text: str) -> list[str]:
        """Give the distinct words of a question that the ranker does not know, in their order."""
        return self.open_vocabulary.unknown(text)

    def encode_query(self, texts: Sequence[str]) -> np.ndarray:
        """Encode questions, float32 `(n, d)`, for models that see a text apart from what it is compared with.

        These are HyperQA and CosineQA (points of the ball), QA-CNN and QA-BiLSTM; a UserError says that the
        model is another, or names an empty text. Both sides share their weights: beside `encode_document`,
        misspelt words are read as those for which they are meant.
        """
        return self._encode(texts, are_questions=True)

    def encode_document(self, texts: Sequence[str]) -> np.ndarray:
        """Encode answers, float32 `(n, d)`; see `encode_query`. For the scores of points: `score_points`."""
        return self._encode(texts)

    def encode_and_tell_known(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Encode questions as `encode_query`, and say which have a word that the ranker knows, bool `(n,)`.

        The points of texts without one are all alike: what is near to them says nothing.
        """
        points, known = [], []
        for encoded in self._numbered(texts, are_questions=True):
            points.append(self._points_of(encoded))
            known.append(self.open_vocabulary.knows(encoded))
        return np.concatenate(points), np.concatenate(known)

    def _encode(self, texts: Sequence[str], are_questions: bool = False) -> np.ndarray:
        parts = [self._points_of(encoded) for encoded in self._numbered(texts, are_questions)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _numbered(self, texts: Sequence[str], are_questions: bool = False) -> Iterator[EncodedTexts]:
        """Number texts; those of an encoder in parts, since the vectors of their tokens come with them."""
        self.check_encodes_apart()
        if isinstance(texts, str):
            raise UserError(f"texts are given as a list. Write [{texts!r:.40}].")
        parts = [slice(None)]
        if self.is_contextual and len(texts):
            for number, text in enumerate(texts, start=1):
                check_text(number, text)
            parts = list(_parts(_most_tokens(texts)))
        for part in parts:
            yield self.open_vocabulary.encode(texts[part], len(texts[part]) if are_questions else 0)

    def _points_of(self, encoded: EncodedTexts) -> np.ndarray:
        points = np.empty((0, 0), np.float32)
        with tqdm(
            total=len(encoded), desc="encoding", unit="text", leave=False, delay=2, disable=None
        ) as bar:
            for start in range(0, max(len(encoded), 1), _TEXTS_AT_ONCE):
                part = encoded.take(np.arange(start, min(start + _TEXTS_AT_ONCE, len(encoded))))
                found = self._scorer.encode(part, self._added(part))
                if start == 0:  # In place, since two copies of the result may be too much.
                    points = np.empty((len(encoded), found.shape[1]), np.float32)
                points[start : start + len(part)] = found
                bar.update(len(part))
        return points

    def score_points(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Score encoded queries against encoded documents as the model does, float32 `(n,)`.

        Both are float32 `(n, d)`, row by row, or one of them a single point `(1, d)` or `(d,)`.
        """
        self.check_encodes_apart()
        queries, documents = np.broadcast_arrays(np.atleast_2d(queries), np.atleast_2d(documents))
        scores = np.empty(len(queries), np.float32)
        for start in range(0, len(queries), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            scores[part] = self._scorer.score_points(queries[part], documents[part])
        return scores

    @property
    def similarity(self) -> str:
        """What compares the vectors of two texts: "hyperbolic" (the Poincare distance) or "cosine"."""
        self.check_encodes_apart()
        return self._scorer.similarity

    def check_encodes_apart(self) -> None:
        """Refuse a model that has no vector of a text alone, by a UserError."""
        if not self._scorer.encodes_apart:
            encoders = ", ".join(entry.title for entry in CATALOGUE.values() if entry.encodes_apart)
            raise UserError(
                f"{self.model.name} gives a text no vector of its own: it reads question and answer "
                f"together. These encode texts: {encoders}."
            )

    def check_nearest_is_best(self) -> None:
        """Refuse a model whose best answers are not those nearest to the question, by a UserError."""
        self.check_encodes_apart()
        if not self._scorer.nearest_is_best:
            raise UserError(
                "the nearest answers are not this model's best ones: it has raw_embeddings, or a w_f of the "
                "other sign. Use BM25."
            )

    @property
    def by_numpy(self) -> bool:
        """Whether NumPy ranks, without TensorFlow."""
        return isinstance(self._scorer, NumpyHyperQA)

    def score_encoded(self, split: EncodedSplit) -> np.ndarray:
        """Score every candidate of texts that `open_vocabulary` encoded, float32 `(rows,)`."""
        if self._scorer.needs_features and self.idf is not None:
            split = replace(split, features=overlap_features(split, self.vocabulary, self.idf))
        return self._scorer.score(split, self._added(split.questions))

    def _scores(self, table: pd.DataFrame) -> np.ndarray:
        if not isinstance(self.open_vocabulary, ContextualVocabulary):
            return self.score_encoded(self._split(table))
        # A model of lists sees all candidates of a question at once.
        ids = pd.factorize(table["question_id"].to_numpy(object))[0]
        together = ids if self._scorer.reads_lists else np.arange(len(table))
        tokens = _most_tokens(table["question"]) + _most_tokens(table["candidate"])
        ends = np.append(0, np.cumsum(np.bincount(together)))
        scores = []
        for part in _parts(np.bincount(together, tokens)):
            rows = slice(ends[part.start], ends[part.stop])
            scores.append(self.score_encoded(self._split(table.iloc[rows])))
        return np.concatenate(scores)

    def _split(self, table: pd.DataFrame) -> EncodedSplit:
        def encode(questions: list[str], candidates: list[str]) -> list[EncodedTexts]:
            n = len(questions)
            encoded = self.open_vocabulary.encode([*questions, *candidates], n)
            return [encoded.take(np.arange(n)), encoded.take(np.arange(n, len(encoded)))]

        return encode_split_by(table, encode)

    def _added(self, texts: EncodedTexts) -> np.ndarray:
        """Give the vectors of words that the model does not have: those of the texts, or all found so far."""
        return self.open_vocabulary.added if texts.vectors is None else texts.vectors


def _most_tokens(texts: Iterable[str]) -> np.ndarray:
    """Say how many tokens texts have at most: one for each character, [CLS] and [SEP]."""
    return np.array([len(text) + 2 for text in texts])


def _parts(tokens: np.ndarray) -> Iterator[slice]:
    return chunks(len(tokens), _TOKENS_AT_ONCE, lambda part: np.cumsum(tokens[part]))


def _check_idf(idf: np.ndarray | None, n_words: int) -> None:
    if idf is None or idf.shape != (n_words,) or idf.dtype.kind != "f":
        received = None if idf is None else f"{idf.dtype} {idf.shape}"
        raise ValueError(
            f"a model with the input `features` needs `idf`, a number for each of the {n_words} words. "
            f"Received: idf={received}"
        )


def _check_facts(lowercase: Any, mask_numbers: Any, kind: Any, vectors: Any, encoder: Any) -> None:
    """Raise a ValueError for what a folder of somebody else's may state."""
    if not (isinstance(lowercase, bool) and isinstance(mask_numbers, bool)):
        raise ValueError("`lowercase` and `mask_numbers` are true or false.")
    if not isinstance(kind, str):
        raise ValueError("`kind` is a name.")
    if isinstance(vectors, str) or not all(isinstance(source, str) for source in vectors):
        raise ValueError("`vectors` is a list of names.")
    if not isinstance(encoder, str) or (encoder and len(vectors) != 1):
        raise ValueError("`encoder` is the hash of the one encoder that `vectors` names.")
