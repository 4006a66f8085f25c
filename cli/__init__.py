"""The console command `answer-ranking`: a file per group of subcommands."""

from importlib import import_module

from answer_ranking.base.command import run_command


def run() -> None:
    """Run the command; one line says which extra is missing."""
    run_command(lambda: import_module("answer_ranking.cli.main").main())
