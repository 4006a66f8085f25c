"""A page and a service over an index or a ranker: see `make_app`."""
