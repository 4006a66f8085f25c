"""The recipes of the papers' experiments, and what they have in common: options, data, runs, the list."""
