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
# # Attentive Pooling, equation by equation
#
# Attentive Pooling ([dos Santos, Tan, Xiang and Zhou, 2016](https://arxiv.org/abs/1602.03609)) lets each of
# two texts decide what counts in the other: words of the question and words of the answer are compared all
# with all, and the best match of a word becomes its weight. This notebook puts each equation beside the code
# that computes it, draws what the model attends to, and trains it beside the same network with a plain
# maximum.
#
# As it stands it runs on the small sample that comes with the project. **All numbers below are numbers on
# the sample**, which was written for this project: they show that the machinery works, and say nothing about
# any benchmark. Recorded results are in `reproduce/RESULTS.md`. To run it on real data, change one word:

# %%
DATASET = "sample"  # or "wikiqa" or "trecqa", which `python -m data_prep get NAME` fetches

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
from evaluation.attention_figures import (
    accuracy_by_answer_length,
    attention_heat_map,
    correct_answer_lengths,
)
from evaluation.figures import learning_curves
from layers import AttentivePooling
from models.attentive_pooling import attention_weights
from reproduce import attentive_pooling_trecqa, attentive_pooling_wikiqa
from reproduce.attentive_pooling_experiment import (
    NAMES,
    AttentivePoolingConfig,
    build_ranker,
    load_attentive_pooling_data,
    train_attentive_pooling,
)
from reproduce.experiment import per_question
from reproduce.lexical_baselines import evaluated_rows
from training.hardest_negative_trainer import HardestNegativeTrainer

# %matplotlib inline
# %config InlineBackend.print_figure_kwargs = {"dpi": 90, "bbox_inches": "tight"}

# The progress bars of a library that draws none here miss a package.
warnings.filterwarnings("ignore", message="IProgress not found")
pd.set_option("display.max_colwidth", 140, "display.max_columns", 60)
FAST = os.environ.get("QA_FAST") == "1"  # shorter trainings, for a quick check that the notebook runs
SEEDS = [0] if FAST else [0, 1, 2]

# The configurations of the scripts on real data; on the sample a smaller network. The wrong answers are drawn
# once per batch and not for each pair: the same draw for a pair by itself, and much quicker.
config = {
    "sample": AttentivePoolingConfig(dataset="sample", filters=100, window=3, epochs=12),
    "wikiqa": attentive_pooling_wikiqa.Config(),
    "trecqa": attentive_pooling_trecqa.Config(),
}[DATASET]
config = replace(config, share_negatives=True)
if FAST:
    config = replace(config, epochs=3)


def show(function):
    """Print the code of a function without its description."""
    print(re.sub(r'\n *""".*?"""', "", inspect.getsource(function), count=1, flags=re.DOTALL))


# %% [markdown]
# ## One pair
#
# We follow one question and the first correct one of its candidates:

# %%
data = load_attentive_pooling_data(config)
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
# ## Equations 1 and 2: words in their windows
#
# One convolution, the same for both texts, turns the words of a window into a column of $Q$ or $A$:
#
# $$Q = W^1 Z^q + b^1, \qquad A = W^1 Z^a + b^1$$
#
# In AP-BiLSTM and QA-BiLSTM the columns are the states of a bidirectional LSTM (Equations 3 to 8). By hand,
# with the weights of a new AP-CNN:

# %%
ranker = build_ranker(config, data, seed=0)
encoder, matcher = ranker.get_layer("encoder"), ranker.get_layer("matcher")
kernel, bias = (np.asarray(weight) for weight in encoder.get_layer("convolution").weights)


def states(text):
    """Equation 1: one row per word."""
    z = data.word_vectors.matrix[text.words]
    before = (len(kernel) - 1) // 2
    padded = np.pad(z, ((before, len(kernel) - 1 - before), (0, 0)))
    return sum(padded[i : i + len(z)] @ kernel[i] for i in range(len(kernel))) + bias


Q, A = states(question), states(answer)
by_encoder, _ = encoder(answer.padded())
print(f"A: {A.shape}, largest difference to the encoder's {np.abs(A - by_encoder.numpy()[0]).max():.1e}")

# %% [markdown]
# ## Equations 9 to 11: the plain maximum
#
# QA-CNN, the network without attention, keeps of each feature its largest value, wherever it stands, and
# scores by the cosine:
#
# $$r = \tanh\left(\max_m Q_{\cdot m}\right), \qquad s(q, a) = \cos(r^q, r^a)$$


# %%
def cosine(x, y):
    return x @ y / np.linalg.norm(x) / np.linalg.norm(y)


print(f"score of our pair by the maximum: {cosine(np.tanh(Q.max(axis=0)), np.tanh(A.max(axis=0))):.4f}")

