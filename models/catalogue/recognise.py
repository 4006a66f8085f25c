"""The models that do not say what they are: networks given as they are, and folders of before version 0.2."""

from collections.abc import Mapping
from typing import Any

_BY_NETWORK = {
    "HyperQA": "hyperqa",
    "CosineQA": "cosineqa",
    "CTRN": "ctrn",
    "QRNN": "qrnn",
    "LSTM": "lstm",
    "features_alone": "features",
    "AP-CNN": "ap-cnn",
    "QA-CNN": "qa-cnn",
    "AP-BiLSTM": "ap-bilstm",
    "QA-BiLSTM": "qa-bilstm",
    "Cosinet": "cosinet",
    "CompareAggregate": "ca",
    "CrossEncoder": "cross-encoder",
}
_ACROSS = {"SimpleRNN": "rnn", "LSTM": "lstm"}


def recognise(config: Mapping[str, Any]) -> str:
    """Find a model's name in the catalogue by what Keras saves of it; "" where it is none of these.

    This is the only place that guesses: what is saved since says its name.

    Example:
        >>> recognise({"config": {"name": "AP-CNN"}})
        'ap-cnn'
    """
    network = config["config"]
    name = _BY_NETWORK.get(network["name"], "")
    if name not in ("cosinet", "ca", "cross-encoder"):
        return name
    layers = {layer["config"]["name"]: layer for layer in network["layers"]}
    if "answers" not in layers:
        return name
    across = layers.get("across")
    if across is None:
        return f"{name}-list"
    both = across["class_name"] == "Bidirectional"
    one_way = across["config"]["layer"] if both else across
    return f"{name}-list-{'bi' * both}{_ACROSS[one_way['class_name']]}"
