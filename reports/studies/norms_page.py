"""The page on the norms of questions and answers."""

from pathlib import Path

from answer_ranking.evaluation.norm_comparison import Effect
from answer_ranking.evaluation.records import read_studies
from answer_ranking.reports.pages import render

EFFECTS = {
    "ratio": "norm of a question / of its candidates",
    "standardised": "standardised difference",
    "share_longer": "questions with the larger norm",
    "length_exponent": "norm grows as length to the power",
    "ratio_at_equal_length": "question / answer at equal length",
}
_KEYS = {"title", "embeddings", "seed", "norms", "words_by_level", "word_correlations", "figures", "command"}


def norms_block(folder: str | Path) -> str:
    """Write what HyperQA's page says about the records in a folder: a table, figures, commands."""
    records = read_studies(folder, _KEYS)
    return render("studies/norms.md.j2", records=records.values(), titles=EFFECTS, effect=Effect)
