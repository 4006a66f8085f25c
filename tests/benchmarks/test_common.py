"""What the benchmarks share."""

import os

import common
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable


def test_work_is_done_in_a_process_of_its_own_and_its_errors_come_back(tmp_path):
    assert common.in_own_process(os.getpid) != os.getpid()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        common.in_own_process(check_writable, tmp_path / "file")
