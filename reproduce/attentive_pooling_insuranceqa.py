"""AP-CNN, AP-BiLSTM, QA-CNN and QA-BiLSTM on InsuranceQA (Table 3 of the Attentive Pooling paper).

A quick look: python reproduce/attentive_pooling_insuranceqa.py --share-negatives --epochs 1

A full run, recorded: python reproduce/attentive_pooling_insuranceqa.py --share-negatives --seeds 1 --record

The paper reports the accuracy, which is the precision at 1, on InsuranceQA V1. The runs here are on V2
(V1's files are read as well, where you have them): their numbers cannot be compared with the paper's one to
one. The word vectors are word2vec's, trained on the training texts with 100 dimensions, as the paper's were.
"""

from dataclasses import dataclass

import tyro

from data_prep.cli import run_command
from reproduce.attentive_pooling_experiment import AttentivePoolingConfig, run_attentive_pooling
from reproduce.experiment import ExperimentResult


@dataclass(frozen=True, kw_only=True)
class Config(AttentivePoolingConfig):
    """Attentive Pooling on InsuranceQA."""

    dataset: str = "insuranceqa"
    """Name of the data set."""
    embeddings: tuple[str, ...] = ("task-skipgram-100d",)
    """Word vectors, by name or path, several are concatenated; task-skipgram-100d are trained on the training
    texts by word2vec and kept."""

    def paper_values(self) -> dict[str, float | bool]:
        """Give the paper's values of the model on InsuranceQA, where AP-CNN's window is 3."""
        values = super().paper_values()
        return values | {"window": 3} if self.model == "ap-cnn" else values


def run(config: Config) -> ExperimentResult:
    """Run the experiment and print the accuracies on dev and all test splits beside the paper's."""
    from evaluation.paper_results import read_paper_results
    from reproduce.experiment import PAPER_RESULTS

    result = run_attentive_pooling(config)
    record = result.records[0]
    printed = read_paper_results(PAPER_RESULTS)
    rows = printed[(printed["paper"] == "attentive_pooling") & (printed["dataset"] == "insuranceqa")]
    values = rows[rows["model"] == record.model].set_index("metric")["value"]
    accuracies = {"dev": record.metrics_dev["p@1"]} | {r.split: r.metrics["p@1"] for r in result.records}
    ours = ", ".join(f"{split} {100 * summary['mean']:.1f}" for split, summary in accuracies.items())
    theirs = ", ".join(f"{name.removeprefix('accuracy_')} {value}" for name, value in values.items())
    print(f"\nAccuracy (P@1, percent) on {result.data.title}: {ours}. The paper's on V1: {theirs}.")
    return result


if __name__ == "__main__":
    run_command(lambda: run(tyro.cli(Config, description=__doc__)))
