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
# # Cosinet, equation by equation
#
# Cosinet ([Bonadiman and Moschitti, COLING 2020](https://aclanthology.org/2020.coling-main.457)) compares the
# words of two texts by one cosine each, with no attention to learn, and lets a small recurrent network run
# over a question's candidates in the order of the document. This notebook puts each equation beside the code,
# takes the two ideas apart, and ends with the paper's tables beside ours.
#
# **The trainings of this page are on the small sample that comes with the project**; their numbers say
# nothing about any benchmark. Another data set is one word away; "wikiqa" also trains the paper's main row:

# %%
import answer_ranking.base.command  # noqa: F401  (keeps the start-up messages of TensorFlow out of the page)

DATASET = "sample"  # or "wikiqa" or "squad-sent", which `answer-ranking data get NAME` fetches

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from answer_ranking.data_prep import encode_dataset, load_dataset, load_word_vectors
from answer_ranking.evaluation import paired_randomisation_test, per_question
from answer_ranking.layers import WordRelatedness
from answer_ranking.models import compare_aggregate, cosinet
from answer_ranking.training import Listwise, ListwiseOptions, Pointwise, PointwiseOptions, fit, score

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
# ## Equation 1: word relatedness
#
# $$r_{ij} = \cos(w^q_i, w^a_j), \qquad r_i = \max_j r_{ij}, \qquad r_j = \max_i r_{ij}$$
#
# on the frozen word vectors. Each word gets the one number $r$ as a further feature: 1 where the very same
# word stands on the other side, less where there is something related. A word's best partner is often a
# function word, so that a high $r$ alone says little; the convolution also sees *which* word has it.

# %%
z = [vectors.matrix[text.words] for text in (question, answer)]
units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in z]
relatedness = units[0] @ units[1].T
by_layer = WordRelatedness(concatenate=False)([x[None] for x in z])
for name, axis, channel in zip(("question", "answer"), (1, 0), by_layer, strict=True):
    difference = np.abs(relatedness.max(axis=axis) - np.asarray(channel)[0, :, 0]).max()
    print(f"r of the {name}'s words: largest difference to the layer's {difference:.1e}")

rows_columns = {"width_ratios": (len(words[1]), 1), "height_ratios": (len(words[0]), 1)}
figure, panels = plt.subplots(2, 2, figsize=(9.5, 4), layout="constrained", **rows_columns)
style = {"cmap": "Blues", "vmin": 0, "vmax": 1, "aspect": "auto"}
image = panels[0, 0].imshow(relatedness, **style)
panels[0, 1].imshow(relatedness.max(axis=1)[:, None], **style)
panels[1, 0].imshow(relatedness.max(axis=0)[None], **style)
panels[1, 1].set_axis_off()
panels[0, 0].set_yticks(range(len(words[0])), words[0], fontsize=8)
panels[0, 0].set_xticks([])
panels[0, 1].set(xticks=[], yticks=[], title="$r_i$")
panels[1, 0].set_xticks(range(len(words[1])), words[1], rotation=60, ha="right", fontsize=8)
panels[1, 0].set_yticks([0], ["$r_j$"])
figure.colorbar(image, ax=panels[:, 1], label="cosine")
plt.show()

# %% [markdown]
# ## The network
#
# A convolution of width 5 over the words with their channel, one for questions and one for answers, followed
# by the maximum, gives $q$ and $a$. The pair is $[q \odot a;\ q - a]$, and one linear layer makes the score.
# By hand:

# %%
ranker = cosinet(vectors.matrix, filters=50, seed=0)


def text_vector(x, channel, layer):
    """relu(convolution), and the maximum over the words."""
    kernel, bias = (np.asarray(weight) for weight in layer.weights)
    x, before = np.concatenate([x, channel[:, None]], axis=1), (len(kernel) - 1) // 2
    padded = np.pad(x, ((before, len(kernel) - 1 - before), (0, 0)))
    steps = sum(padded[i : i + len(x)] @ kernel[i] for i in range(len(kernel))) + bias
    return np.maximum(steps, 0).max(axis=0)


