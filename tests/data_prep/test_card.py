import subprocess
import sys

import pandas as pd
import pytest

from data_prep import Dataset, UserError, load_dataset
from data_prep.card import dataset_card
from data_prep.cli import main
from data_prep.registry import OWN_TABLES
from data_prep.tables import check_table


def test_a_card_counts_by_hand():
    rows = {"question": ["who?"] * 3 + ["why?"] * 2, "candidate": list("abcde"), "label": [1, 0, 0, 1, 0]}
    table = check_table(pd.DataFrame(rows), "rows")
    table.attrs["skipped"] = {"answers without text": 7}
    page = dataset_card(Dataset(table, table, table, description=OWN_TABLES))
    assert page.startswith("# own tables\n")
    assert "| train | all | 2 | 5 | 2 | 1.000 | GIVES THE LABEL AWAY: correct first |" in page
    assert "| test | 1.000 | 0.000 |" in page
    assert "     0-5         5 " + "#" * 40 in page
    assert "train: left out, answers without text: 7." in page


def test_the_command_prints_or_writes_the_card(tmp_path, capsys):
    assert main(["card", "sample"]) == 0
    printed = capsys.readouterr().out
    assert printed == dataset_card(load_dataset("sample"))
    assert main(["card", "sample", "--output", str(tmp_path / "card.md")]) == 0
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == printed
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        main(["card", "sample", "--output", str(tmp_path / "file" / "card.md")])


def test_an_unknown_data_set_ends_with_2():
    result = subprocess.run(
        [sys.executable, "-m", "data_prep", "card", "wikipedia"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: unknown data set")
