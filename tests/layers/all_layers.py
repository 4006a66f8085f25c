"""Every layer with inputs, and all of them as one model: for compilers and for other backends."""

import keras
import numpy as np
from layer_checks import flat, make_model

from answer_ranking import layers

RNG = np.random.default_rng(3)
EDGE = 1 - 1e-5


def normal(*shape):
    return np.float32(RNG.normal(size=shape))


def gates(*shape, count=3):
    return [np.float32(RNG.uniform(0.1, 0.9, size=shape)) for _ in range(count)]


def points(*norms):
    directions = RNG.normal(size=(len(norms), 6))
    return np.float32(np.array(norms)[:, None] * directions / np.linalg.norm(directions, axis=-1)[:, None])


def copy(layer, **changes):
    """Make a layer of the same options with a name of its own."""
    return type(layer).from_config({**layer.get_config(), "name": None, **changes})


VECTORS = [normal(4, 4), normal(4, 4)]
BALL = [0.3 * np.tanh(vector) for vector in VECTORS]
# A question, and an answer, of padding alone; what padding holds must not show.
MASKS = [np.arange(3) < np.array([[2], [3], [0], [1]]), np.arange(5) < np.array([[3], [5], [1], [0]])]
TEXTS = [np.where(mask[..., None], normal(*mask.shape, 4), np.float32("nan")) for mask in MASKS]
# Of states whose alignment stays off the ends of tanh: near these 1 - tanh^2 keeps few digits.
HALVED = [text / 2 for text in TEXTS]
NUMBERS = [np.nan_to_num(text) for text in TEXTS]
CANDIDATE_MASKS = [MASKS[0], np.stack([MASKS[1], MASKS[1][::-1]], axis=1)]
CANDIDATES = [TEXTS[0], normal(4, 2, 5, 4)]
PAIR_OF_GATES = [gates(4, 3, 4), gates(4, 5, 4)]
LISTS = np.array([[[7, 8], [0, 0]], [[5, 0], [6, 9]]], "int32")
ROWS = np.array([0, 0, 3, 1, 2, 3], "int32")
WORDS_OF_ROWS = [TEXTS[1], normal(6, 5, 1), ROWS], [MASKS[1], MASKS[1][ROWS], np.ones(6, bool)]

