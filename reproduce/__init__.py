"""The experiments: one script per paper and data set, and what they share."""
