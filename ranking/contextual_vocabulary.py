"""The words of a ranker of contextual words: the tokens of the very texts that it ranks."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.encoded_split import EncodedTexts, offsets_of
from answer_ranking.data_prep.vocabulary import Vocabulary
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.ranking.open_vocabulary import check_text


class ContextualVocabulary:
    """Encodes texts by the encoder of the training, in the place of an `OpenVocabulary`.

    The vectors come with the encoded texts and go with them; where `kept` is true they stay in the user's
    cache, as those of a training do: for a study, in which many rankers read the same texts. The encoder is
    read when the first text comes. May be called from several threads.

    Args:
        source: the encoder, see `find_encoder`.
        sha256: of the weights of the encoder of the training.
        embeddings_home: folder of word vectors; None for QA_EMBEDDINGS_HOME and the user's cache.
    """

    added = np.empty((0, 0), np.float32)
    words: tuple[str, ...] = ()

    def __init__(self, source: str, sha256: str, embeddings_home: str | Path | None = None):
        self.source, self.sha256, self.embeddings_home = source, sha256, embeddings_home
        self.kept = False
        self._encoder: ContextualEncoder | None = None
        self._lock = threading.Lock()

    @property
    def encoder(self) -> ContextualEncoder:
        """The encoder; a UserError says that it is not found, or not that of the training."""
        with self._lock:
            if self._encoder is None:
                encoder = ContextualEncoder(self.source, self.embeddings_home)
                if encoder.sha256 != self.sha256:
                    raise UserError(
                        f"the encoder {self.source} is not that of the training: its weights have the "
                        f"SHA-256 {encoder.sha256}, not {self.sha256}. Put the right one in its "
                        "place, or train again."
                    )
                self._encoder = encoder
            return self._encoder

    def encode(self, texts: Sequence[str], n_questions: int = 0) -> EncodedTexts:
        """Encode texts; their tokens are numbered from 2 on, and their vectors are with them.

        Every word has its pieces: of `n_questions` questions, too, all are read as they are written.
        """
        for number, text in enumerate(texts, start=1):
            check_text(number, text)
        # A text that is there many times is encoded once.
        distinct = list(dict.fromkeys(texts))
        place_of = {text: place for place, text in enumerate(distinct)}
        encoded = self._stored(distinct) if self.kept else self._encoded(distinct)
        return encoded.take([place_of[text] for text in texts])

    def _stored(self, texts: Sequence[str]) -> EncodedTexts:
        encoded, vectors = self.encoder.stored(texts)
        return EncodedTexts(encoded.words, encoded.offsets, vectors.stored[vectors.rows])

    def _encoded(self, texts: Sequence[str]) -> EncodedTexts:
        vectors = self.encoder.encode(texts)
        table = np.concatenate([np.empty((0, self.encoder.dimensions), np.float16), *vectors])
        words = np.arange(Vocabulary.FIRST, Vocabulary.FIRST + len(table), dtype=np.int32)
        return EncodedTexts(words, offsets_of(list(map(len, vectors))), table)

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """Write the tokens of texts, as an explanation shows them."""
        return [self.encoder.tokens(text) for text in texts]

    def knows(self, encoded: EncodedTexts) -> np.ndarray:
        """Tell which texts have a known word, bool (n_texts,): those that have any."""
        return encoded.lengths > 0

    def unknown(self, text: str, is_question: bool = True) -> list[str]:
        """Give the unknown words of a text: there are none, since every word has its pieces."""
        return []
