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
# and does not say what $\theta$ is. `notebooks/hyperqa` shows the readings beside the code, `docs/eq9.md`
# what they lead to. This notebook runs the study, small, on the project's sample, by the very functions of
# the script, and looks into the recorded ones on WikiQA and TrecQA.

# %%
import answer_ranking.base.command  # noqa: F401  (keeps the start-up messages of TensorFlow out of the page)

DATASET = "sample"  # or "wikiqa" or "trecqa", which `answer-ranking data get NAME` fetches; an hour or two

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from answer_ranking.reports.studies.eq9_page import TITLES, load_studies, load_study, study_table
from answer_ranking.layers import RiemannianGradient, UnitBall
from answer_ranking.reproduce.studies.eq9 import Config, study
from answer_ranking.training import RiemannianOptimizer

# %%
import contextlib
import io
import logging
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from IPython.display import Markdown, display

logging.getLogger("tensorflow").setLevel("ERROR")  # a study traces many small functions anew
# %config InlineBackend.print_figure_kwargs = {"dpi": 80, "bbox_inches": "tight"}
FAST = os.environ.get("QA_FAST") == "1"  # a much shorter study, for a quick check that the notebook runs

# %% [markdown]
# ## In your own model
#
# `RiemannianGradient` is the reading `points`: it passes points of the ball on as they are, and multiplies
# the gradient that comes back. `RiemannianOptimizer` around any Keras optimizer is `parameters` or
# `released_code`. Here a step of the whole gradient on a weight $W$ of norm 2: the factor is $(1 - 4)^2 / 4$.

# %%
inputs = keras.Input((3,))
points = RiemannianGradient()(UnitBall(max_norm=0.9)(keras.layers.Dense(2)(inputs)))
model = keras.Model(inputs, keras.layers.Dense(1)(points))
model.compile(optimizer=RiemannianOptimizer(keras.optimizers.Adagrad(0.1), "parameters"), loss="mse")
x = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
print("loss by epoch:", np.round(model.fit(x, x[:, :1], epochs=3, verbose=0).history["loss"], 3))

W = keras.Variable([2.0, 0.0])
RiemannianOptimizer(keras.optimizers.SGD(1.0), "parameters").apply(
    [keras.ops.convert_to_tensor([0.0, 1.0])], [W]
)
print("W after a step along (0, 1):", W.numpy())

# %% [markdown]
# ## What to expect: a factor that the optimizer takes out
#
# Under `points` every text on the edge of the ball, at norm $r$, passes on its gradient times $c = (1 -
# r^2)^2 / 4$. If all texts sit there, $c$ is one constant. Adagrad divides each entry of a gradient $g_t$ by
# the root of the sum of its squares so far, plus 0.1 at the start: $c\,g_t / \sqrt{0.1 + c^2\sum_{s \le t}
# g_s^2}$. While the sum is far above 0.1 the constant cancels; where it is not, the factor is a lower
# learning rate:

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
# training back.
#
# ## The study, small
#
# Every condition gets the learning rate with the highest MAP on dev, by trainings with other seeds; then all
# seeds are trained at that rate, and the epoch that is best on dev is scored on test. *p* compares each row
# with `none`. *Epochs to level* counts the epochs until dev reaches 95 % of the best row's best. *Edge share*
# is the share of training texts that the ball's edge cuts off; the norms are medians before the cut.


# %%
def run(config):
    # Progress bars belong to a terminal.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return load_study(study(config))


config = Config(dataset=DATASET, dimension=100, seeds=5, output=Path(tempfile.mkdtemp()))
if DATASET != "sample":
    config = replace(config, dimension=400, seeds=10)
if FAST:
    few = {"conditions": ("none", "points", "cosineqa"), "learning_rates": (0.1,), "tuning_seeds": 1}
    config = replace(config, **few, seeds=2, epochs=3, dimension=20)
small = run(config)
Markdown(study_table(small["conditions"]))

# %%
from answer_ranking.reports.studies.eq9_figure import study_figure

title = f"{small['title']}, {small['protocol']}"
study_figure(small["conditions"], max_norm=config.max_norm, title=title)

# %% [markdown]
# The same on a ball that ends at 0.99, where the factor of `points` is a ten-thousandth:

# %%
edge = {"conditions": ("none", "points"), "max_norm": 0.99, "output": Path(tempfile.mkdtemp())}
near_edge = replace(config, **edge)
Markdown(study_table(run(near_edge)["conditions"]))

# %% [markdown]
# ## The recorded studies
#
# What `reproduce/studies/eq9.py` has measured on the papers' data sets; `docs/eq9.md` has the figures. Do the
# conditions fail on the same questions? Below each table the correlation of average precision over the test
# questions.

# %%
for record in load_studies("../reproduce/results/eq9").values():
    first = record["conditions"][0]["dimension"]
    main = [each for each in record["conditions"] if each["dimension"] == first]
    heading = f"**{record['title']}, {record['protocol']}**: d = {first}, {record['seeds']} seeds"
    display(Markdown(f"{heading}\n\n{study_table(main)}"))
    display(
        pd.DataFrame({TITLES[each["condition"]]: each["ap"] for each in main if "ap" in each}).corr().round(2)
    )

# %% [markdown]
# ## Things to try
#
# - `replace(config, clip_norm=None)`: `released_code` multiplies a long gradient by a quarter of its norm to
#   the fourth. Which rows diverge?
# - `replace(config, max_norm=0.5)`: all texts on a small sphere, where the distance is nearly flat space's;
# - `replace(config, dimensions=(10, 20, 50))`: the same at other sizes (Figure 3 of the paper).
