"""Training: one `fit` for all losses; pairwise hinge with HyperQA's Eq. 9, pointwise, and list-wise."""
