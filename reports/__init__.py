"""The documents that are written from the records: Python computes frames, templates hold the sentences."""
