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
# # Search: the best of very many answers
#
# HyperQA gives question and answer a point each. So the answers are encoded once, kept in an **index**, and a
# question finds the nearest of a million in milliseconds. Nothing is downloaded or trained here: the ranker
# `hyperqa_squad` comes with the package. It takes under a minute on two cores.

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from answer_ranking.data_prep import load_dataset
from answer_ranking.ranking import AnswerIndex, Ranker
from IPython.display import display

# %%
import os
import tempfile
import time
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # of a library without a progress bar here
pd.set_option("display.max_colwidth", 90)
root = Path.cwd().parent
os.chdir(tempfile.mkdtemp(prefix="search-"))  # for the files that this notebook writes

# %% [markdown]
# ## 1. From a table to an index
#
# A table needs the column `answer` (or `candidate`, or `text`); other columns are kept, and searches can
# filter by them. The bundled sample has answers to 120 questions.

# %%
sample = load_dataset("sample")
texts = pd.unique(pd.concat([table["candidate"] for table in sample.splits.values()]))
answers = pd.DataFrame({"answer": texts, "words": [len(text.split()) for text in texts]})
answers.to_csv("answers.csv", index=False)

ranker = Ranker.from_preset("hyperqa_squad")
index = AnswerIndex.build(ranker, "answers.csv", "index")
print(f"{len(index)} answers;", ", ".join(sorted(path.name for path in Path("index").iterdir())))

# %% [markdown]
# The same from a shell: `answer-ranking index answers.csv --model hyperqa_squad --output index`.
#
# ## 2. Search
#
# By the nearest points, by BM25 (words in common), by both (the sum of their scores, the default), or by
# runs of letters in common.

# %%
question = sample.test["question"].iloc[0]
print(question)
columns = ["rank", "score", "candidate_id", "candidate"]
for stage in ("both", "nearest", "bm25", "ngrams"):
    print(stage)
    display(index.search(question, 3, stage)[columns])

# %% [markdown]
# A filter, and a second ranker that reads question and answer together and re-ranks the first 20:

# %%
display(index.search(question, 3, where={"words": list(range(8, 16))})[[*columns, "words"]])
display(index.search(question, 3, "both", rerank="cosinet_squad", rerank_depth=20)[columns])

# %% [markdown]
# How often is a correct answer the first, and among the first ten, of all answers?

# %%
asked = sample.test[["question_id", "question"]].drop_duplicates()
right = sample.test[sample.test["label"] == 1].groupby("question_id")["candidate"].agg(set)
rows = []
for stage in ("both", "nearest", "bm25", "ngrams"):
    start = time.perf_counter()
    found = index.search(asked, 10, stage)
    per_question = 1e3 * (time.perf_counter() - start) / len(asked)
    hit = [
        text in right[number] for number, text in zip(found["question_id"], found["candidate"], strict=True)
    ]
    first = found["rank"][hit].groupby(found["question_id"][hit]).min()
    rows.append([stage, (first == 1).sum() / len(asked), len(first) / len(asked), per_question])
pd.DataFrame(rows, columns=["first stage", "first", "among ten", "ms per question"]).round(3)

# %% [markdown]
# [The retrieval study](../docs/retrieval.md) asks the same of the real data sets, with trained rankers.
#
# ## 3. The Poincaré disk of a question
#
# Points have 400 dimensions, a picture two. The distance of a question u and an answer v depends on three
# numbers: the norms of u and v, and the angle between them. So put the question on the x axis at its norm,
# and every answer at its norm and at its angle from the question: all distances **to the question** are
# exact. (Those between answers are not. The side, above or below, says nothing.)

# %%
found = index.search(question, len(index), "nearest")
u = ranker.encode_query([question])[0].astype(float)
v = ranker.encode_document(found["candidate"].tolist()).astype(float)
norms = np.linalg.norm(v, axis=1)
angle = np.arccos(np.clip(v @ u / (norms * np.linalg.norm(u)), -1, 1)) * np.where(found["rank"] % 2, 1, -1)
places = np.stack([norms * np.cos(angle), norms * np.sin(angle)], axis=1)
start = np.array([np.linalg.norm(u), 0])


def distance(a, b):
    """The Poincaré distance (Eq. 4)."""
    edge = (1 - (a * a).sum(-1)) * (1 - (b * b).sum(-1))
    return np.arccosh(1 + 2 * np.square(a - b).sum(-1) / edge)


error = np.abs(distance(start, places) - distance(u, v)).max()
print(f"largest error of a distance to the question: {error:.1e}")
figure, axes = plt.subplots(figsize=(5.4, 5))
axes.add_patch(plt.Circle((0, 0), 1, fill=False, color="grey"))
correct = [text in right[asked["question_id"].iloc[0]] for text in found["candidate"]]
axes.scatter(
    *places.T, c=np.where(correct, "tab:green", "tab:orange"), s=np.where(correct, 90, 12), alpha=0.7
)
axes.scatter(*start, marker="*", s=160, color="tab:blue", zorder=3)
axes.annotate("question", start, xytext=(8, -4), textcoords="offset points", fontsize=8)
for rank, place in zip(found["rank"][:3], places[:3], strict=True):
    axes.annotate(str(rank), place, xytext=(6, 4), textcoords="offset points", fontsize=8)
axes.set(xlim=(-1.05, 1.15), ylim=(-1.05, 1.05), aspect="equal", title="all answers; green: correct")
axes.axis("off")
plt.show()

# %% [markdown]
# All points lie at the ball's largest norm, 0.9, as is usual with trained models: there the distance ranks
# like the cosine. [Norms](../docs/norms.md) shows it for the papers' data.
#
# ## 4. Recall against speed
#
# Up to 20,000 answers the search is exact. Beyond, points quantised to four bits choose those that are
# compared exactly. `benchmarks/search.py` has measured with a million answers what that costs; the rings are
# the settings in use.

# %%
measured = json.loads((root / "benchmarks" / "results" / "search.json").read_text())
figure, axes = plt.subplots(figsize=(6, 3.4))
for name, part in measured["of_points"].items():
    sweep = pd.DataFrame(part["sweep"]).sort_values("speed_against_flat")
    (line,) = axes.plot(sweep["speed_against_flat"], sweep["recall_at_10"], "o-", label=name)
    used = part["chosen"]
    axes.plot(
        used["speed_against_flat"], used["recall_at_10"], "o", ms=12, mfc="none", color=line.get_color()
    )
axes.set(xlabel="times as fast as exact search", ylabel="recall@10", title=f"{measured['points']:,} answers")
axes.legend(frameon=False)
plt.show()