q, a = (
    text_vector(x, relatedness.max(axis=axis), ranker.get_layer(f"{name}_convolution"))
    for x, axis, name in zip(z, (1, 0), ("question", "answer"), strict=True)
)
W, b = (np.asarray(weight) for weight in ranker.get_layer("score").weights)
by_hand = (np.concatenate([q * a, q - a]) @ W + b).item()
by_ranker = float(ranker([question.padded(), answer.padded()])[0])
print(f"score by hand {by_hand:.5f}, by the ranker {by_ranker:.5f}")

# %% [markdown]
# Parameters as the paper's tables count them, with 300-dimensional word vectors, beside Compare-Aggregate
# (CA), its peer with attention and five convolutions:

# %%
from answer_ranking.models.networks.pair_ranking import printed_parameters

blank = np.zeros((2, 300), "float32")
models = {
    "Cosinet": ("904k", cosinet(blank)),
    "Cosinet list BiRNN": ("1.12M", cosinet(blank, objective="listwise", across="birnn")),
    "CA": ("2.89M", compare_aggregate(blank)),
    "CA list BiRNN": ("4.87M", compare_aggregate(blank, objective="listwise", across="birnn")),
}
counts = {
    name: {"paper": paper, "ours": f"{printed_parameters(model):,}"}
    for name, (paper, model) in models.items()
}
pd.DataFrame(counts).T

# %% [markdown]
# ## Two losses
#
# *Pointwise*: binary cross entropy of every pair. *List-wise*: the softmax of a question's scores shall be
# the even distribution over its correct answers, measured by the KL divergence:

# %%
from answer_ranking.training.listwise import divergence

show(divergence)

# %% [markdown]
# ## Rank structure
#
# In a Wikipedia article the sentence that answers tends to come early: on WikiQA the order of the document
# alone (RR) has P@1 46. Whether a data set's order may be used is stated in its description
# (`order_is_signal`). The sample's may not, so we give it an order: the first correct answer of every
# question is moved to a place that is drawn with weights falling from the front. **This makes an artificial
# data set**, and shows a mechanism, not a result.


# %%
from dataclasses import replace


def with_an_order(table, rng):
    """Move the first correct answer of every question towards the front."""
    parts = []
    for _, part in table.groupby("question_id", sort=False):
        weights = 0.5 ** np.arange(len(part))
        place, at = rng.choice(len(part), p=weights / weights.sum()), int(part["label"].argmax())
        others = [i for i in range(len(part)) if i != at]
        parts.append(part.iloc[[*others[:place], at, *others[place:]]])
    return pd.concat(parts, ignore_index=True)


if not dataset.description.order_is_signal:
    rng = np.random.default_rng(0)
    changed = {name: with_an_order(table, rng) for name, table in dataset.splits.items()}
    dataset = replace(dataset, description=replace(dataset.description, order_is_signal=True), **changed)
    data = encode_dataset(dataset)
    vectors = load_word_vectors(["glove-6b-50d"], data.vocabulary, counts=data.word_counts)
test = data.test
place = np.arange(test.n_rows) - test.candidate_offsets[test.question_of_row]
share = pd.Series(test.labels).groupby(place).mean()[:8].rename("share of correct answers")
share.rename_axis("place").to_frame().T.round(2)

# %% [markdown]
# ## Training on the sample
#
# Cosinet pointwise and list-wise, and with a bidirectional RNN across the candidates. `fit` keeps the weights
# of the epoch that is best on dev.

# %%
from answer_ranking.evaluation.figures import learning_curves

MODELS = {
    "Cosinet": {},
    "Cosinet list": {"objective": "listwise"},
    "Cosinet list BiRNN": {"objective": "listwise", "across": "birnn"},
}
EPOCHS = 3 if FAST else 12


def train(name, seed):
    model = cosinet(vectors.matrix, filters=50, seed=seed, **MODELS[name])
    if name == "Cosinet":
        method = Pointwise(
            data.train, PointwiseOptions(epochs=EPOCHS, learning_rate=2e-3, batch_size=32), seed=seed
        )
    else:
        method = Listwise(
            data.train, ListwiseOptions(epochs=EPOCHS, learning_rate=2e-3, batch_size=8), seed=seed
        )
    return model, fit(model, method, dev=data.dev, verbose=False)


