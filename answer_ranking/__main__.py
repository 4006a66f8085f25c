"""`python -m answer_ranking` is the command `answer-ranking`."""

from answer_ranking.cli.main import main

main()
