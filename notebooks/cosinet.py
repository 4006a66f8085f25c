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
# # Cosinet, equation by equation
#
# Cosinet ([Bonadiman and Moschitti, COLING 2020](https://aclanthology.org/2020.coling-main.457)) asks how
# little is needed to select answer sentences. It compares the words of two texts by one cosine each, with no
# attention that would have to be learnt; and it lets a small recurrent network run over a question's
# candidates in the order in which the document has them, since that order is telling. This notebook puts each
# equation beside the code, and takes the two ideas apart.
#
# As it stands it runs on the small sample that comes with the project. **All numbers below are numbers on
# the sample**, which was written for this project: they show that the machinery works, and say nothing about
# any benchmark. Recorded results are in `reproduce/RESULTS.md`. To run it on real data, change one word:

# %%
DATASET = "sample"  # or "wikiqa" or "squad-sent", which `python -m data_prep get NAME` fetches

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

from data_prep import encode_dataset, load_word_vectors
from evaluation import paired_randomisation_test, summarise
from evaluation.figures import learning_curves
from layers import WordRelatedness
from models.compare_aggregate import compare_aggregate
from models.cosinet import cosinet
from models.pair_ranking import printed_parameters
from reproduce import cosinet_squad_sent, cosinet_wikiqa
from reproduce.cosinet_experiment import CosinetConfig, build_ranker, train_cosinet
from reproduce.experiment import ExperimentData, load_experiment_data, per_question
from reproduce.lexical_baselines import evaluated_rows
from training.listwise_trainer import divergence

# %matplotlib inline
# %config InlineBackend.print_figure_kwargs = {"dpi": 90, "bbox_inches": "tight"}

# The progress bars of a library that draws none here miss a package.
warnings.filterwarnings("ignore", message="IProgress not found")
pd.set_option("display.max_colwidth", 140, "display.max_columns", 60)
FAST = os.environ.get("QA_FAST") == "1"  # shorter trainings, for a quick check that the notebook runs
SEEDS = [0] if FAST else [0, 1, 2]

# The configurations of the scripts on real data; on the sample a smaller network and more epochs.
config = {
    "sample": CosinetConfig(
        dataset="sample", filters=50, dimension=50, epochs=12, batch_size=8, learning_rate=2e-3
    ),
    "wikiqa": cosinet_wikiqa.Config(),
    "squad-sent": cosinet_squad_sent.Config(),
}[DATASET]
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
data = load_experiment_data(config)
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
# ## Equation 1: word relatedness
#
# $$r_{ij} = \cos(w^q_i, w^a_j), \qquad r_i = \max_j r_{ij}, \qquad r_j = \max_i r_{ij}$$
#
# on the frozen word vectors. Each word gets the one number $r$ as a further feature: 1 where the very same
# word stands on the other side, less where there is something related.

# %%
vectors = [data.word_vectors.matrix[text.words] for text in (question, answer)]
units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in vectors]
relatedness = units[0] @ units[1].T
channels = WordRelatedness(concatenate=False)([x[None] for x in vectors])
for name, axis, channel in zip(("question", "answer"), (1, 0), channels, strict=True):
    difference = np.abs(relatedness.max(axis=axis) - np.asarray(channel)[0, :, 0]).max()
    print(f"r of the {name}'s words: largest difference to the layer's {difference:.1e}")


# %%
def draw_relatedness(relatedness, words, title):
    """Draw all cosines, and beside and below them the maxima that the model sees."""
    rows, columns = relatedness.shape
    figure, panels = plt.subplots(
        2,
        2,
        figsize=(0.36 * columns + 2, 0.32 * rows + 1.8),
        width_ratios=(columns, 1),
        height_ratios=(rows, 1),
        layout="constrained",
    )
    style = {"cmap": "Blues", "vmin": 0, "vmax": 1, "aspect": "auto"}
    image = panels[0, 0].imshow(relatedness, **style)
    panels[0, 1].imshow(relatedness.max(axis=1)[:, None], **style)
    panels[1, 0].imshow(relatedness.max(axis=0)[None], **style)
    panels[1, 1].set_axis_off()
    panels[0, 0].set_yticks(range(rows), words[0], fontsize=8)
    panels[0, 0].set_xticks([])
    panels[0, 1].set(xticks=[], yticks=[], title="$r_i$")
    panels[1, 0].set_xticks(range(columns), words[1], rotation=60, ha="right", fontsize=8)
    panels[1, 0].set_yticks([0], ["$r_j$"])
    figure.colorbar(image, ax=panels[:, 1], label="cosine")
    figure.suptitle(title, fontsize="medium")
    plt.show()


draw_relatedness(relatedness, words, "The correct answer")

# %% [markdown]
# The same question with one of its wrong answers. A word's best partner is often a function word or a mark,
# of which every text has some, so that a high $r$ alone says little; the convolution also sees *which* word
# has it.

# %%
wrong = rows.start + int(np.flatnonzero(encoded.test.labels[rows] == 0)[0])
other = encoded.test.candidates.take([wrong])
other_vectors = data.word_vectors.matrix[other.words]
other_unit = other_vectors / np.linalg.norm(other_vectors, axis=1, keepdims=True)
draw_relatedness(
    units[0] @ other_unit.T,
    [words[0], [encoded.vocabulary.words[i] for i in other.words]],
    "A wrong answer",
)

