"""`python -m answer_ranking.reports`: write the documents, or check them with `--check`."""

from answer_ranking.base.command import run_command
from answer_ranking.reports.documents import main

if __name__ == "__main__":
    run_command(main)
