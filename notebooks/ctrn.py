# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # CTRN, equation by equation
#
# CTRN ([Tay, Tuan and Hui, AAAI 2018](https://arxiv.org/abs/1711.07656)) reads question and answer with one
# quasi-recurrent network, whose gates come from convolutions and so are known before the recurrence begins.
# That lets the two texts *lend each other their gates*. This notebook puts each equation beside the code,
# draws the gates of one pair, trains the network beside its own parts, and ends with the paper's tables
# beside ours.
#
# **The trainings of this page are on the small sample that comes with the project**; their numbers say
# nothing about any benchmark. Another data set is one word away; "trecqa" also trains the paper's main row:

# %%
import answer_ranking.base.command  # noqa: F401  (keeps the start-up messages of TensorFlow out of the page)

DATASET = "sample"  # or "trecqa" or "semevalcqa", which `answer-ranking data get NAME` fetches

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from answer_ranking.data_prep import encode_dataset, load_dataset, load_word_vectors
from answer_ranking.evaluation import paired_randomisation_test, per_question
from answer_ranking.layers import CrossTemporalGate
from answer_ranking.models import ctrn, features_alone, lstm, qrnn
from answer_ranking.training import Pointwise, PointwiseOptions, fit, score

# %%
import inspect
import os
import re
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # of a library without a progress bar here
# %matplotlib inline
# %config InlineBackend.print_figure_kwargs = {"dpi": 75, "bbox_inches": "tight"}
pd.set_option("display.max_colwidth", 140, "display.max_columns", 60)
FAST = os.environ.get("QA_FAST") == "1"  # shorter trainings, for a quick check that the notebook runs
SEEDS = [0] if FAST else [0, 1, 2]


def show(function):
    """Print the code of a function without its description."""
    print(re.sub(r'\n *""".*?"""', "", inspect.getsource(function), count=1, flags=re.DOTALL))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# %% [markdown]
# ## One pair
#
# We follow one question and its first correct answer:

# %%
dataset = load_dataset(DATASET)
data = encode_dataset(dataset, overlap=True)  # with the word-overlap features
vectors = load_word_vectors(["glove-6b-50d"], data.vocabulary, counts=data.word_counts)
test = data.test
if DATASET == "sample":
    number = test.question_ids.index("S65")
else:
    number = int(np.flatnonzero(test.counts_under("clean"))[0])
rows = slice(*test.candidate_offsets[[number, number + 1]])  # the question's candidates
row = rows.start + int(np.argmax(test.labels[rows]))  # the correct answer
question, answer = test.questions.take([number]), test.candidates.take([row])
words = [[data.vocabulary.words[i] for i in text.words] for text in (question, answer)]
print(" ".join(words[0]), "\n" + " ".join(words[1]))

# %% [markdown]
# ## Equation 1: candidates and gates
#
# Three convolutions over the word vectors $X$, shared by both texts, give the candidates and the gates,
#
# $$Z = \tanh(W_z * X), \qquad F = \sigma(W_f * X), \qquad O = \sigma(W_o * X).$$
#
# A window of $k$ words ends at the current one. By hand, with the kernels of a new ranker:

# %%
SIZES = {"hidden": (64,), "n_features": 4, "dropout": 0.2}
ranker = ctrn(vectors.matrix, 32, kernel_size=3, seed=0, **SIZES)
encoder = ranker.get_layer("encoder")
kernels = [np.asarray(kernel) for kernel in encoder.gates.kernels]  # each (k, m, d)


def candidates_and_gates(text, kernels):
    """Z, F and O, one row per word."""
    x = vectors.matrix[text.words]
    padded = np.concatenate([np.zeros((len(kernels[0]) - 1, x.shape[1])), x])
    convolved = [sum(padded[i : i + len(x)] @ kernel[i] for i in range(len(kernel))) for kernel in kernels]
    return [f(c) for f, c in zip((np.tanh, sigmoid, sigmoid), convolved, strict=True)]


by_layer = encoder.gates(vectors.matrix[answer.padded()])
for name, ours, layer in zip("ZFO", candidates_and_gates(answer, kernels), by_layer, strict=True):
    difference = np.abs(ours - np.asarray(layer)[0]).max()
    print(f"{name}: {ours.shape}, largest difference to the layer's {difference:.1e}")

