"""BERT in NumPy and float64."""

import numpy as np
from scipy.special import erf


def reference_states(weights, config, pieces, token_types=None):
    """Compute the states of one text in float64, head by head."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}

    def dense(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x, name):
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config.epsilon)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][pieces]
    types = np.zeros(len(pieces), int) if token_types is None else token_types
    x = x + w["embeddings.position_embeddings.weight"][: len(pieces)]
    x = x + w["embeddings.token_type_embeddings.weight"][types]
    x = norm(x, "embeddings.LayerNorm")
    size = config.hidden // config.heads
    for layer in range(config.layers):
        start = f"encoder.layer.{layer}."
        q, k, v = (dense(x, f"{start}attention.self.{name}") for name in ("query", "key", "value"))
        attended = []
        for head in range(config.heads):
            part = slice(head * size, (head + 1) * size)
            logits = q[:, part] @ k[:, part].T / np.sqrt(size)
            shares = np.exp(logits - logits.max(-1, keepdims=True))
            attended.append(shares / shares.sum(-1, keepdims=True) @ v[:, part])
        x = norm(
            x + dense(np.hstack(attended), f"{start}attention.output.dense"),
            f"{start}attention.output.LayerNorm",
        )
        wide = dense(x, f"{start}intermediate.dense")
        wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
        x = norm(x + dense(wide, f"{start}output.dense"), f"{start}output.LayerNorm")
    return x


BEGIN, END, UNKNOWN = 2, 3, 1  # their places in the vocabulary of the tests' encoders


def pieces_and_types(question, answer, room):
    """Join two texts of a vocabulary's numbers: cut the longer one, piece by piece, until they find room."""
    question, answer = list(question), list(answer)
    while len(question) + len(answer) > room:
        (question if len(question) > len(answer) else answer).pop()
    own = [[UNKNOWN if word == 1 else word - 2 for word in text] for text in (question, answer)]
    pieces = [BEGIN, *own[0], END, *own[1], END]
    return pieces, [0] * (len(question) + 2) + [1] * (len(answer) + 1)


def reference_score(weights, config, score, pair, room=9, pooling="cls"):
    """Score a pair by one state of it, with `room` pieces for its texts: as many as 12 positions have."""
    pieces, types = pieces_and_types(*pair, room)
    kernel, bias = (np.float64(each) for each in score)
    states = reference_states(weights, config, pieces, np.array(types))
    pooled = {"cls": states[0], "mean": states.mean(0)}[pooling]
    return pooled @ kernel[:, 0] + bias[0]
