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
# # Quickstart
#
# Two short tours, each of which you can cut out and keep:
#
# 1. **Reuse a layer.** `HyperbolicDistance` and `UnitBall` in a plain Keras model that draws a tree into a
#    disk.
# 2. **Train on your own table.** From a CSV file to a ranker that sorts texts of your own.
#
# Nothing is downloaded: the word vectors come with the installation. Everything here runs in under a minute
# on two cores. The notebook `hyperqa` goes on from here and takes the paper's model apart.

# %%
import os

# Keep TensorFlow's start-up messages out of the page, the last one by doing without oneDNN.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import itertools
import shutil
import tempfile
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from keras import ops

from layers import HyperbolicDistance, UnitBall

# %matplotlib inline

FAST = os.environ.get("QA_FAST") == "1"  # shorter trainings, for a quick check that the notebook runs
folder = Path(tempfile.mkdtemp(prefix="quickstart-"))  # for the files that this notebook writes

# %% [markdown]
# ## 1. Reuse a layer: a tree in the Poincaré disk
#
# Near the edge of the Poincaré disk there is ever more room: the circumference of a circle grows
# exponentially with its radius, as the number of leaves of a tree does with its depth. So a tree should fit
# there better than into the ordinary plane. Let us see with a small one: the distance between two nodes is
# the number of branches that one has to walk from one to the other.

# %%
TREE = {
    "life": ["animal", "plant", "fungus"],
    "animal": ["mammal", "bird", "fish"],
    "plant": ["tree", "grass", "herb"],
    "fungus": ["mould", "yeast", "mushroom"],
}
parent = {child: node for node, children in TREE.items() for child in children}
names = ["life", *parent]


def path_to_root(name):
    return [name, *path_to_root(parent[name])] if name in parent else [name]


def branches_between(one, other):
    return len(set(path_to_root(one)) ^ set(path_to_root(other)))


pairs = np.array(list(itertools.combinations(range(len(names)), 2)))
branches = np.array([branches_between(names[i], names[j]) for i, j in pairs], dtype="float32")
print(f"{len(names)} nodes, {len(pairs)} pairs, {branches.min():.0f} to {branches.max():.0f} branches apart")

# %% [markdown]
# The model is an ordinary functional one: each node has two free coordinates, `UnitBall` brings them into the
# disk (the smooth way, so that gradients pass everywhere), and `HyperbolicDistance` measures. Neither layer
# has weights of its own; both run on every Keras backend. For comparison, a twin with the ordinary distance.


# %%
def node_distance(hyperbolic):
    """Make a model from two nodes' numbers to the distance of their places in the plane."""
    one, other = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    place = keras.layers.Embedding(
        len(names),
        2,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=0.3, seed=0),
        name="place",
    )
    if hyperbolic:
        ball = UnitBall(projection="smooth", name="ball")
        distance = HyperbolicDistance(name="distance")([ball(place(one)), ball(place(other))])
    else:
        distance = ops.norm(place(one) - place(other), axis=-1)
    return keras.Model([one, other], distance)


def squared_relative_error(wanted, found):
    return ops.square(found / wanted - 1)


def fit(model):
    model.compile(
        optimizer=keras.optimizers.Adam(0.05),
        loss=squared_relative_error,
        metrics=["mean_absolute_percentage_error"],
    )
    # All pairs are one batch; an epoch shows them 50 times.
    x = np.tile(pairs, (50, 1))
    model.fit(
        [x[:, 0], x[:, 1]],
        np.tile(branches, 50),
        batch_size=len(pairs),
        epochs=2 if FAST else 8,
        shuffle=False,
        verbose=0,
    )
    return model.evaluate([pairs[:, 0], pairs[:, 1]], branches, batch_size=len(pairs), verbose=0)[1]


disk, plane = node_distance(hyperbolic=True), node_distance(hyperbolic=False)
print(f"mean error of a distance in the Poincaré disk: {fit(disk):4.1f} %")
print(f"mean error of a distance in the plane:         {fit(plane):4.1f} %")

# %% [markdown]
# The picture: the disk's straight lines are arcs that meet its edge at a right angle. The root has settled
# near the centre without being told to.

# %%
points = disk.get_layer("ball")(disk.get_layer("place").embeddings).numpy() @ [1, 1j]  # as complex numbers


def straight_line(p, q):
    """Give points on the hyperbolic straight line from p to q: move p to 0, go there on a ray, move back."""
    m = (q - p) / (1 - p.conjugate() * q)
    ray = np.tanh(np.linspace(0, 1, 40) * np.arctanh(abs(m))) * m / abs(m)
    return (ray + p) / (1 + p.conjugate() * ray)


