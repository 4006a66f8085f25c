import os
from pathlib import Path

import pytest

# Read here: other tests leave the variable out of their environment.
DATA_HOME = os.environ.get("QA_DATA_HOME")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep the tests out of the user's cache and its files out of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))


@pytest.fixture
def real_folder():
    """Give a folder of the real data sets by its path, or skip the test where it is absent."""

    def find(path):
        if not DATA_HOME or not (Path(DATA_HOME) / path).is_dir():
            pytest.skip(f"QA_DATA_HOME is not set, or holds no folder {path}/: the real data are not here")
        return Path(DATA_HOME) / path

    return find


@pytest.fixture
def real_data_home(real_folder):
    real_folder("wikiqa")
    return real_folder("trecqa").parent
