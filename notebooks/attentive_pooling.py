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
# # Attentive Pooling, equation by equation
#
# Attentive Pooling ([dos Santos, Tan, Xiang and Zhou, 2016](https://arxiv.org/abs/1602.03609)) lets each of
# two texts decide what counts in the other: words are compared all with all, and the best match of a word
# becomes its weight. This notebook puts each equation beside the code, draws what the model attends to,
# trains it beside the same network with a plain maximum, and ends with the paper's tables beside ours.
#
# **The trainings of this page are on the small sample that comes with the project**; their numbers say
# nothing about any benchmark. Another data set is one word away; "wikiqa" also trains the paper's main row:

# %%
import answer_ranking.base.command  # noqa: F401  (keeps the start-up messages of TensorFlow out of the page)

DATASET = "sample"  # or "wikiqa" or "trecqa", which `answer-ranking data get NAME` fetches

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from answer_ranking.data_prep import encode_dataset, load_dataset, load_word_vectors
from answer_ranking.evaluation import paired_randomisation_test, per_question
from answer_ranking.layers import AttentivePooling
from answer_ranking.models import ap_cnn, attention_weights, qa_cnn
from answer_ranking.training import HardestNegative, HardestNegativeOptions, fit, score

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


# %% [markdown]
# ## One pair
#
# We follow one question and its first correct answer:

# %%
dataset = load_dataset(DATASET)
data = encode_dataset(dataset)
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
# ## Equations 1 to 11: states, maximum, cosine
#
# One convolution, the same for both texts, turns the words of a window into a column of $Q$ or $A$, $Q = W^1
# Z^q + b^1$ (Equations 1 and 2; in AP-BiLSTM the columns are the states of a bidirectional LSTM, Equations 3
# to 8). QA-CNN, without attention, keeps of each feature its largest value, $r = \tanh(\max_m Q_{\cdot m})$,
# and scores by the cosine $s(q, a) = \cos(r^q, r^a)$ (Equations 9 to 11). By hand, with the weights of a new
# AP-CNN:

# %%
ranker = ap_cnn(vectors.matrix, filters=100, window=3, seed=0)
encoder, matcher = ranker.get_layer("encoder"), ranker.get_layer("matcher")
kernel, bias = (np.asarray(weight) for weight in encoder.get_layer("convolution").weights)


def states(text):
    """Equation 1: one row per word."""
    z, before = vectors.matrix[text.words], (len(kernel) - 1) // 2
    padded = np.pad(z, ((before, len(kernel) - 1 - before), (0, 0)))
    return sum(padded[i : i + len(z)] @ kernel[i] for i in range(len(kernel))) + bias


def cosine(x, y):
    return x @ y / np.linalg.norm(x) / np.linalg.norm(y)


Q, A = states(question), states(answer)
difference = np.abs(A - encoder(answer.padded())[0].numpy()[0]).max()
print(f"A: {A.shape}, largest difference to the encoder's {difference:.1e}")
print(f"score of our pair by the maximum: {cosine(np.tanh(Q.max(axis=0)), np.tanh(A.max(axis=0))):.4f}")

# %% [markdown]
# ## Equations 13 to 18: attentive pooling
#
# Every step of the question meets every step of the answer, $G = \tanh(Q^{\mathsf T} U A)$ with a learnt $U$.
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
G = np.tanh(Q @ np.asarray(pooling.kernel) @ A.T)


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


by_hand = {"sigma_q": softmax(G.max(axis=1)), "sigma_a": softmax(G.max(axis=0)), "G": G}
by_model = attention_weights(ranker, question.padded(), answer.padded())
for (name, ours), model in zip(by_hand.items(), by_model, strict=True):
    print(f"{name}: {ours.shape}, largest difference to the model's {np.abs(ours - model[0]).max():.1e}")
score_by_hand = cosine(Q.T @ by_hand["sigma_q"], A.T @ by_hand["sigma_a"])
by_ranker = float(ranker([question.padded(), answer.padded()])[0])
print(f"score by hand {score_by_hand:.5f}, by the ranker {by_ranker:.5f}")

# %%
show(AttentivePooling.call)

# %% [markdown]
# ## Equation 12: the loss
#
# $L = \max(0,\ m - s(q, a^+) + s(q, a^-))$, where $a^-$ is the one of 50 sampled wrong answers that scores
# highest. Finding it takes 50 forward passes and one backward pass; texts are encoded once:

# %%
from answer_ranking.training.hardest_negative import HardestNegativeTrainer

show(HardestNegativeTrainer.hardest)

# %% [markdown]
# ## Training on the sample
#
# AP-CNN and QA-CNN with the same filters. Batch size, margin and learning rate are those of the paper's Table
# 2, so that what lies between the two is not the pooling alone. The wrong answers are drawn once per batch,
# which is much quicker.

# %%
from answer_ranking.evaluation.figures import learning_curves

MODELS = {"QA-CNN": qa_cnn, "AP-CNN": ap_cnn}
TABLE_2 = {
    "QA-CNN": {"batch_size": 1, "margin": 0.009, "learning_rate": 0.05, "learning_rate_decay": False},
    "AP-CNN": {"batch_size": 20, "margin": 0.5, "learning_rate": 1.1, "learning_rate_decay": True},
}


