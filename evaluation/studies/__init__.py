"""The pages of the studies: their tables, written from the records."""