# %% [markdown]
# ## The cell, and the crossing
#
# The recurrence has no weights. A quasi-recurrent network (fo-pooling) reads a text by
#
# $$c_t = f_t \odot c_{t-1} + (1 - f_t) \odot z_t, \qquad h_t = o_t \odot c_t$$
#
# and CTRN reads it a second time with the **partner's** gates, at the aligned step $t^*$, and multiplies:
#
# $$
# c^+_t = f'_{t^*} \odot c^+_{t-1} + (1 - f'_{t^*}) \odot z_t, \qquad h^+_t = o'_{t^*} \odot c^+_t,
# \qquad H_t = h_t \odot h^+_t
# $$
#
# The default alignment is $t^* = t$, as far as the partner has words. The printed one, $t^* = t \cdot \lceil
# \max(|q|, |a|) / \min(|q|, |a|) \rceil$, is `alignment="scaled"`.


# %%
def pooled(z, f, o):
    """The cell by hand, step after step."""
    states, c = [], np.zeros(z.shape[1])
    for t in range(len(z)):
        c = f[t] * c + (1 - f[t]) * z[t]
        states.append(o[t] * c)
    return np.array(states)


def crossed(text, partner, kernels):
    z, f, o = candidates_and_gates(text, kernels)
    _, partner_f, partner_o = candidates_and_gates(partner, kernels)
    step = np.minimum(np.arange(len(z)), len(partner_f) - 1)  # t*
    return pooled(z, f, o), pooled(z, partner_f[step], partner_o[step])


means = [
    np.prod(crossed(*pair, kernels), axis=0).mean(axis=0) for pair in ((question, answer), (answer, question))
]
by_encoder = encoder([vectors.matrix[question.padded()], vectors.matrix[answer.padded()]])
for name, ours, layer in zip(("question", "answer"), means, by_encoder, strict=True):
    difference = np.abs(ours - np.asarray(layer)[0]).max()
    print(f"mean of H, {name}: largest difference to the encoder's {difference:.1e}")

# %% [markdown]
# The layer `CrossTemporalGate` is the crossing alone; it runs both recurrences as one over twice the
# features:

# %%
show(CrossTemporalGate._cross)

# %% [markdown]
# ## Equations 2 and 3: score and loss
#
# The two means side by side, with four word-overlap features, go through an MLP into a softmax over {wrong,
# correct} (Equation 2). The score is the difference of the two logits, and the loss the cross entropy over
# all pairs with L2 of the weights (Equation 3):

# %%
features = test.features[row : row + 1]
x = np.concatenate([*means, features[0]])
for name in ("hidden_1", "logits"):
    W, b = (np.asarray(weight) for weight in ranker.get_layer(name).weights)
    x = x @ W + b if name == "logits" else np.maximum(x @ W + b, 0)
by_hand = np.exp(x[1]) / np.exp(x).sum()
by_ranker = sigmoid(float(ranker([question.padded(), answer.padded(), features])[0]))
print(f"softmax(correct) by hand {by_hand:.6f}, by the ranker {by_ranker:.6f}")

# %%
from answer_ranking.training.pointwise import PointwiseTrainer

show(PointwiseTrainer.losses)

# %% [markdown]
# ## Training on the sample
#
# CTRN beside what it is made of: QRNN has no crossing, the LSTM stands in for both, and the *overlap features
# alone* go through the same MLP, with larger and more steps, since there are only four numbers to learn from.
# `fit` keeps the weights of the epoch that is best on dev.

# %%
from answer_ranking.evaluation.figures import learning_curves

MODELS = {
    "Overlap features alone": lambda seed: features_alone(4, hidden=(64,), dropout=0.2, seed=seed),
    "LSTM": lambda seed: lstm(vectors.matrix, 32, seed=seed, **SIZES),
    "QRNN": lambda seed: qrnn(vectors.matrix, 32, kernel_size=3, seed=seed, **SIZES),
    "CTRN": lambda seed: ctrn(vectors.matrix, 32, kernel_size=3, seed=seed, **SIZES),
}


def train(name, seed):
    model, alone = MODELS[name](seed), name == "Overlap features alone"
    options = PointwiseOptions(
        epochs=2 if FAST else 30 if alone else 15, batch_size=32, learning_rate=1e-2 if alone else 1e-3
    )
    return model, fit(model, Pointwise(data.train, options, seed=seed), dev=data.dev, verbose=False)


runs = {name: [train(name, seed) for seed in SEEDS] for name in MODELS}
print(
    {
        name: sum(int(np.prod(w.shape)) for w in of_seeds[0][0].trainable_variables)
        for name, of_seeds in runs.items()
    }
)
learning_curves([result.history for _, result in runs["CTRN"]], title=f"CTRN, {DATASET}")

# %% [markdown]
# Beside rules that need no training. On the sample a network may be ahead of *BM25*; among all answers of
# real collections none of the papers' networks on static word vectors
# [finds significantly more](../docs/retrieval.md) than BM25.

# %%
from answer_ranking.evaluation.rules import measure_rules