def train(name, seed, epochs=3 if FAST else 12):
    options = HardestNegativeOptions(epochs=epochs, share_negatives=True, **TABLE_2[name])
    model = MODELS[name](vectors.matrix, filters=100, window=3, seed=seed)
    return model, fit(model, HardestNegative(data.train, options, seed=seed), dev=data.dev, verbose=False)


runs = {"untrained AP-CNN": [train("AP-CNN", seed, epochs=0) for seed in SEEDS]}
runs |= {name: [train(name, seed) for seed in SEEDS] for name in MODELS}
learning_curves([result.history for _, result in runs["AP-CNN"]], title=f"AP-CNN, {DATASET}")

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
for name, other in [("AP-CNN", "QA-CNN")]:
    p = paired_randomisation_test(average[name], average[other], permutations=10_000)
    print(f"{name} against {other}: MAP {average[name].mean() - average[other].mean():+.3f}, p = {p:.3f}")

# %% [markdown]
# ## What the model looks at (Figures 5 and 6)
#
# $G$ with the maxima that make a word's importance, and the words on a ground as strong as their weights.
# **The attention is never sharp:** importance lies between -1 and 1, so that no weight is more than $e^2
# \approx 7.4$ times another.

# %%
from answer_ranking.evaluation.attention_figures import attention_heat_map


def draw_alignment(ranker, title):
    G = attention_weights(ranker, question.padded(), answer.padded())[2][0]
    size = (0.36 * len(words[1]) + 1.5, 0.3 * len(words[0]) + 1.2)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    image = axes.imshow(G, cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    axes.plot(G.argmax(axis=1), range(len(G)), "s", mfc="none", mec="#1f5fa8", ms=11, label="row's maximum")
    axes.plot(range(G.shape[1]), G.argmax(axis=0), "o", mfc="none", mec="#333333", ms=7, label="column's")
    axes.set_xticks(range(len(words[1])), words[1], rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(words[0])), words[0], fontsize=8)
    axes.set_title(title, fontsize="medium")
    figure.colorbar(image, label="G")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    plt.show()


best = runs["AP-CNN"][0][0]
draw_alignment(ranker, "G before training")
draw_alignment(best, "G after training")

# %%
of_question, of_answer, _ = attention_weights(best, question.padded(), answer.padded())
attention_heat_map(words[0], of_question[0], words[1], of_answer[0], title="AP-CNN after training")

# %% [markdown]
# On the sample training makes the attention *flatter*: the entries of $G$ run into the ends of the tanh, most
# words have some partner at nearly 1, and then they all weigh the same. Entropy of the attention over all
# test pairs, as a share of the largest possible:


# %%
def evenness(ranker):
    question, answer = test.questions.padded(test.question_of_row), test.candidates.padded()
    means = []
    for weights, n in zip(
        attention_weights(ranker, question, answer), (question > 0, answer > 0), strict=False
    ):
        entropy = -np.sum(weights * np.log(np.where(weights > 0, weights, 1)), axis=1)
        means.append(np.mean(entropy / np.log(n.sum(axis=1))))
    return means


shares = {"before training": evenness(runs["untrained AP-CNN"][0][0]), "after training": evenness(best)}
pd.DataFrame(shares, index=["questions", "answers"]).T.round(3)

# %% [markdown]
# ## Long answers (Figure 3)
#
# P@1 over the questions whose correct answers have at most so many tokens, mean over the seeds:

# %%
from answer_ranking.evaluation.attention_figures import accuracy_by_answer_length, correct_answer_lengths

ids = [test.question_ids[i] for i in test.question_of_row]
lengths = correct_answer_lengths(ids, test.labels, test.candidates.lengths)
shown = {name: frames[name] for name in ("QA-CNN", "AP-CNN")}
accuracy_by_answer_length(shown, lengths, fewest=5, title=f"{DATASET}, test")

# %% [markdown]
# ## The paper's tables beside ours
#
# As printed, and as recorded by the scripts in `reproduce/`; `reproduce/RESULTS.md` has the variants, tests
# and commands.

# %%
from answer_ranking.evaluation import load_records
from answer_ranking.reports.results import paper_tables
from IPython.display import Markdown

Markdown(paper_tables("attentive_pooling", load_records("../reproduce/results")))

# %% [markdown]
# ## Reproduce the main row
#
# AP-CNN on WikiQA, five seeds: MAP 0.688 printed, 0.684 ± 0.016 recorded. About half an hour on two cores.
# With `DATASET = "wikiqa"` at the top it is trained here; [Data](../docs/data.md) says where its word
# vectors are.

# %%
import subprocess
import sys

command = "reproduce/attentive_pooling_wikiqa.py --model ap-cnn --seeds 5 --embeddings glove+spacy-450d"
if DATASET == "wikiqa":
    print(
        subprocess.run(
            [sys.executable, *command.split()], cwd="..", check=True, capture_output=True, text=True
        ).stdout
    )

# %% [markdown]
# ## Things to try
#
# - `ap_bilstm(vectors.matrix, units=50)`: the same attention over the states of an LSTM;
# - `window=1`: single words. Does $G$ find the word that occurs on both sides?
# - `sampled_negatives=1`: any wrong answer in place of the hardest of 50;
# - `AttentivePooling(return_attention=True)` in a Keras model of your own.
