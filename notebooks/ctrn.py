# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
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
# That lets the two texts *lend each other their gates*: an answer is read once by what it remembers and
# forgets itself, and once by what the question does. This notebook puts each equation beside the code that
# computes it, draws the gates of one pair, and trains the network beside its own parts.
#
# As it stands it runs on the small sample that comes with the project. **All numbers below are numbers on
# the sample**, which was written for this project: they show that the machinery works, and say nothing about
# any benchmark. Recorded results are in `reproduce/RESULTS.md`. To run it on real data, change one word:

# %%
DATASET = "sample"  # or "trecqa" or "semevalcqa", which `python -m data_prep get NAME` fetches

# %%
import os

# Keep TensorFlow's start-up messages out of the page, the last one by doing without oneDNN.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import inspect
import re
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from evaluation import paired_randomisation_test, summarise
from evaluation.figures import learning_curves
from layers import CrossTemporalGate, cross_temporal_gate
from reproduce import ctrn_semevalcqa, ctrn_trecqa
from reproduce.ctrn_experiment import NAMES, CTRNConfig, build_ranker, train_ctrn
from reproduce.experiment import load_experiment_data, per_question
from reproduce.lexical_baselines import evaluated_rows
from training.pointwise_trainer import PointwiseTrainer

# %matplotlib inline
# %config InlineBackend.print_figure_kwargs = {"dpi": 90, "bbox_inches": "tight"}

# The progress bars of a library that draws none here miss a package.
warnings.filterwarnings("ignore", message="IProgress not found")
pd.set_option("display.max_colwidth", 140, "display.max_columns", 60)
FAST = os.environ.get("QA_FAST") == "1"  # shorter trainings, for a quick check that the notebook runs
SEEDS = [0] if FAST else [0, 1, 2]

# The configurations of the scripts on real data; on the sample a smaller network.
config = {
    "sample": CTRNConfig(
        dataset="sample",
        overlap_features=True,
        filters=32,
        kernel_size=3,
        hidden=(64,),
        dropout=0.2,
        learning_rate=1e-3,
        batch_size=32,
        epochs=15,
    ),
    "trecqa": ctrn_trecqa.Config(),
    "semevalcqa": ctrn_semevalcqa.Config(),
}[DATASET]
if FAST:
    config = replace(config, epochs=2)


def show(function):
    """Print the code of a function without its description."""
    print(re.sub(r'\n *""".*?"""', "", inspect.getsource(function), count=1, flags=re.DOTALL))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# %% [markdown]
# ## One pair
#
# We follow one question and the first correct one of its candidates:

# %%
data = load_experiment_data(config, overlap=config.overlap_features)
test, encoded = data.dataset.test, data.encoded
if DATASET == "sample":
    number = encoded.test.question_ids.index("S65")
else:
    number = int(np.flatnonzero(encoded.test.counts_under("clean"))[0])
rows = slice(*encoded.test.candidate_offsets[[number, number + 1]])  # of the question's candidates
row = rows.start + int(np.argmax(encoded.test.labels[rows]))  # of the correct answer
question, answer = encoded.test.questions.take([number]), encoded.test.candidates.take([row])
words = [[encoded.vocabulary.words[i] for i in text.words] for text in (question, answer)]
print(" ".join(words[0]), "\n" + " ".join(words[1]))

# %% [markdown]
# ## Equation 1: candidates and gates
#
# Three convolutions over the word vectors $X$, shared by both texts, give the candidates $Z$ and the gates:
#
# $$Z = \tanh(W_z * X), \qquad F = \sigma(W_f * X), \qquad O = \sigma(W_o * X)$$
#
# A window of $k$ words ends at the current one; before the first word it sees zeros. By hand, with the
# kernels of a new ranker:

# %%
ranker = build_ranker(config, data, seed=0)
encoder = ranker.get_layer("encoder")
kernels = [np.asarray(kernel) for kernel in encoder.gates.kernels]  # each (k, m, d)


def convolved(text, kernel):
    """A causal convolution, one row per word."""
    x = data.word_vectors.matrix[text.words]
    padded = np.concatenate([np.zeros((len(kernel) - 1, x.shape[1])), x])
    return sum(padded[i : i + len(x)] @ kernel[i] for i in range(len(kernel)))


def candidates_and_gates(text, kernels):
    activations = (np.tanh, sigmoid, sigmoid)
    return [f(convolved(text, kernel)) for f, kernel in zip(activations, kernels, strict=True)]


by_layer = encoder.gates(data.word_vectors.matrix[answer.padded()])
for name, ours, layer in zip("ZFO", candidates_and_gates(answer, kernels), by_layer, strict=True):
    difference = np.abs(ours - np.asarray(layer)[0]).max()
    print(f"{name} of the answer: {ours.shape}, largest difference to the layer's {difference:.1e}")

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
    step = np.minimum(np.arange(len(z)), len(partner_f) - 1)  # t* = t, as far as the partner has words
    return pooled(z, f, o), pooled(z, partner_f[step], partner_o[step])


