"""What the scorer of SemEval-2016 Task 3 gives, beside the papers' measure."""

from reproduce.experiment import ExperimentResult, measure


def official_figures(result: ExperimentResult) -> str:
    """Say what the task's own scorer gives, mean over the seeds: every question counts, one without a Good
    comment as 0.

    Args:
        result: the experiment's.

    Returns:
        A table of dev and test.
    """
    from evaluation.tables import METRIC_TITLES, text_table

    metrics = ("map", "mrr", "p@1")
    rows = []
    for split in ("dev", "test"):
        figures = [measure(getattr(result.data.encoded, split), s[split], "all") for s in result.scores]
        means = [sum(each[metric] for each in figures) / len(figures) for metric in metrics]
        rows.append([split, *(f"{mean:.4f}" for mean in means)])
    return text_table(["as the task's scorer counts", *(METRIC_TITLES[metric] for metric in metrics)], rows)