# A layer with its inputs and masks.
CASES = {
    "AttentivePooling": (layers.AttentivePooling(), HALVED, MASKS),
    "BucketByLength": (layers.BucketByLength(2), LISTS, None),
    "CircularCorrelation": (layers.CircularCorrelation(), VECTORS, None),
    "CosineSimilarity": (layers.CosineSimilarity(), VECTORS, None),
    "CrossTemporalEncoder": (layers.CrossTemporalEncoder(6), TEXTS, MASKS),
    "CrossTemporalEncoder, QRNN": (layers.CrossTemporalEncoder(6, 2, "ifo", None), TEXTS, MASKS),
    "CrossTemporalGate": (layers.CrossTemporalGate(), PAIR_OF_GATES, MASKS),
    "HyperbolicDistance": (layers.HyperbolicDistance(), BALL, None),
    "HyperbolicDistance, released": (layers.HyperbolicDistance("released"), BALL, None),
    "MaskedMax": (layers.MaskedMax(), TEXTS[1], MASKS[1]),
    "MaskedMean": (layers.MaskedMean(), TEXTS[1], MASKS[1]),
    "MaskedSum": (layers.MaskedSum(), TEXTS[1], MASKS[1]),
    "NeuralTensor": (layers.NeuralTensor(3), VECTORS, None),
    "PooledConvolution": (layers.PooledConvolution(6, 3), TEXTS[1], MASKS[1]),
    "PoolingCell": (keras.layers.RNN(layers.PoolingCell(2)), normal(2, 3, 6), None),
    "QuasiRecurrentGates": (layers.QuasiRecurrentGates(6), TEXTS[1], MASKS[1]),
    "RecurrentPooling": (layers.RecurrentPooling(), gates(4, 5, 4), MASKS[1]),
    "RecurrentPooling, blocked": (layers.RecurrentPooling("blocked"), gates(4, 5, 4), MASKS[1]),
    "RiemannianGradient": (layers.RiemannianGradient(), BALL[0], None),
    "SoftAlignment": (layers.SoftAlignment(), TEXTS, MASKS),
    "UnitBall": (layers.UnitBall(0.7), VECTORS[0], None),
    "ValueSharedWeights": (layers.ValueSharedWeights(4), NUMBERS, MASKS),
    "WordRelatedness": (layers.WordRelatedness(), TEXTS, MASKS),
}
# Other options and other kinds of inputs.
VARIANTS = {
    "AttentivePooling, attention": (layers.AttentivePooling(return_attention=True), HALVED, MASKS),
    "CircularCorrelation, odd": (layers.CircularCorrelation(), [normal(2, 5), normal(2, 5)], None),
    "CosineSimilarity, candidates": (layers.CosineSimilarity(), [normal(2, 1, 4), normal(2, 3, 4)], None),
    "CrossTemporalEncoder, scaled": (
        layers.CrossTemporalEncoder(6, 3, crossing="scaled", skip_padding=False),
        TEXTS,
        MASKS,
    ),
    "CrossTemporalGate, scaled": (layers.CrossTemporalGate("scaled", "doubling"), PAIR_OF_GATES, MASKS),
    "PooledConvolution, rows": (layers.PooledConvolution(4, 2, "tanh"), *WORDS_OF_ROWS),
    "PooledConvolution, wide": (layers.PooledConvolution(4, 9), TEXTS[1], MASKS[1]),
    "PoolingCell, ifo": (
        keras.layers.RNN(layers.PoolingCell(2, "ifo"), return_sequences=True, zero_output_for_mask=True),
        normal(4, 3, 8),
        MASKS[0],
    ),
    "QuasiRecurrentGates, ifo": (
        layers.QuasiRecurrentGates(6, 3, "ifo", True, bias_initializer="random_normal"),
        TEXTS[1],
        MASKS[1],
    ),
    "RecurrentPooling, f": (layers.RecurrentPooling(), gates(4, 5, 4, count=2), MASKS[1]),
    "RecurrentPooling, ifo": (layers.RecurrentPooling("doubling"), gates(4, 5, 4, count=4), MASKS[1]),
    "SoftAlignment, candidates": (layers.SoftAlignment(), CANDIDATES, CANDIDATE_MASKS),
    "SoftAlignment, threshold": (layers.SoftAlignment(0.2), TEXTS, MASKS),
    "UnitBall, smooth": (layers.UnitBall(0.7, "smooth"), VECTORS[0], None),
    "WordRelatedness, candidates": (
        layers.WordRelatedness(concatenate=False, stop_gradient=False),
        CANDIDATES,
        CANDIDATE_MASKS,
    ),
}


def edges_of_the_ball():
    """Points at a norm of 1 - 1e-5, at and near each other, outside, and of no number."""
    edge, inside, near = (
        points(*[EDGE] * 9),
        points(*np.linspace(0, 0.9, 9)),
        points(0.0, 1e-6, 0.5, EDGE, 0.4),
    )
    same = near.copy()
    same[3:, 0] += np.float32([1e-6, 1e-3])
    outside, nothing = points(1.1, 1.5, 1e4, 1e30), points(0.3)
    nothing[0, 0] = np.nan
    question = np.concatenate([edge[:3], edge[3:6], near, outside, nothing])
    answer = np.concatenate([edge[6:], inside[:3], same, inside[3:7], inside[7:8]])
    norms = points(0.0, 1e-20, 1e-6, 0.5, 1.0, 1.5, 1e4, 1e30)
    return {
        "HyperbolicDistance, edges": (layers.HyperbolicDistance(), [question, answer], None),
        "HyperbolicDistance, released, edges": (
            layers.HyperbolicDistance("released"),
            [answer, question],
            None,
        ),
        "RiemannianGradient, at the edge": (layers.RiemannianGradient(), edge, None),
        "UnitBall, all norms": (layers.UnitBall(), norms, None),
        "UnitBall, smooth, all norms": (layers.UnitBall(projection="smooth"), norms, None),
    }


