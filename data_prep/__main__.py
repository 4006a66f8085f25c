"""`python -m data_prep`."""

from data_prep.cli import main, run_command

if __name__ == "__main__":
    run_command(main)
