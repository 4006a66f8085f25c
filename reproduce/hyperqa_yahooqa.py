"""HyperQA and CosineQA on YahooQA (Table 3 of the HyperQA paper).

A quick look with one seed: python reproduce/hyperqa_yahooqa.py

The data are the released env.pkl, which is not fetched: put it into the folder yahooqa/ of the data folder.
Every question comes with its correct answer and four that a search engine found.
"""

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.hyperqa import cosineqa, hyperqa, run_hyperqa
from answer_ranking.reproduce.experiments.options import DataOptions, parse

DATA = DataOptions(dataset="yahooqa")
PRESETS = [hyperqa(DATA), cosineqa(DATA)]


if __name__ == "__main__":
    run_command(lambda: run_hyperqa(parse(__doc__, PRESETS)))