by_rule = measure_rules(dataset.test, dataset.description, tie_seeds=20)
counted = test.counts_under("answerable")
frames = {name: [by_rule[name]] for name in ("Random", "WO", "BM25")}
for name, of_seeds in runs.items():
    frames[name] = [per_question(test, score(model, test)) for model, _ in of_seeds]
table = {name: pd.concat(each)[np.tile(counted, len(each))].mean() for name, each in frames.items()}
print(f"{DATASET}, test, {counted.sum()} questions, {len(SEEDS)} seed(s)")
pd.DataFrame(table).T[["map", "mrr", "p@1", "ndcg@10"]].round(3)

# %% [markdown]
# Is the difference more than chance? The test swaps the two rankings of each question at random:

# %%
average = {name: np.mean([frame["map"][counted] for frame in each], axis=0) for name, each in frames.items()}
for name, other in (("CTRN", "QRNN"), ("CTRN", "Overlap features alone")):
    p = paired_randomisation_test(average[name], average[other], permutations=10_000)
    print(f"{name} against {other}: MAP {average[name].mean() - average[other].mean():+.3f}, p = {p:.3f}")

# %% [markdown]
# ## What the crossing does, in a picture
#
# The forget gates of the answer's words after training, its own and those borrowed from the question, in the
# twelve features in which they differ most. Where a gate is dark the state is kept, where it is light it is
# overwritten.

# %%
trained = [np.asarray(kernel) for kernel in runs["CTRN"][0][0].get_layer("encoder").gates.kernels]
own_f, lent_f = (candidates_and_gates(text, trained)[1] for text in (answer, question))
lent_f = lent_f[np.minimum(np.arange(len(own_f)), len(lent_f) - 1)]
h, h_plus = crossed(answer, question, trained)
chosen = np.argsort(-np.abs(own_f - lent_f).mean(axis=0))[:12]
figure, panels = plt.subplots(1, 4, figsize=(11, 0.22 * len(own_f) + 1.2), layout="constrained")
shown = {"f, own": own_f, "f, borrowed": lent_f, "h, own gates": h, "H = h · h⁺": h * h_plus}
for axes, (name, values) in zip(panels, shown.items(), strict=True):
    gate = name[0] == "f"
    limit = 1 if gate else np.abs(values[:, chosen]).max()
    style = {"cmap": "Blues", "vmin": 0} if gate else {"cmap": "PuOr", "vmin": -limit}
    axes.imshow(values[:, chosen], vmax=limit, aspect="auto", **style)
    axes.set_title(name if gate else f"{name} (±{limit:.2g})", fontsize="small")
    axes.set_xticks([])
    axes.set_yticks(range(len(own_f)), words[1] if axes is panels[0] else [""] * len(own_f), fontsize=8)
plt.show()

# %% [markdown]
# And the question's candidates, ranked:

# %%
probability = sigmoid(score(runs["CTRN"][0][0], test)[rows])
candidates = dataset.test["candidate"].iloc[rows].to_numpy()
correct = np.where(test.labels[rows], "yes", "")
ranking = pd.DataFrame({"correct": correct, "probability": probability, "candidate": candidates})
ranking.sort_values("probability", ascending=False, ignore_index=True).round(3)

# %% [markdown]
# ## The paper's tables beside ours
#
# As printed, and as recorded by the scripts in `reproduce/`; `reproduce/RESULTS.md` has the variants, tests
# and commands.

# %%
from answer_ranking.evaluation import load_records
from answer_ranking.reports.results import paper_tables
from IPython.display import Markdown

Markdown(paper_tables("ctrn", load_records("../reproduce/results")))

# %% [markdown]
# ## Reproduce the main row
#
# CTRN on TrecQA TRAIN, five seeds: raw MAP 0.758 printed, 0.754 ± 0.005 recorded. About ten minutes on two
# cores.
# With `DATASET = "trecqa"` at the top it is trained here; [Data](../docs/data.md) says where its word
# vectors are.

# %%
import subprocess
import sys

command = "reproduce/ctrn_trecqa.py --model ctrn --seeds 5 --embeddings glove+spacy-450d"
if DATASET == "trecqa":
    print(
        subprocess.run(
            [sys.executable, *command.split()], cwd="..", check=True, capture_output=True, text=True
        ).stdout
    )

# %% [markdown]
# ## Things to try
#
# - `ctrn(..., alignment="scaled")`: the step $t^*$ as printed;
# - `n_features=0`, and data without `overlap=True`: how much of the result was the features'?
# - `kernel_size=1`: gates that see one word alone;
# - `CrossTemporalEncoder(64)([question_vectors, answer_vectors])` in a Keras model of your own.
