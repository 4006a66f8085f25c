"""HyperQA on the bundled sample: train, rank, evaluate, draw.

    python reproduce/demo.py

The sample is small and made for this: its numbers show that everything works, and nothing about any
benchmark.
"""

import shlex

from answer_ranking.base.files import atomic_write
from answer_ranking.engine import build
from answer_ranking.evaluation import per_question
from answer_ranking.evaluation.rules import measure_rules
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.norms_figure import draw_norms
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import Run, means_table, run_script

SMALL = {"epochs": 15, "batch_size": 8, "dimension": 100}
PRESETS = [Experiment.of("hyperqa", DataOptions(dataset="sample"), **SMALL).changed(seeds=3)]
RULES = {"random order": "Random", "word overlap": "WO", "BM25": "BM25"}


def comparison(run: Run) -> str:
    """Set the trained rankers beside rules that need no training and beside untrained rankers, on test."""
    from answer_ranking.training import score

    data, test = run.data, run.data.test
    rules = measure_rules(data.dataset.test, data.dataset.description, tie_seeds=20)
    tables = {name: [rules[rule]] for name, rule in RULES.items()}
    untrained, trained = [], []
    for seed in run.seeds:
        model = build(run.experiment.entry, run.experiment.model, data, seed)
        untrained.append(per_question(test, score(model, test)))
        trained.append(run.results[seed].tables["test"])
    tables |= {"HyperQA before training": untrained, "HyperQA": trained}
    return means_table("sample, test", tables, "answerable")


def present(run: Run) -> None:
    """Draw the norms, print the comparison, and say how to rank with the model."""
    draw_norms(run)
    print(f"\nOn the sample, beside rules that are not trained:\n{comparison(run)}")
    test = run.data.dataset.test
    first = test[test["question_id"] == test["question_id"].iloc[0]]
    path = run.folder / "answers.txt"
    with atomic_write(path) as file:
        file.writelines(f"{candidate}\n" for candidate in first["candidate"])
    words = ["answer-ranking", "rank", str(run.folder / "model"), first["question"].iloc[0], str(path)]
    print(f"\nRank answers with what was just trained:\n  {shlex.join(words)}")


if __name__ == "__main__":
    run_script(__doc__, PRESETS, present)