# %% [markdown]
# ## Equations 13 to 18: attentive pooling
#
# Every step of the question meets every step of the answer, through a matrix $U$ that is learnt:
#
# $$G = \tanh(Q^{\mathsf T} U A)$$
#
# The best match of a step is its importance, a softmax over the text's steps makes it a weight, and the text
# is the weighted sum of its steps:
#
# $$
# g^q_j = \max_m G_{jm}, \quad g^a_l = \max_m G_{ml}, \qquad
# \sigma^q = \mathrm{softmax}(g^q), \quad \sigma^a = \mathrm{softmax}(g^a), \qquad
# r^q = Q \sigma^q, \quad r^a = A \sigma^a
# $$

# %%
pooling = next(layer for layer in matcher.layers if isinstance(layer, AttentivePooling))
U = np.asarray(pooling.kernel)
G = np.tanh(Q @ U @ A.T)


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


sigma_q, sigma_a = softmax(G.max(axis=1)), softmax(G.max(axis=0))
r_q, r_a = Q.T @ sigma_q, A.T @ sigma_a
for name, ours, model in zip(
    ("attention to the question", "attention to the answer", "G"),
    (sigma_q, sigma_a, G),
    attention_weights(ranker, question.padded(), answer.padded()),
    strict=True,
):
    print(f"{name}: {ours.shape}, largest difference to the model's {np.abs(ours - model[0]).max():.1e}")
score = float(ranker([question.padded(), answer.padded()])[0])
print(f"score by hand {cosine(r_q, r_a):.5f}, by the ranker {score:.5f}")

# %% [markdown]
# The layer does this for whole batches, and for one question against many answers at once:

# %%
show(AttentivePooling.call)

# %% [markdown]
# Before training $U$ is random, and so is the attention. First $G$ itself, with the maxima that make a word's
# importance:


# %%
def draw_alignment(ranker, title):
    """Draw G and the maxima of its rows (for the question) and of its columns (for the answer)."""
    G = attention_weights(ranker, question.padded(), answer.padded())[2][0]
    figure, axes = plt.subplots(
        figsize=(0.36 * len(words[1]) + 1.5, 0.3 * len(words[0]) + 1.2), layout="constrained"
    )
    image = axes.imshow(G, cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    axes.plot(G.argmax(axis=1), range(len(G)), "s", mfc="none", mec="#1f5fa8", ms=11, label="row's maximum")
    axes.plot(range(G.shape[1]), G.argmax(axis=0), "o", mfc="none", mec="#333333", ms=7, label="column's")
    axes.set_xticks(range(len(words[1])), words[1], rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(words[0])), words[0], fontsize=8)
    axes.set_title(title, fontsize="medium")
    figure.colorbar(image, label="G")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    plt.show()


def draw_attention(ranker, title):
    of_question, of_answer, _ = attention_weights(ranker, question.padded(), answer.padded())
    return attention_heat_map(words[0], of_question[0], words[1], of_answer[0], title=title)


draw_alignment(ranker, "G before training")

# %% [markdown]
# The weights of a text add up to 1, and since importance lies between -1 and 1, none can be more than
# $e^2 \approx 7.4$ times another. **The attention is never sharp**: in a text of 20 words the largest weight
# that can occur is $e^2 / (e^2 + 19) = 28\,\%$. The words on a ground as strong as their weights, as in
# Figures 5 and 6 of the paper; a window's weight stands at the word in its centre:

# %%
draw_attention(ranker, "AP-CNN before training")

# %% [markdown]
# ## Equation 12: the loss
#
# $$L = \max\left(0,\ m - s(q, a^+) + s(q, a^-)\right)$$
#
# where $a^-$ is the one of 50 sampled wrong answers with the highest score. Finding it takes 50 forward
# passes and one backward pass; texts are encoded once:

# %%
show(HardestNegativeTrainer.train_step)
show(HardestNegativeTrainer.hardest)

# %% [markdown]
# ## Training
#
# AP-CNN and QA-CNN, by the scripts' own function, which keeps the weights of the epoch that is best on dev.
# QA-CNN has the same filters here; batch size, margin and learning rate are those of its row in the paper, so
# that what lies between the two is not the pooling alone.

# %%
settings = ["epochs", "batch_size", "optimizer", "learning_rate", "margin", "sampled_negatives", "filters"]
plain = replace(
    config, model="qa-cnn", batch_size=None, margin=None, learning_rate=None, learning_rate_decay=None
)
runs = {}
for each in (plain, config):
    print(NAMES[each.model], {name: getattr(each, name) for name in settings})
    runs[NAMES[each.model]] = [train_attentive_pooling(each, data, seed, None, "") for seed in SEEDS]
