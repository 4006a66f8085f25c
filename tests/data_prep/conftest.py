import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep the tests out of the user's cache and its files out of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))


@pytest.fixture
def real_data_home():
    home = os.environ.get("QA_DATA_HOME")
    if not home:
        pytest.skip("QA_DATA_HOME is not set: the real data sets are not here")
    for folder in ("wikiqa", "trecqa"):
        if not (Path(home) / folder).is_dir():
            pytest.skip(f"QA_DATA_HOME holds no folder {folder}/")
    return Path(home)
