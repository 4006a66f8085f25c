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


@pytest.fixture
def save_table():
    """Write a frame in the format that a path's suffix names; a CSV has semicolons."""

    def save(table, path):
        if path.suffix in (".csv", ".tsv"):
            table.to_csv(path, index=False, sep=";" if path.suffix == ".csv" else "\t")
        elif path.suffix == ".jsonl":
            table.to_json(path, orient="records", lines=True)
        elif path.suffix == ".parquet":
            table.to_parquet(path)
        else:
            table.to_excel(path, index=False)

    return save
