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
# # The field: five systems that the papers compare themselves with
#
# The four papers quote the numbers of some thirty systems. Those that are neural networks are here, too, one
# file of `models/networks/` and one entry of `models/catalogue/` each, and run under the same protocol. This
# notebook looks into one of them, trains five, and ends with all that has been recorded.
#
# **The trainings of this page are on the small sample that comes with the project**; their numbers say
# nothing about any benchmark. Another data set is one word away:

# %%
import answer_ranking.base.command  # noqa: F401  (keeps the start-up messages of TensorFlow out of the page)

DATASET = "sample"  # or "wikiqa" or "trecqa", which `answer-ranking data get NAME` fetches

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from answer_ranking.engine import Seed
from answer_ranking.evaluation import per_question
from answer_ranking.layers import ValueSharedWeights
from answer_ranking.models.catalogue import find_entry
from answer_ranking.reproduce.experiments.data_options import features_if_taken
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import train
from answer_ranking.training import score

# %%
import os
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # of a library without a progress bar here
# %matplotlib inline
# %config InlineBackend.print_figure_kwargs = {"dpi": 75, "bbox_inches": "tight"}
FAST = os.environ.get("QA_FAST") == "1"  # shorter trainings, for a quick check that the notebook runs
EPOCHS = 1 if FAST else 6

# %% [markdown]
# ## Five ideas
#
# | system | year | how it compares two texts |
# | :--- | ---: | :--- |
# | ARC-I | 2014 | a vector of each text by convolutions; a network over both |
# | CNN + Cnt | 2014 | two vectors, a bilinear form, and counts of the words that both have |
# | aNMM-1 | 2016 | the cosines of all pairs of words, weighted by their values |
# | MV-LSTM | 2016 | a tensor between the states of two LSTMs, and its largest entries |
# | QA-LSTM / CNN | 2016 | an LSTM, convolutions over its states, and the cosine |
#
# An experiment is a name of the catalogue and a data set; what differs from the paper's options is said:

# %%
NAMES = ("arc-i", "cnn-cnt", "anmm-1", "mv-lstm", "qa-lstm-cnn")


def experiment(name):
    data = features_if_taken(find_entry(name), dataset=DATASET)
    return Experiment.of(name, data, epochs=EPOCHS)


experiments = {name: experiment(name) for name in NAMES}
pd.DataFrame(
    [
        (each.title, find_entry(name).method, each.training.learning_rate)
        for name, each in experiments.items()
    ],
    columns=["system", "training method", "learning rate"],
)

# %% [markdown]
# ## Inside aNMM: a weight for each value of a cosine
#
# aNMM ([Yang et al., 2016](https://arxiv.org/abs/1801.01641), Section 3.2) sorts the cosines of a question's
# word with all words of the answer into ranges, adds up each range, and gives each sum a weight of its own:
# $h_j = \sigma(\sum_k w_k x_{jk})$. By hand, for one pair and five ranges, the last of which holds the
# cosines of equal words:

# %%
data = experiments["anmm-1"].data.load()
test = data.test
number = (
    test.question_ids.index("S65")
    if DATASET == "sample"
    else int(np.flatnonzero(test.counts_under("clean"))[0])
)
rows = slice(*test.candidate_offsets[[number, number + 1]])
row = rows.start + int(np.argmax(test.labels[rows]))
question, answer = test.questions.take([number]), test.candidates.take([row])
words = [[data.vocabulary.words[i] for i in text.words] for text in (question, answer)]
print(" ".join(words[0]), "\n" + " ".join(words[1]))

# %%
BINS = 4
matrix = data.word_vectors.matrix
units = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
cosines = units[question.words] @ units[answer.words].T
ranges = np.minimum(np.floor((cosines + 1) / 2 * BINS + 1e-3).astype(int), BINS)
sums = np.stack([np.where(ranges == k, cosines, 0).sum(axis=1) for k in range(BINS + 1)], axis=1)
weights = np.array([0.0, 0.1, 0.2, 0.4, 1.0], "float32")
layer = ValueSharedWeights(1, BINS)
pair = [matrix[question.words][None], matrix[answer.words][None]]
layer(pair)
layer.set_weights([weights[:, None]])
by_layer = np.asarray(layer(pair))[0, :, 0]
print(f"largest difference between both: {np.abs(sums @ weights - by_layer).max():.1e}")
columns = [f"{low:.1f} to {low + 0.5:.1f}" for low in (-1.0, -0.5, 0.0, 0.5)] + ["1"]
pd.DataFrame(sums.round(2), index=words[0], columns=columns)

# %% [markdown]
# ## Training
#
# Each system is trained by the method of its entry in the catalogue, with one seed; the epoch that is best on
# dev is kept. Beside them stands what needs no training: the number of common words, and BM25. Among all
# answers of real collections none of the papers' networks on static word vectors
# [finds significantly more](../docs/retrieval.md) than BM25.

# %%
from answer_ranking.evaluation.rules import measure_rules

counted = test.counts_under("answerable")
by_rule = measure_rules(data.dataset.test, data.dataset.description, tie_seeds=20)
table = {name: by_rule[name][counted].mean() for name in ("Random", "WO", "BM25")}
curves, trained = {}, {}
for name, each in experiments.items():
    own = each.data.load() if find_entry(name).takes_features else data
    trained[name], fitted = train(each, own, Seed(0))
    table[each.title] = per_question(own.test, score(trained[name], own.test))[counted].mean()
    curves[each.title] = [epoch["dev_map"] for epoch in fitted.history]
print(f"{DATASET}, test, {counted.sum()} questions, one seed")
pd.DataFrame(table).T[["map", "mrr", "p@1"]].round(3)

# %%
figure, axes = plt.subplots(figsize=(6, 3.2))
for title, curve in curves.items():
    axes.plot(range(1, len(curve) + 1), curve, "o-", label=title, markersize=3)
axes.set(xlabel="epoch", ylabel="dev MAP", title=f"{DATASET}")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# ## What aNMM has learnt
#
# The weights by the value of a cosine: what is like the question's word counts for an answer. Where few
# cosines lie, the weights stay near 0, where they began.

# %%
values = trained["anmm-1"].get_layer("values")
kernel = np.asarray(values.kernel)[:, 0]
figure, axes = plt.subplots(figsize=(6, 2.8))
axes.plot(np.linspace(-1, 1, len(kernel)), kernel, ".-", linewidth=0.8)
axes.axhline(0, color="#777777", linewidth=0.8)
axes.set(xlabel="cosine of two words", ylabel="weight")
plt.show()

# %% [markdown]
# ## All systems, printed and recorded
#
# As many seeds as the table says, and the options of each system's own paper but for what
# [the page](../docs/field.md) names.

# %%
from answer_ranking.evaluation import load_records
from answer_ranking.evaluation.papers import read_papers
from answer_ranking.reports.field import field_block
from IPython.display import Markdown

block = field_block(load_records("../reproduce/results"), read_papers())
Markdown(block[block.index("### WikiQA") : block.index("### TrecQA raw, trained on TRAIN")])

# %% [markdown]
# ## Things to try
#
# - another name: `arc-ii`, `mp-cnn`, `rank-mp-cnn`, `ai-cnn`, `hd-lstm`, `ntn-lstm`, `cntn`;
# - `python reproduce/field_wikiqa.py --model anmm-1` for the real data;
# - `answer-ranking train answers.csv --model arc-i` for your own.