learning_curves([run.history for run in runs["AP-CNN"]], title=f"AP-CNN, {data.title}")

# %%
rule = next(iter(data.dataset.description.protocols.values()))
by_rule = evaluated_rows(test, data.dataset.description, tie_seeds=20)
frames = {name: [by_rule[name]] for name in ("Random", "WO", "BM25")}
untrained = [train_attentive_pooling(replace(config, epochs=0), data, seed, None, "") for seed in SEEDS]
runs = {"untrained AP-CNN": untrained, **runs}
for name, of_seeds in runs.items():
    frames[name] = [per_question(encoded.test, run.scores["test"]) for run in of_seeds]
table = {
    name: pd.DataFrame([summarise(frame, rule) for frame in each]).mean() for name, each in frames.items()
}
print(f"{data.title}, test, {encoded.test.counts_under(rule).sum()} questions, {len(SEEDS)} seed(s)")
pd.DataFrame(table).T.round(3)

# %% [markdown]
# Is the difference more than chance? The test swaps the two rankings of each question at random, and asks how
# often a difference as large as the observed one turns up:

# %%
average = {
    name: np.mean([frame["map"][encoded.test.counts_under(rule)] for frame in frames[name]], axis=0)
    for name in ("AP-CNN", "QA-CNN")
}
p = paired_randomisation_test(average["AP-CNN"], average["QA-CNN"], permutations=10_000)
print(f"AP-CNN against QA-CNN: MAP {average['AP-CNN'].mean() - average['QA-CNN'].mean():+.3f}, p = {p:.3f}")

# %% [markdown]
# ## What the trained model looks at

# %%
best = runs["AP-CNN"][0].ranker
draw_alignment(best, "G after training")

# %%
draw_attention(best, "AP-CNN after training")

# %% [markdown]
# How far from an even spread is the attention, over all test pairs? The share of the largest possible entropy
# is 1 where every word counts the same, and falls as a text is looked at more selectively. On the sample
# training makes it *flatter*: the entries of $G$ run into the ends of the tanh, so that most words have some
# partner at nearly 1, and then they all weigh the same. The heat maps above show it, too.


# %%
def evenness(ranker):
    shares = []
    for i in range(encoded.test.n_rows):
        pair = [
            encoded.test.questions.take([encoded.test.question_of_row[i]]),
            encoded.test.candidates.take([i]),
        ]
        for weights in attention_weights(ranker, *(text.padded() for text in pair))[:2]:
            weights = weights[0]
            shares.append(-np.sum(weights * np.log(weights)) / np.log(len(weights)))
    return np.array(shares).reshape(-1, 2)


if DATASET == "sample":
    shares = {"before": evenness(untrained[0].ranker), "after": evenness(best)}
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 2.8), layout="constrained", sharey=True)
    for side, (axes, name) in enumerate(zip(panels, ("questions", "answers"), strict=True)):
        for when, colour in (("before", "#aaaaaa"), ("after", "#1f5fa8")):
            axes.hist(shares[when][:, side], bins=30, histtype="step", color=colour, label=f"{when} training")
        axes.set(title=name, xlabel="entropy of the attention, share of the largest")
    panels[0].set_ylabel("pairs")
    panels[0].legend(frameon=False, fontsize="small")
    plt.show()

# %% [markdown]
# ## Long answers
#
# The paper's Figure 3 asks whether attention helps where answers are long: P@1 over the questions whose
# correct answers have at most so many tokens (mean over the seeds).

# %%
tokens = np.diff(encoded.test.candidates.texts.offsets)[encoded.test.candidates.index]
ids = [encoded.test.question_ids[i] for i in encoded.test.question_of_row]
lengths = correct_answer_lengths(ids, encoded.test.labels, tokens)
shown = {name: frames[name] for name in ("QA-CNN", "AP-CNN")}
accuracy_by_answer_length(shown, lengths, fewest=5, title=f"{data.title}, test")

# %% [markdown]
# ## Things to try
#
# - `replace(config, model="ap-bilstm", filters=None, window=None, margin=None)`: the same attention over the
#   states of an LSTM, with the paper's options;
# - `replace(config, window=1)`: single words. Does $G$ find the word that occurs on both sides?
# - `replace(config, sampled_negatives=1)`: any wrong answer instead of the hardest of 50;
# - `attention_html(...)` of `evaluation.attention_figures` writes the picture above as a page of its own;
# - `AttentivePooling(return_attention=True)` in a Keras model of your own;
# - `DATASET = "wikiqa"`: numbers that can be set beside published ones; use several seeds, choose by dev.