figure, axes = plt.subplots(figsize=(4.6, 4.6), dpi=100)
axes.add_patch(plt.Circle((0, 0), 1, color="#f2f5fa", ec="#555555"))
for child, node in parent.items():
    line = straight_line(points[names.index(node)], points[names.index(child)])
    axes.plot(line.real, line.imag, color="#1f5fa8", linewidth=1.2)
axes.plot(points.real, points.imag, "o", color="#d9731a", markersize=5)
for name, point in zip(names, points, strict=True):
    right = point.real > 0
    axes.annotate(
        name,
        (point.real, point.imag),
        xytext=(5 if right else -5, 4),
        textcoords="offset points",
        ha="left" if right else "right",
        fontsize=8,
    )
axes.set(aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
axes.axis("off")
plt.show()

# %% [markdown]
# Saving and loading need nothing special: the layers are registered with Keras, so importing `layers` is
# enough.

# %%
disk.save(folder / "tree.keras")
again = keras.models.load_model(folder / "tree.keras", compile=False)
bird_and_tree = [np.array([names.index("bird")]), np.array([names.index("tree")])]
for model in (disk, again):
    print(f"from bird to tree: {model.predict(bird_and_tree, verbose=0)[0]:.4f}")

# %% [markdown]
# ## 2. Train a ranker on your own table
#
# A table needs three columns: `question`, `candidate` and `label` (1 for a correct answer, 0 for a wrong
# one); CSV, TSV, JSON lines and Parquet are read. One table to train on, one to choose the best epoch by, one
# to report on.
#
# Here is a table as one might have it at work: questions to a bicycle workshop (invented) and their answers.
# The wrong candidates of a question are answers to five other questions of the same table.

# %%
FAQ = """
When are you open?|Monday to Friday from nine to six, and on Saturday mornings until noon.
Do I need an appointment for a repair?|Just drop by; only a full overhaul has to be booked in advance.
How much is a new inner tube?|With fitting, a tube costs twelve euros.
Why does my chain make a noise?|It is probably dry or worn; a little oil on each link often helps.
How often should I oil the chain?|Every two hundred kilometres, and after each ride in the rain.
Can you repair an electric bike?|Yes, motors and batteries of most makers are serviced here.
How long does the battery last?|Expect about seven hundred charges before the range grows noticeably shorter.
Do you sell used bicycles?|There is a small stock of second-hand bikes, all with a year of guarantee.
Which size of frame do I need?|Measure your inside leg and multiply it by 0.66 for the height of the frame.
How hard should I pump the tyres?|The right pressure is printed on the side of every tyre.
My brakes squeal. What can I do?|Clean the rim with alcohol and roughen the pads with sandpaper.
When must brake pads be replaced?|As soon as the grooves in the rubber are gone, new pads are due.
Can I pay by card?|Cash, card and bank transfer are all welcome.
Do you rent out bikes?|Yes, city bikes cost fifteen euros a day and tandems thirty.
How do I mend a flat tyre?|Take out the tube, find the hole in water, roughen it and glue a patch on.
Which lock is the safest?|A heavy U-lock of hardened steel resists longest.
Do you have helmets for children?|Helmets for kids start at size 46 and may be tried on in the shop.
What does a full service cost?|An overhaul costs ninety euros, parts not included.
Where can I park my car?|Behind the house there are four spaces for customers.
Is there a guarantee on repairs?|All work is guaranteed for twelve months.
How do I clean my bike?|Warm water, a soft brush and mild soap; never use a steam jet.
Can I bring my dog into the shop?|Dogs on a lead may come in, and there is a bowl of water.
Who can adjust my gears?|Our mechanics set the gears while you wait.
What is the price of a bell?|A simple bell costs five euros.
How much does a new tyre cost?|Tyres start at twenty euros, plus eight for the fitting.
How can I stop my brakes from rubbing?|Centre the pads over the rim with the small screw at the side.
Can I rent an electric bicycle?|Electric bikes cost thirty-five euros a day, battery charged.
On which days is the workshop closed?|On Sundays and public holidays nobody is here.
How should I charge the battery in winter?|Let it warm to room temperature first, then plug it in.
May children try a bicycle?|Kids may ride in the yard, with a helmet and a parent.
How do I find out the pressure for my tyres?|Look at the numbers on the side wall or ask us for a gauge.
Can I pay later?|Regular customers get an invoice and have two weeks for the transfer.
""".strip()
entries = [line.split("|") for line in FAQ.splitlines()]
parts = {"train": entries[:18], "dev": entries[18:24], "test": entries[24:]}


def write_table(part, path):
    answers = [answer for _, answer in part]
    rows = []
    for i, (question, answer) in enumerate(part):
        wrong = [answers[(i + shift) % len(part)] for shift in range(1, 6)]
        rows += [(question, answer, 1), *((question, candidate, 0) for candidate in wrong)]
    pd.DataFrame(rows, columns=["question", "candidate", "label"]).to_csv(path, index=False)


for name, part in parts.items():
    write_table(part, folder / f"{name}.csv")
pd.read_csv(folder / "train.csv").head(7)

# %% [markdown]
# **Data.** Tables are checked as they are read (an error names the file, the line and the cure), the texts
# are split into words, and every word gets its vector.

# %%
from data_prep import encode_dataset, load_own_tables, load_word_vectors

dataset = load_own_tables(*(folder / f"{name}.csv" for name in ("train", "dev", "test")))
encoded = encode_dataset(dataset, cache_home=folder)
vectors = load_word_vectors(["glove-6b-50d"], encoded.vocabulary, counts=encoded.word_counts)
print(vectors)
for name, split in encoded.splits.items():
    print(f"{name}: {split.n_questions} questions, {split.n_rows} candidates")

# %% [markdown]
# **Model and training.** `hyperqa` is a functional Keras model with two inputs of word numbers and one score.
# `fit_pairwise` trains it so that correct answers score higher than wrong ones by a margin, and leaves it
# with the weights of its best epoch on dev. `PackedBagOfWords` is the fast way to feed texts; it uses the
# model's own weights.

# %%
from evaluation import evaluate_ranking, summarise
from models.hyperqa import hyperqa
from training.fit_pairwise import fit_pairwise
from training.packed_bag_of_words import PackedBagOfWords
from training.pairwise_settings import PairwiseSettings
from training.scoring import SplitScorer

ranker = hyperqa(vectors.matrix, dimension=100, max_norm=0.99, seed=0)
encoding = PackedBagOfWords(ranker.get_layer("encoder"))


def per_question(split, scores):
    question_ids = [split.question_ids[i] for i in split.question_of_row]
    return evaluate_ranking(question_ids, split.labels, scores)


def measure(split, scores):
    return summarise(per_question(split, scores), rule="answerable")


score_test = SplitScorer(ranker, encoding, encoded.test)
before = measure(encoded.test, score_test())
result = fit_pairwise(
    ranker,
    encoding,
    encoded.train,
    encoded.dev,
    PairwiseSettings(epochs=3 if FAST else 15, batch_size=4, learning_rate=0.05, eq9="parameters"),
    measure,
    verbose=False,
)
print(f"best epoch on dev: {result.best_epoch + 1} of {len(result.history)}")

# %% [markdown]
# **Evaluation** is trec_eval's own code. Eight invented questions prove nothing about the method; they show
# how the numbers come about.

# %%
after = measure(encoded.test, score_test())
pd.DataFrame({"before training": before, "after training": after}).T.round(3)

# %%
per_question(encoded.test, score_test()).round(3)

# %% [markdown]
# **Rank texts.** A ranker is saved with its vocabulary, and then sorts texts of any origin, here in Python
# and just the same from the command line: `python reproduce/rank.py MODEL "question" candidates.txt`. A word
# that is in none of the three tables is unknown to this ranker.

# %%
from reproduce.experiment import ExperimentConfig, ExperimentData, save_ranker
from reproduce.rank import rank_texts

save_ranker(ranker, ExperimentData(dataset, encoded, vectors), ExperimentConfig("own"), folder / "model")
candidates = [
    "A patch and glue cost four euros.",
    "The shop is open on Monday.",
    "Use a soft brush and warm water.",
    "The battery may be charged here.",
]
for score, text in rank_texts(folder / "model", "How much does a patch cost?", candidates):
    print(f"{score:8.3f}  {text}")

# %% [markdown]
# ## Where to go from here
#
# - `reproduce/demo.py` does the same on the bundled sample, with several seeds, figures and a table.
# - The notebook `hyperqa` follows one question through the equations of the paper.
# - For a table of thousands of questions: `dimension=300`, `batch_size=32`, and better word vectors
#   (`load_word_vectors(["path/to/vectors.txt"], ...)`).

# %%
shutil.rmtree(folder)
