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
# # Quickstart
#
# Two short tours, each of which you can cut out and keep: **reuse a layer** in a plain Keras model that draws
# a tree into a disk, and **train on your own table**, from a table to a ranker that sorts texts of your own.
# Nothing is downloaded, and everything runs in under a minute on two cores. The notebook `hyperqa` takes the
# paper's model apart.

# %%
import answer_ranking.base.command  # noqa: F401  (keeps the start-up messages of TensorFlow out of the page)
import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from answer_ranking.layers import HyperbolicDistance, UnitBall
from answer_ranking.ranking import Ranker, train_ranker

# %%
import contextlib
import io
import itertools
import os
import tempfile
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # of a library without a progress bar here
FAST = os.environ.get("QA_FAST") == "1"  # shorter trainings, for a quick check that the notebook runs
os.chdir(tempfile.mkdtemp(prefix="quickstart-"))  # for the files that this notebook writes

# %% [markdown]
# ## 1. Reuse a layer: a tree in the Poincaré disk
#
# Near the edge of the Poincaré disk there is ever more room, as a tree has ever more leaves. So a tree should
# fit there better than into the ordinary plane. The distance of two nodes is the number of branches between
# them.

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


pairs = np.array(list(itertools.combinations(range(len(names)), 2)))
branches = np.array([len({*path_to_root(names[i])} ^ {*path_to_root(names[j])}) for i, j in pairs], "float32")
print(f"{len(names)} nodes, {len(pairs)} pairs, {branches.min():.0f} to {branches.max():.0f} branches apart")

# %% [markdown]
# Each node has two free coordinates, `UnitBall` brings them into the disk (the smooth way, so that gradients
# pass everywhere), and `HyperbolicDistance` measures. For comparison, a twin with the ordinary distance.


# %%
def node_distance(hyperbolic):
    """Make a model from two nodes' numbers to the distance of their places in the plane."""
    one, other = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    start = keras.initializers.RandomNormal(stddev=0.3, seed=0)
    place = keras.layers.Embedding(len(names), 2, embeddings_initializer=start, name="place")
    if hyperbolic:
        ball = UnitBall(projection="smooth", name="ball")
        distance = HyperbolicDistance(name="distance")([ball(place(one)), ball(place(other))])
    else:
        distance = keras.ops.norm(place(one) - place(other), axis=-1)
    return keras.Model([one, other], distance)


def squared_relative_error(wanted, found):
    return keras.ops.square(found / wanted - 1)


def error_after_training(model):
    metric = "mean_absolute_percentage_error"
    model.compile(keras.optimizers.Adam(0.05), squared_relative_error, metrics=[metric])
    # All pairs are one batch; an epoch shows them 50 times.
    x, y = np.tile(pairs, (50, 1)).T, np.tile(branches, 50)
    epochs = 2 if FAST else 8
    model.fit(list(x), y, batch_size=len(pairs), epochs=epochs, shuffle=False, verbose=0)
    return model.evaluate(list(pairs.T), branches, batch_size=len(pairs), verbose=0)[1]


disk, plane = node_distance(hyperbolic=True), node_distance(hyperbolic=False)
print(f"mean error of a distance in the Poincaré disk: {error_after_training(disk):4.1f} %")
print(f"mean error of a distance in the plane:         {error_after_training(plane):4.1f} %")

# %% [markdown]
# The disk's straight lines are arcs that meet its edge at a right angle. The root has settled near the centre
# without being told to.

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
    offset = {"xytext": (5 if point.real > 0 else -5, 4), "textcoords": "offset points", "fontsize": 8}
    axes.annotate(name, (point.real, point.imag), ha="left" if point.real > 0 else "right", **offset)
axes.set(aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
axes.axis("off")
plt.show()

# %% [markdown]
# Saving and loading need nothing special: the layers are registered with Keras.

# %%
disk.save("tree.keras")
again = keras.models.load_model("tree.keras", compile=False)
bird_and_tree = [np.array([names.index("bird")]), np.array([names.index("tree")])]
print("from bird to tree:", *(f"{model.predict(bird_and_tree, verbose=0)[0]:.4f}" for model in (disk, again)))

# %% [markdown]
# ## 2. Train a ranker on your own table
#
# A table needs the columns `question` and `candidate` (or `answer`), as a file or a frame. `label` is 1 for
# a correct answer and 0 for a wrong one; without it all are correct, and wrong ones are drawn. Here is one
# as one might have it at work: questions to a bicycle workshop (invented) and their answers. The wrong
# candidates of a question are answers to five other questions.

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
rows = [
    (question, entries[(i + shift) % len(entries)][1], int(shift == 0))
    for i, (question, _) in enumerate(entries)
    for shift in (0, 1, 2, 3, 4, 5)
]
table = pd.DataFrame(rows, columns=["question", "candidate", "label"])
table.head(7)

# %% [markdown]
# `train_ranker` takes whole questions out for dev and test, trains, keeps the epoch that is best on dev, and
# compares with rules that need no training. `answer-ranking train faq.csv` does the same from the command
# line, with a report in HTML. A few invented questions prove nothing about the method; they show how the
# numbers come about.

# %%
with contextlib.redirect_stderr(io.StringIO()):  # a progress bar belongs to a terminal
    trained = train_ranker(table, model="hyperqa", epochs=3 if FAST else 15, examples=1)

# %% [markdown]
# **Rank texts.** A ranker is saved with its vocabulary, and then sorts texts of any origin: `answer-ranking
# rank MODEL "question" candidates.txt`, or here. A word that the table lacks is looked up in the word
# vectors.

# %%
trained.ranker.save("model")
candidates = [
    "A patch and glue cost four euros.",
    "The shop is open on Monday.",
    "Use a soft brush and warm water.",
    "The battery may be charged here.",
]
Ranker.load("model").rank("How much does a patch cost?", candidates).round(3)

# %% [markdown]
# ## Where to go from here
#
# - `reproduce/demo.py` trains on the bundled sample, with several seeds, figures and a table.
# - README's example trains with `fit`, `Pairwise` and `score`, step by step.
# - The notebook `hyperqa` follows one question through the equations of the paper.
