"""CTRN, QRNN and the LSTM baseline on YahooQA (Table 4 of the CTRN paper).

A quick look with one seed: python reproduce/ctrn_yahooqa.py --model ctrn

The data are the released env.pkl, which is not fetched: put it into the folder yahooqa/ of the data folder.
Every question comes with its correct answer and four that a search engine found.
"""

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.ctrn import CTRNData, ctrn, run_ctrn
from answer_ranking.reproduce.experiments.options import parse

DATA = CTRNData(dataset="yahooqa")
PRESETS = [ctrn(name, DATA) for name in ("ctrn", "qrnn", "lstm")]


if __name__ == "__main__":
    run_command(lambda: run_ctrn(parse(__doc__, PRESETS)))