def extreme_gates():
    """Decays of 0 and 1, and small ones, whose products underflow."""
    candidate, forget, output = gates(2, 10, 4)
    forget[0] = [0.0, 1.0, 1e-20, 0.5]
    inputs = [candidate, forget, output]
    methods = ("unrolled", "blocked", "doubling")
    return {
        f"RecurrentPooling, {method}, extreme": (layers.RecurrentPooling(method), inputs, None)
        for method in methods
    }


def lengths_of_one_and_none():
    """Texts of one step and of none, and batches of none."""
    one, other = normal(2, 1, 4), normal(2, 3, 4)
    cases = {
        "CrossTemporalGate, one step": (layers.CrossTemporalGate(), [[one] * 3, [other] * 3], None),
        "CrossTemporalGate, no step": (layers.CrossTemporalGate(), [[one[:, :0]] * 3, [other] * 3], None),
        "QuasiRecurrentGates, one step": (layers.QuasiRecurrentGates(4, 3), one, None),
        "RecurrentPooling, one step": (layers.RecurrentPooling(), [one] * 3, None),
        "UnitBall, no points": (layers.UnitBall(), one[:0], None),
        "CosineSimilarity, no pairs": (layers.CosineSimilarity(), [one[:0], one[:0]], None),
    }
    for kind, text in (("no step", other[:, :0]), ("no text", other[:0])):
        cases[f"AttentivePooling, {kind}"] = (layers.AttentivePooling(), [text, other[: len(text)]], None)
        for pooling in (layers.MaskedMax, layers.MaskedMean, layers.MaskedSum):
            cases[f"{pooling.__name__}, {kind}"] = (pooling(), text, None)
    return cases


def edges_of_cosines():
    """Zero vectors, tiny, huge, equal and opposite ones; a word that is another's multiple."""
    one, other = normal(8, 4), normal(8, 4)
    one[0] = one[1] = other[1] = other[2] = 0
    one[3], other[4], other[5], other[6] = 1e-30 * one[3], 1e30 * other[4], one[5], -one[6]
    texts, multiple = ([text.copy() for text in NUMBERS] for _ in range(2))
    texts[0][0, 1] = texts[1][1, 2] = 0
    multiple[1][1, 1] = 2 * multiple[0][1, 2]
    related = layers.WordRelatedness(concatenate=False, stop_gradient=False)
    return {
        "CosineSimilarity, edges": (layers.CosineSimilarity(), [one, other], None),
        "ValueSharedWeights, cosine of 1": (layers.ValueSharedWeights(4), multiple, MASKS),
        "WordRelatedness, zero words": (related, texts, MASKS),
    }


EDGES = {
    **edges_of_the_ball(),
    **extreme_gates(),
    **lengths_of_one_and_none(),
    **edges_of_cosines(),
    "SoftAlignment, large energies": (layers.SoftAlignment(), [100 * text for text in TEXTS], MASKS),
}


def half_precision():
    """The cases in bfloat16; Keras' own layer around PoolingCell is left out."""
    return {
        name: (copy(layer, dtype="mixed_bfloat16"), inputs, masks)
        for name, (layer, inputs, masks) in without(CASES, "BucketByLength", "PoolingCell").items()
    }


def buckets():
    """The layer whose shapes depend on the data, which no compiler takes."""
    return {
        "BucketByLength": CASES["BucketByLength"],
        "BucketByLength, no candidate": (layers.BucketByLength(2), np.zeros((2, 0, 3), "int32"), None),
        "BucketByLength, padding": (layers.BucketByLength(3), np.zeros((2, 2, 3), "int32"), None),
    }


def without(cases, *names):
    """Leave out the cases of some layers."""
    return {name: case for name, case in cases.items() if name.partition(",")[0] not in names}


def arrays_of(case):
    """Give the inputs and masks of a case, one after the other."""
    _, inputs, masks = case
    return [*flat(inputs), *flat(masks)]


def one_model(cases):
    """Give a model of all cases, so that each compiler is called once, and the values of its inputs."""
    keras.utils.set_random_seed(3)
    models = [make_model(*case, dynamic=False) for case in cases.values()]
    arrays = [array for case in cases.values() for array in arrays_of(case)]
    return keras.Model([x for each in models for x in each.inputs], [x.outputs for x in models]), arrays