# %% [markdown]
# Is relatedness telling by itself? The mean of $r_i$ over the question's words, for all pairs of the test
# split, against the share of its words that the answer repeats:


# %%
def relatedness_of_pair(i):
    pair = encoded.test.questions.take([encoded.test.question_of_row[i]]), encoded.test.candidates.take([i])
    x, y = (data.word_vectors.matrix[text.words] for text in pair)
    x, y = (each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-9) for each in (x, y))
    return (x @ y.T).max(axis=1).mean(), np.isin(pair[0].words, pair[1].words).mean()


some = range(min(encoded.test.n_rows, 1000))
values = np.array([relatedness_of_pair(i) for i in some])
labels = encoded.test.labels[list(some)].astype(bool)
figure, axes = plt.subplots(figsize=(5.4, 3.4), layout="constrained")
for correct, colour, name in ((False, "#aaaaaa", "wrong answers"), (True, "#d9731a", "correct answers")):
    axes.plot(*values[labels == correct].T, "o", ms=4, alpha=0.7, color=colour, label=name)
axes.set(xlabel="mean relatedness of the question's words", ylabel="share of them in the answer")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# ## The network
#
# A convolution of width 5 over the words with their channel, one for questions and one for answers, followed
# by the maximum, gives $q$ and $a$. The pair is $[q \odot a;\ q - a]$, and one linear layer makes the score.
# By hand:

# %%
ranker = build_ranker(config, data, seed=0)


def text_vector(x, channel, layer):
    """relu(convolution), and the maximum over the words."""
    kernel, bias = (np.asarray(weight) for weight in layer.weights)
    x = np.concatenate([x, channel[:, None]], axis=1)
    before = (len(kernel) - 1) // 2
    padded = np.pad(x, ((before, len(kernel) - 1 - before), (0, 0)))
    steps = sum(padded[i : i + len(x)] @ kernel[i] for i in range(len(kernel))) + bias
    return np.maximum(steps, 0).max(axis=0)


q, a = (
    text_vector(x, relatedness.max(axis=axis), ranker.get_layer(f"{name}_convolution"))
    for x, axis, name in zip(vectors, (1, 0), ("question", "answer"), strict=True)
)
W, b = (np.asarray(weight) for weight in ranker.get_layer("score").weights)
by_hand = (np.concatenate([q * a, q - a]) @ W + b).item()
by_ranker = float(ranker([question.padded(), answer.padded()])[0])
print(f"score by hand {by_hand:.5f}, by the ranker {by_ranker:.5f}")

# %% [markdown]
# **Parameters** as the paper's tables count them, with 300-dimensional word vectors, beside its peer
# Compare-Aggregate (CA), which has attention and five convolutions:

# %%
blank = np.zeros((2, 300), "float32")
printed = {
    "Cosinet": ("904k", cosinet(blank)),
    "Cosinet list": ("904k", cosinet(blank, objective="listwise")),
    "Cosinet list BiRNN": ("1.12M", cosinet(blank, objective="listwise", across="birnn")),
    "Cosinet list RNN": ("1.17M", cosinet(blank, objective="listwise", across="rnn")),
    "CA": ("2.89M", compare_aggregate(blank)),
    "CA list BiRNN": ("4.87M", compare_aggregate(blank, objective="listwise", across="birnn")),
}
pd.DataFrame(
    {
        name: {"paper": paper, "ours": f"{printed_parameters(model):,}"}
        for name, (paper, model) in printed.items()
    }
).T

# %% [markdown]
# ## Two losses
#
# *Pointwise*: binary cross entropy of every pair. *List-wise*: the softmax of a question's scores shall be
# the even distribution over its correct answers, measured by the KL divergence:

# %%
show(divergence)

# %% [markdown]
# ## Rank structure
#
# Where in the list do correct answers stand? In a Wikipedia article the sentence that answers tends to come
# early: on WikiQA the order of the document alone (RR) has P@1 46. Whether a data set's order may be used is
# stated in its description (`order_is_signal`). The sample's is not to be used: list-wise models see its
# candidates shuffled.


# %%
def share_by_place(split, places=10):
    """Of the candidates in each place of their list, the share that is correct."""
    place = np.arange(split.n_rows) - split.candidate_offsets[split.question_of_row]
    return pd.Series(split.labels).groupby(place).mean()[:places]


# %% [markdown]
# To see what a network across the candidates can do, we give the sample an order: in every question, the
# first correct answer is moved to a place that is drawn with weights falling from the front. **This
# makes an artificial data set**, and shows a mechanism, not a result.


