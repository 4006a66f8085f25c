import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep the tests out of the user's cache and its files out of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))


@pytest.fixture
def real_folder():
    """Give a folder of the real data sets by its path, or skip the test where it is absent."""

    def find(path):
        home = os.environ.get("QA_DATA_HOME")
        if not home or not (Path(home) / path).is_dir():
            pytest.skip(f"QA_DATA_HOME is not set, or holds no folder {path}/: the real data are not here")
        return Path(home) / path

    return find


@pytest.fixture
def real_data_home(real_folder):
    real_folder("wikiqa")
    return real_folder("trecqa").parent
