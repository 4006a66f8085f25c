"""Recorded comparisons of the norms of questions and answers, as a part of HyperQA's page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.norm_analysis import Effect
from evaluation.source_fingerprints import changed_sources
from evaluation.study_records import read_study
from evaluation.tables import markdown_table

_EFFECTS = {
    "ratio": "norm of a question / of its candidates",
    "standardised": "standardised difference",
    "share_longer": "questions that are longer",
    "length_exponent": "norm grows as length to the power",
    "ratio_at_equal_length": "question / answer at equal length",
}
_KEYS = {"title", "embeddings", "seed", "norms", "words_by_level", "figures", "command", "code"}


def norms_block(folder: str | Path, root: str | Path) -> str:
    """Write what HyperQA's page says of the recorded comparisons: a table, figures, commands.

    Args:
        folder: the folder of the records, which `reproduce/hyperqa_analysis.py --record` writes.
        root: the repository, whose code is compared with the records' fingerprints.

    Returns:
        Markdown text.

    Raises:
        UserError: a file is no such record.

    Example:
        >>> norms_block("/tmp/absent", "/tmp")
        'No comparison is recorded yet.'
    """
    records = [read_study(path, _KEYS) for path in sorted(Path(folder).glob("*.json"))]
    if not records:
        return "No comparison is recorded yet."
    table = markdown_table(["", *_EFFECTS.values(), "lengths in common", "questions"], map(_row, records))
    return "\n\n".join([table, *(_section(record, root) for record in records)])


def _row(record: Mapping[str, Any]) -> list[str]:
    found = record["norms"]
    effects = [str(Effect(**found[name])) for name in _EFFECTS]
    return [record["title"], *effects, f"{found['lengths_in_common']:.0%}", f"{found['n_questions']}"]


def _section(record: Mapping[str, Any], root: str | Path) -> str:
    levels = [
        [level["norms"], f"{level['words']:,}", " ".join(level["most_frequent"])]
        for level in record["words_by_level"]
    ]
    figures = " ".join(f"![{record['title']}]({name})" for name in record["figures"])
    changed = changed_sources(record["code"], root)
    stale = f" **Stale**, changed since: {', '.join(f'`{each}`' for each in changed)}." if changed else ""
    return "\n\n".join(
        [
            f"### {record['title']}",
            figures,
            markdown_table(["norms of words", "words", "the most frequent"], levels),
            f"Word vectors {record['embeddings']}, seed {record['seed']}: `{record['command']}`.{stale}",
        ]
    )
