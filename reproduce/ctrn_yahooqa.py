"""CTRN, QRNN and the LSTM baseline on YahooQA (Table 4 of the CTRN paper).

A quick look with one seed: python reproduce/ctrn_yahooqa.py --model ctrn

The data are the released env.pkl, which is not fetched: put it into the folder yahooqa/ of the data folder.
Every question comes with its correct answer and four that a search engine found.
"""

from answer_ranking.reproduce.experiments.data_options import OverlapData
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import run_script

DATA = OverlapData(dataset="yahooqa")
PRESETS = [Experiment.of(name, DATA) for name in ("ctrn", "qrnn", "lstm")]


if __name__ == "__main__":
    run_script(__doc__, PRESETS)
