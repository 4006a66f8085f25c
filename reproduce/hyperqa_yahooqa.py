"""HyperQA and CosineQA on YahooQA (Table 3 of the HyperQA paper).

A quick look with one seed: python reproduce/hyperqa_yahooqa.py

The data are the released env.pkl, which is not fetched: put it into the folder yahooqa/ of the data folder.
Every question comes with its correct answer and four that a search engine found.
"""

from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.norms_figure import draw_norms
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = DataOptions(dataset="yahooqa")
PRESETS = [Experiment.of("hyperqa", DATA), Experiment.of("cosineqa", DATA)]


if __name__ == "__main__":
    run_script(__doc__, PRESETS, draw_norms)
