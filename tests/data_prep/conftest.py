import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep the tests out of the user's cache and its files out of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))


@pytest.fixture
def real_data_home(real_folder):
    real_folder("wikiqa")
    return real_folder("trecqa").parent
