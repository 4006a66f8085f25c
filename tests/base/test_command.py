import pytest

from answer_ranking.base.command import run_command
from answer_ranking.data_prep import UserError


@pytest.mark.parametrize(
    ("outcome", "code", "printed"),
    [
        (None, 0, ""),
        (3, 3, ""),
        (UserError("a.csv, line 2: wrong."), 2, "error: a.csv, line 2: wrong.\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_exit_codes(capsys, outcome, code, printed):
    def main():
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == code
    assert capsys.readouterr().err == printed