# %%
def with_an_order(dataset, seed=0):
    """Move the first correct answer of every question towards the front."""
    rng = np.random.default_rng(seed)

    def reordered(table):
        parts = []
        for _, part in table.groupby("question_id", sort=False):
            weights = 0.5 ** np.arange(len(part))
            place = rng.choice(len(part), p=weights / weights.sum())
            at = int(part["label"].argmax())
            others = [i for i in range(len(part)) if i != at]
            parts.append(part.iloc[[*others[:place], at, *others[place:]]])
        return pd.concat(parts, ignore_index=True)

    tables = {name: reordered(getattr(dataset, name)) for name in ("train", "dev", "test")}
    description = replace(dataset.description, order_is_signal=True)
    return replace(dataset, description=description, **tables)


if DATASET == "sample":
    ordered = with_an_order(data.dataset)
    in_order = encode_dataset(ordered)
    word_vectors = load_word_vectors(config.embeddings, in_order.vocabulary, counts=in_order.word_counts)
    ordered_data = ExperimentData(ordered, in_order, word_vectors)
else:
    ordered_data = data

figure, axes = plt.subplots(figsize=(5.4, 2.8), layout="constrained")
for name, each, colour in (("as it is", data, "#aaaaaa"), ("given an order", ordered_data, "#1f5fa8")):
    shares = share_by_place(each.encoded.train)
    axes.plot(shares.index + 1, shares, "o-", ms=4, color=colour, label=f"{data.title}, {name}")
axes.set(xlabel="place in the list", ylabel="share of correct answers", ylim=(0, None))
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# ## Training
#
# Cosinet pointwise and list-wise, and with a bidirectional RNN across the candidates, on the candidates in
# their (given) order. The scripts' own function trains, and keeps the weights of the epoch that is best on
# dev.

# %%
settings = ["epochs", "batch_size", "learning_rate", "filters", "width"]
print({name: getattr(config, name) for name in settings})
options = {
    "Cosinet": {},
    "Cosinet list": {"objective": "listwise"},
    "Cosinet list BiRNN": {"objective": "listwise", "across": "birnn"},
}
runs = {
    name: [train_cosinet(replace(config, **changed), ordered_data, seed, None, "") for seed in SEEDS]
    for name, changed in options.items()
}
learning_curves([run.history for run in runs["Cosinet list BiRNN"]], title="Cosinet list BiRNN")

# %%
split = ordered_data.encoded.test
rule = next(iter(data.dataset.description.protocols.values()))
by_rule = evaluated_rows(ordered_data.dataset.test, ordered_data.dataset.description, tie_seeds=20)
frames = {name: [by_rule[name]] for name in ("Random", "RR", "WO", "WO+RR")}
for name, of_seeds in runs.items():
    frames[name] = [per_question(split, run.scores["test"]) for run in of_seeds]
table = {
    name: pd.DataFrame([summarise(frame, rule) for frame in each]).mean() for name, each in frames.items()
}
print(f"{data.title}, test, in order: {split.counts_under(rule).sum()} questions, {len(SEEDS)} seed(s)")
pd.DataFrame(table).T.round(3)

# %% [markdown]
# *RR* ranks by the order alone, *WO+RR* by word overlap and then by the order. Is the network across the
# candidates worth something? The test swaps the two rankings of each question at random, and asks how often a
# difference as large as the observed one turns up:

# %%
average = {
    name: np.mean([frame["map"][split.counts_under(rule)] for frame in frames[name]], axis=0)
    for name in ("Cosinet list", "Cosinet list BiRNN")
}
p = paired_randomisation_test(average["Cosinet list BiRNN"], average["Cosinet list"], permutations=10_000)
gain = average["Cosinet list BiRNN"].mean() - average["Cosinet list"].mean()
print(f"Cosinet list BiRNN against Cosinet list: MAP {gain:+.3f}, p = {p:.3f}")

# %% [markdown]
# With the few questions of the sample the network across the candidates need not help on test, even where
# there is an order to learn: it has more to learn from no more data. That it learns the order can be seen.
#
# **What it has learnt.** We hand a trained model one and the same candidate eight times. Without a network
# across the candidates every place gets the same score; the BiRNN prefers places where correct answers stood
# in training:

# %%
same = np.repeat(answer.padded()[None], 8, axis=1)
figure, axes = plt.subplots(figsize=(5.4, 2.8), layout="constrained")
for name, colour in (("Cosinet list", "#aaaaaa"), ("Cosinet list BiRNN", "#1f5fa8")):
    scores = runs[name][0].ranker([question.padded(), same]).numpy()[0]
    axes.plot(np.arange(1, 9), scores - scores.mean(), "o-", ms=4, color=colour, label=name)
axes.set(xlabel="place in the list", ylabel="score of the same answer, centred")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# ## Things to try
#
# - `{"objective": "listwise", "across": "bilstm"}`, or `"rnn"`, which sees only what comes before;
# - `{"encoder": "ca"}`: Compare-Aggregate, with attention to be learnt. How much slower is an epoch
#   (`runs[...][0].history[-1]["seconds"]`)?
# - train on `data` in place of `ordered_data`: without an order, the BiRNN can gain nothing;
# - other weights in `with_an_order`: how strong must an order be, to be worth a network?
# - `WordRelatedness()` in a Keras model of your own: it adds the channel to any pair of sequences;
# - `DATASET = "wikiqa"`: a real order, and numbers that can be set beside published ones; use several seeds,
#   choose by dev.
