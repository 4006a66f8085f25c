"""The table of speed on the pages of the models."""

import json

from answer_ranking.reports.benchmarks import speed_block


def test_a_row_has_the_medians_and_the_median_ratio_of_the_rounds(tmp_path):
    row = {"ours": [0.2, 0.1, 0.4], "plain": [4.0, 3.0, 16.0], "best_plain": [3.0, 1.0, 4.0], "cause": "x"}
    record = {"table": {"an epoch": row}, "measured": {"processor": "one"}}
    (tmp_path / "epoch.json").write_text(json.dumps(record))
    _, _, line, *_ = speed_block(tmp_path / "epoch.json").splitlines()
    # The ratios of the rounds are 20, 30 and 40, and 15, 10 and 10; those of the medians 20 and 15.
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["an epoch", "0.2 s", "4 s", "3 s", "30.0", "10.0"]