runs = {name: [train(name, seed) for seed in SEEDS] for name in MODELS}
learning_curves([result.history for _, result in runs["Cosinet list BiRNN"]], title="Cosinet list BiRNN")

# %% [markdown]
# *RR* ranks by the order alone, *WO+RR* by word overlap and then by the order. On the sample the networks may
# be ahead of BM25; among all answers of real collections none of the papers' networks
# on static word vectors [finds significantly more](../docs/retrieval.md) than BM25.

# %%
from answer_ranking.evaluation.rules import measure_rules

by_rule = measure_rules(dataset.test, dataset.description, tie_seeds=20)
counted = test.counts_under("answerable")
frames = {name: [by_rule[name]] for name in ("Random", "RR", "WO", "WO+RR", "BM25")}
for name, of_seeds in runs.items():
    frames[name] = [per_question(test, score(model, test)) for model, _ in of_seeds]
table = {name: pd.concat(each)[np.tile(counted, len(each))].mean() for name, each in frames.items()}
print(f"{DATASET}, test, {counted.sum()} questions, {len(SEEDS)} seed(s)")
pd.DataFrame(table).T[["map", "mrr", "p@1", "ndcg@10"]].round(3)

# %% [markdown]
# Is the difference more than chance? The test swaps the two rankings of each question at random:

# %%
average = {name: np.mean([frame["map"][counted] for frame in each], axis=0) for name, each in frames.items()}
for name, other in [("Cosinet list BiRNN", "Cosinet list")]:
    p = paired_randomisation_test(average[name], average[other], permutations=10_000)
    print(f"{name} against {other}: MAP {average[name].mean() - average[other].mean():+.3f}, p = {p:.3f}")

# %% [markdown]
# With so few questions the network across the candidates need not help on test. That it learns the order can
# be seen: we hand a trained model one and the same candidate eight times. Without such a network every place
# gets the same score; the BiRNN prefers places where correct answers stood in training.

# %%
same = np.repeat(answer.padded()[None], 8, axis=1)
figure, axes = plt.subplots(figsize=(5.4, 2.8), layout="constrained")
for name, colour in (("Cosinet list", "#aaaaaa"), ("Cosinet list BiRNN", "#1f5fa8")):
    scores = runs[name][0][0]([question.padded(), same]).numpy()[0]
    axes.plot(np.arange(1, 9), scores - scores.mean(), "o-", ms=4, color=colour, label=name)
axes.set(xlabel="place in the list", ylabel="score of the same answer, centred")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# ## The paper's tables beside ours
#
# As printed, and as recorded by the scripts in `reproduce/`; `reproduce/RESULTS.md` has the variants, tests
# and commands.

# %%
from answer_ranking.evaluation import load_records
from answer_ranking.reports.results import paper_tables
from IPython.display import Markdown

Markdown(paper_tables("cosinet", load_records("../reproduce/results")))

# %% [markdown]
# ## Reproduce the main row
#
# Cosinet list BiRNN on WikiQA, five seeds: MAP 75.62 printed, 72.85 ± 1.06 recorded. About ten minutes on two
# cores.
# With `DATASET = "wikiqa"` at the top it is trained here; [Data](../docs/data.md) says where its word
# vectors are.

# %%
import subprocess
import sys

command = "reproduce/cosinet_wikiqa.py --model cosinet-list-birnn --seeds 5 --embeddings glove+spacy-450d"
if DATASET == "wikiqa":
    print(
        subprocess.run(
            [sys.executable, *command.split()], cwd="..", check=True, capture_output=True, text=True
        ).stdout
    )

# %% [markdown]
# ## Things to try
#
# - `across="bilstm"`, or `"rnn"`, which sees only what comes before;
# - `compare_aggregate(...)` in place of `cosinet(...)`: attention to be learnt. How much slower is an epoch?
# - other weights in `with_an_order`: how strong must an order be, to be worth a network?
# - `WordRelatedness()` in a Keras model of your own: it adds the channel to any pair of sequences.
