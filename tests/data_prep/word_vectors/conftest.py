import gzip
import zipfile

import numpy as np
import pytest

WORDS = ["the", "Paris", "paris", "new_york", "zoë", "13", "/", "rare"]
VALUES = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)


@pytest.fixture(scope="session")
def known():
    """The words of the files, and their vectors."""
    return WORDS, VALUES


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The same vectors in every format; gensim writes those that it knows."""
    from gensim.models import KeyedVectors

    folder = tmp_path_factory.mktemp("vectors")
    vectors = KeyedVectors(5)
    vectors.add_vectors(WORDS, VALUES)
    vectors.save_word2vec_format(str(folder / "word2vec.txt"), binary=False)
    vectors.save_word2vec_format(str(folder / "word2vec.bin"), binary=True)
    text = (folder / "word2vec.txt").read_bytes()
    rows = text.split(b"\n", 1)[1]
    (folder / "glove.txt").write_bytes(rows)
    (folder / "trailing.txt").write_bytes(text.replace(b"\n", b" \n"))
    (folder / "blanks.txt").write_bytes(rows + b". . 1 2 3 4 5\n")
    header, *lines = text.decode().strip().split("\n")
    numberbatch = [header, *(f"/c/en/{line}" for line in lines)]
    (folder / "numberbatch.txt").write_text("\n".join(numberbatch), encoding="utf-8")
    for name in ("word2vec.txt", "word2vec.bin", "glove.txt", "numberbatch.txt"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    with zipfile.ZipFile(folder / "one.zip", "w") as archive:
        archive.write(folder / "glove.txt", "glove.txt")
    with zipfile.ZipFile(folder / "two.zip", "w") as archive:
        archive.write(folder / "glove.txt", "glove.5d.txt")
        archive.writestr("glove.1d.txt", "the 1\n")
    return folder
