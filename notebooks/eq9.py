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
# # What HyperQA's Equation 9 does
#
# HyperQA converts gradients before each step by the inverse of the ball's metric,
#
# $$\nabla_R = \frac{(1 - \lVert\theta\rVert^2)^2}{4}\,\nabla_E ,$$
#
# and does not say what $\theta$ is. `notebooks/hyperqa` shows the readings beside the code that applies them,
# `docs/eq9.md` says in two pages what they lead to. This notebook does the study: which of them trains
# better, faster, or differently, each at the learning rate that suits it? First a small one on the project's
# sample, by the very functions of the script, then a look into the recorded ones on the papers' data sets.
#
# **The trainings of this page are on the sample**, which is too small for a verdict; they show how the study
# works. With one word changed below, the cells train on WikiQA or TrecQA, which takes an hour or two.

# %%
DATASET = "sample"  # or "wikiqa" or "trecqa", which `python -m data_prep get NAME` fetches

# %%
import os

# Keep TensorFlow's start-up messages out of the page, the last one by doing without oneDNN.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import contextlib
import io
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from evaluation.eq9_figure import study_figure
from evaluation.eq9_summary import TITLES, load_studies, load_study, study_table
from reproduce.eq9_study import Config, study
from reproduce.experiment import RESULTS

# %matplotlib inline
# %config InlineBackend.print_figure_kwargs = {"dpi": 80, "bbox_inches": "tight"}

FAST = os.environ.get("QA_FAST") == "1"  # a much shorter study, for a quick check that the notebook runs

# %% [markdown]
# ## What to expect: a factor that the optimizer takes out
#
# Under `points` every text that sits on the edge of the ball, at norm $r$, passes on its gradient times
# $c = (1 - r^2)^2 / 4$. If all texts sit there, $c$ is one constant. Plain gradient descent would then simply
# be slower by $c$. Adagrad, which HyperQA uses, divides each entry of a gradient $g_t$ by the root of the sum
# of its squares so far, plus 0.1 at the start:
#
# $$\frac{c\,g_t}{\sqrt{0.1 + c^2\sum_{s \le t} g_s^2}} .$$
#
# While the sum is far above 0.1 the constant cancels; where $c$ or the gradients are so small that it is not,
# the factor is a lower learning rate. The ratio of the step with the factor to the step without it, for
# entries of several sizes, all the same in every step:

# %%
steps = np.geomspace(1, 5000, 200)
figure, both = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for axes, norm in zip(both, (0.7, 0.99), strict=True):
    factor = (1 - norm**2) ** 2 / 4
    for size, colour in ((10.0, "#0b2e57"), (1.0, "#1f5fa8"), (0.1, "#5b93cb"), (0.01, "#9dbfe3")):
        with_it = factor * size / np.sqrt(0.1 + factor**2 * steps * size**2)
        axes.loglog(steps, with_it / (size / np.sqrt(0.1 + steps * size**2)), color=colour, label=f"{size:g}")
    axes.axhline(factor, color="#777777", linestyle=":")
    axes.set(xlabel="step", title=f"texts at norm {norm:g}: factor {factor:.2g} (dotted)")
both[0].set(ylabel="step with the factor / without it")
both[1].legend(title="entry of the gradient", frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# So at norm 0.7 the conversion should hardly be seen after some epochs, and at 0.99 it should hold the
# training back. `parameters` and `released_code` multiply each trainable tensor by a factor of its own, so
# that W_p, b_p and w_f no longer move in step; clipping the norm of the whole gradient then decides who of
# them is heard.
#
# ## The study, small
#
# Every condition gets the learning rate with the highest MAP on dev, by trainings with other seeds; then all
# seeds are trained at that rate, and the epoch that is best on dev is scored on test.

# %%
folder = Path(tempfile.mkdtemp())
config = Config(
    dataset=DATASET,
    dimension=100,
    seeds=5,
    results=folder / "results",
    output=folder / "runs",
)
if DATASET != "sample":
    config = replace(config, dimension=400, seeds=10)
if FAST:
    config = replace(config, learning_rates=(0.1,), tuning_seeds=1, seeds=2, epochs=3, dimension=20)
# Progress bars belong to a terminal.
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    path = study(config)
small = load_study(path)
print(f"{small['title']}, {small['seeds']} seeds, {config.epochs} epochs, d = {config.dimension}")
display(Markdown(study_table(small["conditions"])))

# %% [markdown]
# *p* compares each row with `none` by a paired randomisation test over the questions, corrected after Holm.
# *Epochs to level* counts the epochs until dev first reaches 95 % of the best row's best. *Edge share* is
# the share of training texts that the ball's edge cuts off, and the last columns are the median norms of dev
# texts before they are cut.


# %%
def drawn(record):
    """Draw a study as docs/eq9.md has it."""
    titled = f"{record['title']}, {record['protocol']}"
    return study_figure(record["conditions"], max_norm=record["configuration"]["max_norm"], title=titled)


drawn(small)

# %% [markdown]
# ## Closer to the edge
#
# The same on a ball that ends at 0.99, where the factor of `points` is a ten-thousandth:

# %%
near_edge = replace(config, conditions=("none", "points"), max_norm=0.99)
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    path = study(near_edge)
display(Markdown(study_table(load_study(path)["conditions"])))

# %% [markdown]
# ## The recorded studies
#
# What `reproduce/eq9_study.py` has measured on the papers' data sets, as this page found it when it ran;
# `docs/eq9.md` is kept in step with the records.

# %%
recorded = {name: each for name, each in load_studies(RESULTS / "eq9").items() if each["dataset"] != "sample"}
print(f"{len(recorded)} recorded studies")
for record in recorded.values():
    first = record["conditions"][0]["dimension"]
    main = [each for each in record["conditions"] if each["dimension"] == first]
    heading = f"**{record['title']}, {record['protocol']}**: d = {first}, {record['seeds']} seeds"
    display(Markdown(f"{heading}\n\n{study_table(main)}"), drawn(record))

# %% [markdown]
# Do the conditions fail on the same questions? The correlation of average precision over the test questions
# between conditions, each question's value a mean over the seeds:

# %%
for record in recorded.values():
    first = record["conditions"][0]["dimension"]
    main = [each for each in record["conditions"] if each["dimension"] == first and "ap" in each]
    ap = pd.DataFrame({TITLES[each["condition"]]: each["ap"] for each in main})
    print(f"{record['title']}, {record['protocol']}, {len(ap)} questions")
    display(ap.corr().round(2))

# %% [markdown]
# ## Things to try
#
# - `replace(config, clip_norm=None)`: without the clipping, `released_code` multiplies a long gradient by a
#   quarter of its norm to the fourth. Which rows diverge?
# - `replace(config, max_norm=0.5)`: all texts on a small sphere, where the distance is nearly flat space's;
# - `replace(config, dimensions=(10, 20, 50))`: the same at other sizes, each with rates of its own; the last
#   panel of the figure fills (Figure 3 of the paper);
# - `replace(config, learning_rates=(0.01, 0.03, 0.1, 0.3, 1.0))`: does a star in the table, a rate at the end
#   of those tried, go away?