own, lent = crossed(answer, question, kernels)
means = [(h * h_plus).mean(axis=0) for h, h_plus in (crossed(question, answer, kernels), (own, lent))]
vectors = data.word_embedding(question.padded()), data.word_embedding(answer.padded())
for name, ours, layer in zip(("question", "answer"), means, encoder(list(vectors)), strict=True):
    difference = np.abs(ours - np.asarray(layer)[0]).max()
    print(f"mean of H, {name}: {ours.shape}, largest difference to the encoder's {difference:.1e}")

# %% [markdown]
# The layer `CrossTemporalGate` is the crossing alone. It runs both recurrences as one over twice the
# features; `CrossTemporalEncoder`, which the model uses, also leaves out the padding:

# %%
show(CrossTemporalGate._cross)

# %% [markdown]
# **Which step is $t^*$?** The paper prints $t^* = t \cdot \lceil \max(|q|, |a|) / \min(|q|, |a|) \rceil$ and
# also calls the same step sufficient (`alignment="index"`, the default here). Both end at the partner's last
# word. For the answer's words, the word of the question whose gates they borrow:

# %%
show(cross_temporal_gate._align_scaled)

# %%
length = {name: len(text) for name, text in zip(("q", "a"), words, strict=True)}
factor = -(-max(length.values()) // min(length.values()))
steps = np.arange(length["a"])
pd.DataFrame(
    {
        "word of the answer": words[1],
        "index": [words[0][t] for t in np.minimum(steps, length["q"] - 1)],
        "scaled": [words[0][t] for t in np.minimum((steps + 1) * factor, length["q"]) - 1],
    }
).T


# %% [markdown]
# ## What the crossing does, in a picture
#
# The forget gates of the answer's words, its own and those borrowed from the question. Where a gate is dark
# the state is kept, where it is light it is overwritten. Before training all gates are near a half.


# %%
def gates_figure(ranker, title):
    kernels = [np.asarray(kernel) for kernel in ranker.get_layer("encoder").gates.kernels]
    _, own_f, _ = candidates_and_gates(answer, kernels)
    _, lent_f, _ = candidates_and_gates(question, kernels)
    lent_f = lent_f[np.minimum(np.arange(len(own_f)), len(lent_f) - 1)]
    h, h_plus = crossed(answer, question, kernels)
    # The features in which own and borrowed gates differ most.
    features = np.argsort(-np.abs(own_f - lent_f).mean(axis=0))[:12]
    figure, panels = plt.subplots(1, 4, figsize=(11, 0.22 * len(own_f) + 1.2), layout="constrained")
    shown = {"f, own": own_f, "f, borrowed": lent_f, "h, own gates": h, "H = h · h⁺": h * h_plus}
    for axes, (name, values) in zip(panels, shown.items(), strict=True):
        signed = name[0] != "f"
        limit = np.abs(values[:, features]).max() if signed else 1
        axes.imshow(
            values[:, features],
            cmap="PuOr" if signed else "Blues",
            vmin=-limit if signed else 0,
            vmax=limit,
            aspect="auto",
        )
        axes.set_title(f"{name}" + (f" (±{limit:.2g})" if signed else ""), fontsize="small")
        axes.set_xticks([])
        axes.set_yticks(range(len(own_f)), words[1] if axes is panels[0] else [""] * len(own_f), fontsize=8)
    figure.supxlabel("12 of the features", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    plt.show()


gates_figure(ranker, "The answer's gates before training")

# %% [markdown]
# ## Equations 2 and 3: score and loss
#
# The two means side by side, with the word-overlap features where there are any, go through an MLP into a
# softmax over {wrong, correct} (Equation 2). The score is the difference of the two logits, whose sigmoid is
# the softmax's probability of "correct":

# %%
inputs = [question.padded(), answer.padded()]
if config.overlap_features:
    features = encoded.test.features[row : row + 1]
    inputs.append(features)
    print("overlap features of the pair:", features[0].round(3))
x = np.concatenate(means + ([features[0]] if config.overlap_features else []))
for i in range(1, len(config.hidden) + 1):
    W, b = (np.asarray(weight) for weight in ranker.get_layer(f"hidden_{i}").weights)
    x = np.maximum(x @ W + b, 0)
W, b = (np.asarray(weight) for weight in ranker.get_layer("logits").weights)
logits = x @ W + b
softmax = np.exp(logits) / np.exp(logits).sum()
print(f"softmax(correct) by hand {softmax[1]:.6f}, by the ranker {sigmoid(float(ranker(inputs)[0])):.6f}")

# %% [markdown]
# Cross entropy over all pairs, and L2 of the weights (Equation 3):

# %%
show(PointwiseTrainer.train_step)

# %% [markdown]
# ## How large is it?
#
# Table 2 counts the parameters: $3kdm + 2dh + h$ for CTRN and QRNN alike, since the crossing has none. Ours
# has the $2h + 2$ of the softmax on top, and here the features' and further layers' weights:

# %%
sized = {}
for model in ("ctrn", "qrnn", "lstm", "features"):
    built = build_ranker(replace(config, model=model), data, seed=0)
    sized[NAMES[model]] = sum(int(np.prod(weight.shape)) for weight in built.trainable_variables)
pd.DataFrame(sized, index=["trainable parameters"]).T

# %% [markdown]
# ## Training
#
# CTRN beside what it is made of: QRNN is the same without the crossing, the LSTM stands in for both, and the
# *overlap features alone* go through the same MLP without any network, with larger and more steps, since
# there are only four numbers to learn from. Each is trained by the scripts' own function, which keeps the
# weights of the epoch that is best on dev.

# %%
settings = ["epochs", "batch_size", "learning_rate", "filters", "kernel_size", "hidden", "dropout"]
print({name: getattr(config, name) for name in settings})
options = {
    "Overlap features alone": {
        "model": "features",
        "learning_rate": 10 * config.learning_rate,
        "epochs": 2 * config.epochs,
    },
    "LSTM": {"model": "lstm"},
    "QRNN": {"model": "qrnn"},
    "CTRN": {"model": "ctrn"},
}
runs = {
    name: [train_ctrn(replace(config, **changed), data, seed, None, "") for seed in SEEDS]
    for name, changed in options.items()
}
learning_curves([run.history for run in runs["CTRN"]], title=f"CTRN, {data.title}")

# %% [markdown]
# Figure 3 of the paper compares the time of an epoch. Ours, in seconds, with the dev split scored after it;
# the first epoch of each training, which compiles, is left out. `benchmarks/recurrent_epoch.py` measures it
# with care, on texts of several lengths.

# %%
seconds = {
    name: np.median([epoch["seconds"] for run in of_seeds for epoch in run.history[1:]])
    for name, of_seeds in runs.items()
    if name != "Overlap features alone"
}
figure, axes = plt.subplots(figsize=(4.6, 1.8), layout="constrained")
axes.barh(list(seconds), list(seconds.values()), color="#1f5fa8")
axes.set(xlabel=f"seconds per epoch, {data.title}")
plt.show()

# %%
rule = next(iter(data.dataset.description.protocols.values()))
by_rule = evaluated_rows(test, data.dataset.description, tie_seeds=20)
frames = {name: [by_rule[name]] for name in ("Random", "WO", "BM25")}
for name, of_seeds in runs.items():
    frames[name] = [per_question(encoded.test, run.scores["test"]) for run in of_seeds]
table = {
    name: pd.DataFrame([summarise(frame, rule) for frame in each]).mean() for name, each in frames.items()
}
print(f"{data.title}, test, {encoded.test.counts_under(rule).sum()} questions, {len(SEEDS)} seed(s)")
pd.DataFrame(table).T.round(3)

# %% [markdown]
# Is the crossing worth something here? The test swaps the two rankings of each question at random, and asks
# how often a difference as large as the observed one turns up:

# %%
average = {
    name: np.mean([frame["map"][encoded.test.counts_under(rule)] for frame in frames[name]], axis=0)
    for name in ("CTRN", "QRNN", "Overlap features alone")
}
for other in ("QRNN", "Overlap features alone"):
    p = paired_randomisation_test(average["CTRN"], average[other], permutations=10_000)
    print(f"CTRN against {other}: MAP {average['CTRN'].mean() - average[other].mean():+.3f}, p = {p:.3f}")

# %% [markdown]
# The gates of our pair after training:

# %%
gates_figure(runs["CTRN"][0].ranker, "The answer's gates after training")

# %% [markdown]
# And the whole list of our question's candidates:

# %%
scores = runs["CTRN"][0].scores["test"][rows]
ranking = pd.DataFrame(
    {
        "correct": np.where(encoded.test.labels[rows], "yes", ""),
        "probability": sigmoid(scores),
        "candidate": test["candidate"].iloc[rows].to_numpy(),
    }
).sort_values("probability", ascending=False)
ranking.index = pd.RangeIndex(1, len(ranking) + 1, name="rank")
ranking.round(3)

# %% [markdown]
# ## Things to try
#
# - `replace(config, alignment="scaled")`: the step $t^*$ as printed. Which words of the answer still borrow
#   different gates?
# - `replace(config, overlap_features=False)` (load the data again): how much of the result was the features'?
# - `replace(config, kernel_size=1)`: gates that see one word alone;
# - `qrnn(..., pooling="ifo")` of `models.ctrn`: one more gate, for which no crossing is defined;
# - `CrossTemporalEncoder(64)([question_vectors, answer_vectors])` in a Keras model of your own;
# - `DATASET = "trecqa"`: numbers that can be set beside published ones; use several seeds, choose by dev.
