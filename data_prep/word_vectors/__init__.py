"""Word vectors: published files, vectors trained on a data set, and the table that a model starts from."""
