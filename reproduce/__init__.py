"""The experiments: one script per paper and data set, and what they share."""

import os

# TensorFlow would print a page about the processor before each table; errors are still shown.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
