"""Figure 3 of HyperQA: MAP on test against the size of the text vectors, for HyperQA and CosineQA."""

import statistics
from dataclasses import replace

from data_prep.files import atomic_write
from evaluation.figures import map_by_dimension
from reproduce.experiment import ExperimentData, experiment_key, measure, slug
from reproduce.hyperqa_experiment import NAMES, HyperQAConfig, train_hyperqa


def draw_map_by_embedding_size(config: HyperQAConfig, data: ExperimentData) -> None:
    """Train both models at every size of `config.dimensions`; write the figure and a table beside it."""
    rule = next(iter(data.dataset.description.protocols.values()))
    rows = []
    for model in NAMES:
        for dimension in config.dimensions:
            sized = replace(config, model=model, dimension=dimension, dimensions=())
            key = experiment_key(sized, data)
            folder = config.output / slug("hyperqa", config.dataset, data.dataset.variant, NAMES[model]) / key
            runs = [
                train_hyperqa(sized, data, seed, folder / f"seed-{seed}", key) for seed in config.seed_list
            ]
            maps = [measure(data.encoded.test, run.scores["test"], rule)["map"] for run in runs]
            rows += [{"model": NAMES[model], "dimension": dimension, "map": value} for value in maps]
            print(f"{NAMES[model]}, d = {dimension}: test MAP {statistics.mean(maps):.4f}", flush=True)
    name = slug("hyperqa", config.dataset, data.dataset.variant, "embedding-size")
    with atomic_write(config.output / f"{name}.png", "wb") as file:
        figure = map_by_dimension(rows, title=data.title, metric_title="MAP on test")
        figure.savefig(file, dpi=150, format="png")
    print(f"figure: {config.output / name}.png")
