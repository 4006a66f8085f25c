"""MiniLM fine-tuned as a cross-encoder, beside the BERT-base that Cosinet's paper quotes (Table 4).

A quick look with one seed: python reproduce/cross_encoder.py

List-wise: python reproduce/cross_encoder.py --model cross-encoder-list

On TrecQA: python reproduce/cross_encoder.py --dataset trecqa --variant TRAIN

It trains all weights of the encoder that --embeddings names. An epoch of WikiQA takes ten to
twenty minutes on two cores.
"""

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.data_options import EncoderData
from answer_ranking.reproduce.experiments.options import Experiment, parse
from answer_ranking.reproduce.experiments.run import run_experiment

WIKIQA = EncoderData(dataset="wikiqa")
TRECQA = EncoderData(dataset="trecqa", variant="TRAIN")
PRESETS = [
    Experiment.of(name, data) for data in (WIKIQA, TRECQA) for name in ("cross-encoder", "cross-encoder-list")
]


if __name__ == "__main__":
    run_command(lambda: run_experiment(parse(__doc__, PRESETS)))
