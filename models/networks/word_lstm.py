"""The LSTM that reads words."""

from typing import Any

import keras


@keras.saving.register_keras_serializable("answer_ranking")
class WordLSTM(keras.layers.LSTM):
    """Keras' LSTM without cuDNN, which refuses texts without words and those with padding between words.

    Of a text without words all states are 0. Keras does not save `use_cudnn`, so that a model that is loaded
    on a GPU would use cuDNN again.

    Input: `(batch, words, n)` and their mask, bool `(batch, words)`. Output: as `keras.layers.LSTM`'s.

    Example:
        >>> words = keras.ops.ones((1, 3, 2))
        >>> WordLSTM(4)(words, mask=keras.ops.zeros((1, 3), "bool")).numpy().tolist()
        [[0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, units: int, **options: Any) -> None:
        super().__init__(units, use_cudnn=False, **options)
