"""HyperQA and CosineQA on WikiQA (Table 2 of the HyperQA paper).

A quick look with one seed: python reproduce/hyperqa_wikiqa.py
"""

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.hyperqa import cosineqa, hyperqa, run_hyperqa
from answer_ranking.reproduce.experiments.options import DataOptions, parse

DATA = DataOptions(dataset="wikiqa")
# The best of the recorded searches on dev (reproduce/searches).
PRESETS = [hyperqa(DATA), cosineqa(DATA, learning_rate=0.3)]


if __name__ == "__main__":
    run_command(lambda: run_hyperqa(parse(__doc__, PRESETS)))
