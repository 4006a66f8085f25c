"""The catalogue's models with sizes that make them small."""

import numpy as np

VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
N_FEATURES = 2
_SIZES = {"dimension": 3, "filters": 4, "units": 5, "slices": 2, "bins": 7, "dimension_filters": 2}


def small(entry, seed=1):
    """Build a model of the catalogue over `VECTORS`, with `N_FEATURES` features if it takes any."""
    defaults = vars(entry.options())
    sizes = {name: size for name, size in _SIZES.items() if name in defaults}
    if isinstance(defaults.get("hidden"), tuple):
        sizes["hidden"] = (4,)
    n_features = N_FEATURES * entry.takes_features
    return entry.build(VECTORS, entry.options(**sizes), seed=seed, n_features=n_features)
