"""Draw the accuracy of recorded models against the length of answers (Attentive Pooling, Fig. 3, 4).

    python reproduce/studies/accuracy_by_length.py wikiqa
    python reproduce/studies/accuracy_by_length.py trecqa --variant TRAIN-ALL --protocol clean

One line for every model that has a record among the main ones in reproduce/results/: the precision at 1, mean
over its seeds, of the questions whose correct answers have at most so many tokens. Nothing is trained.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import encode_dataset, load_dataset
from answer_ranking.evaluation.attention_figures import accuracy_by_answer_length, correct_answer_lengths
from answer_ranking.evaluation.figures import save_figure
from answer_ranking.evaluation.records import load_records
from answer_ranking.reproduce.experiments.data_options import DataHome
from answer_ranking.reproduce.experiments.options import RESULTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Config(DataHome):
    """The options."""

    dataset: Annotated[str, tyro.conf.Positional]
    """Name of the data set, such as wikiqa."""
    variant: str | None = None
    """Training set of the data set, where there are several."""
    protocol: str | None = None
    """Which questions count, where a data set has several rules, such as clean."""
    split: str = "test"
    """Which split to look at."""
    paper: str = "attentive_pooling"
    """Whose models to draw, by its name in evaluation/papers.toml."""
    results: Path = RESULTS
    """Folder of the records."""
    output: Path = Path("accuracy_by_answer_length.png")
    """The picture to write."""


def accuracy_figure(config: Config) -> "Figure":
    """Draw the recorded models of a paper on a split."""
    dataset = load_dataset(config.dataset, config.variant, config.data_home)
    protocols = list(dataset.description.protocols)
    only = protocols[0] if len(protocols) == 1 else None
    protocol = config.protocol or only
    if protocol not in protocols:
        names = ", ".join(protocols)
        raise UserError(f"choose one with --protocol: {names}. Received: {config.protocol}")
    wanted = {
        "paper": config.paper,
        "dataset": config.dataset,
        "variant": dataset.variant,
        "protocol": protocol,
        "split": config.split,
    }
    records = []
    for each in load_records(config.results):
        if each.main and each.per_question and vars(each).items() >= wanted.items():
            records.append(each)
    if not records:
        raise UserError(
            f"{config.results} has no main record of {', '.join(filter(None, wanted.values()))}. "
            "reproduce/RESULTS.md lists what there is."
        )
    split = encode_dataset(dataset).splits[config.split]
    questions = [split.question_ids[number] for number in split.question_of_row]
    lengths = correct_answer_lengths(questions, split.labels, split.candidates.lengths)
    tables: dict[str, list[pd.DataFrame]] = {}
    for record in sorted(records, key=lambda record: record.model):
        ids = record.per_question["question_ids"]
        for of_seed in record.per_question["p@1"]:
            table = pd.DataFrame({"p@1": of_seed}, index=ids)
            tables.setdefault(record.model, []).append(table)
    counted = lengths.loc[records[0].per_question["question_ids"]]
    title = " ".join(filter(None, (dataset.description.title, dataset.variant, protocol, config.split)))
    return accuracy_by_answer_length(tables, counted, title=title)


def main(config: Config) -> None:
    """Draw the figure and say where it is."""
    save_figure(accuracy_figure(config), config.output)
    print(config.output)


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
