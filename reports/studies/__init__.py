"""The pages of the studies: a module computes what a page shows, the template beside it has the sentences."""
