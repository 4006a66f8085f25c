"""Count the trainable parameters of every model here and set them beside the papers' printed numbers.

    python reproduce/parameter_counts.py

printed: what the paper's table says, "-" where it says nothing. formula: the paper's own formula, or the
count that its text gives, evaluated with its settings. ours: the trainable parameters of the Keras model,
counted; the frozen word vectors are in no column. A note says why two of them differ.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tyro

from data_prep.cli import run_command

PAPER_RESULTS = Path(__file__).parent / "paper_results.csv"
HEADER = ("paper", "model", "settings", "printed", "formula", "ours", "note")


@dataclass(frozen=True)
class ParameterCountsConfig:
    """The options."""

    csv: Path | None = None
    """Also write the table to this CSV file."""


@dataclass(frozen=True)
class Count:
    """A model of a paper.

    Attributes:
        paper: the paper's name in `paper_results.csv`.
        table: the paper's table that prints its size; "" where none does.
        dataset: the data set of the row there.
        model: the model's name there.
        settings: what the count depends on.
        formula: the paper's formula with these settings.
        build: a function of random word vectors that makes the model, or None where there is none yet.
        note: why the numbers differ.
        word_dimension: the size of the word vectors.
    """

    paper: str
    table: str
    dataset: str
    model: str
    settings: str
    formula: int
    build: Callable | None = None
    note: str = ""
    word_dimension: int = 300


def counted_models() -> list[Count]:
    """List the models: a new one is one more entry.

    Returns:
        The entries, by paper.

    Example:
        >>> [count.formula for count in counted_models() if count.model == "HyperQA"]
        [90302, 45152]
    """
    from models.attentive_pooling import ap_bilstm, ap_cnn, qa_bilstm, qa_cnn
    from models.compare_aggregate import compare_aggregate
    from models.cosinet import cosinet
    from models.ctrn import ctrn, lstm, qrnn
    from models.hyperqa import hyperqa

    m, d, h, k = 300, 512, 128, 2
    settings = f"d={d}, m={m}, h={h}"
    mlp = 2 * d * h + h
    softmax = "ours has the 2h + 2 of the softmax, too"
    lstm_note = f"{softmax}, and the LSTM's 4d biases"
    bilstm = (
        "the printed number follows from the printed formula neither as it stands nor with the LSTM of both "
        f"directions ({2 * 4 * (m * d + d * d) + 4 * d * d:,}); ours has both directions and 8d biases"
    )

    def attentive_pooling(model: str, settings: str, formula: int, build: Callable, yahooqa: str) -> Count:
        note = f"its paper prints no size; HyperQA's Table 3 has {yahooqa} on YahooQA, and not the settings"
        return Count("attentive_pooling", "", "", model, settings, formula, build, note, word_dimension=100)

    # The counts of the text's settings; the hidden sizes over the candidates are those that fit the print.
    by_across = {
        "Cosinet": (cosinet, 904_201, 1_174_501, 1_129_501, 1_986_301, 1_806_301),
        "CA": (compare_aggregate, 2_886_601, 5_045_401, 4_865_401, 11_529_001, 10_809_001),
    }
    ranked = []
    for name, (build, alone, *across_counts) in by_across.items():
        note = "the formula has two biases per gate, as cuDNN has; ours has one"
        ranked += [
            Count("cosinet", "4", "wikiqa", name, "pointwise", alone, build),
            Count(
                "cosinet",
                "4",
                "wikiqa",
                f"{name} list",
                "list-wise",
                alone,
                partial(build, objective="listwise"),
            ),
        ]
        for across, count in zip(("RNN", "BiRNN", "LSTM", "BiLSTM"), across_counts, strict=True):
            model = partial(build, objective="listwise", across=across.lower())
            order = "list-wise, over the candidates"
            ranked.append(Count("cosinet", "4", "wikiqa", f"{name} list {across}", order, count, model, note))
    return [
        Count("hyperqa", "2", "wikiqa", "HyperQA", "n=300, d=300", 90_302, lambda z: hyperqa(z, 300)),
        Count("hyperqa", "4", "semevalcqa", "HyperQA", "n=300, d=150", 45_152, lambda z: hyperqa(z, 150)),
        Count("ctrn", "2", "-", "LSTM", settings, 4 * (m * d + d * d) + mlp, lambda z: lstm(z, d), lstm_note),
        Count(
            "ctrn",
            "2",
            "-",
            "AP-BiLSTM",
            settings,
            4 * (m * d + d * d) + 4 * d * d,
            lambda z: ap_bilstm(z, d),
            bilstm,
        ),
        Count(
            "ctrn", "2", "-", "QRNN", f"{settings}, k=2", 3 * k * d * m + mlp, lambda z: qrnn(z, d), softmax
        ),
        Count(
            "ctrn", "2", "-", "CTRN", f"{settings}, k=2", 3 * k * d * m + mlp, lambda z: ctrn(z, d), softmax
        ),
        attentive_pooling(
            "QA-CNN", "n=100, 4000 filters, k=2", 4000 * 2 * 100 + 4000, lambda z: qa_cnn(z, 4000, 2), "90.9K"
        ),
        attentive_pooling(
            "AP-CNN",
            "n=100, 400 filters, k=3",
            400 * 3 * 100 + 400 + 400 * 400,
            lambda z: ap_cnn(z, 400, 3),
            "540K",
        ),
        attentive_pooling(
            "QA-BiLSTM", "n=100, 2 x 141", 2 * 4 * 141 * (100 + 141 + 1), lambda z: qa_bilstm(z, 141), "1.40M"
        ),
        attentive_pooling(
            "AP-BiLSTM",
            "n=100, 2 x 141",
            2 * 4 * 141 * (100 + 141 + 1) + 282 * 282,
            lambda z: ap_bilstm(z, 141),
            "1.80M",
        ),
        *ranked,
    ]


def parameter_rows() -> list[dict[str, str]]:
    """Count the parameters of every model.

    Returns:
        One mapping per model with the keys of `HEADER`; `ours` is "" where there is no model yet.

    Raises:
        UserError: `paper_results.csv` is damaged.
    """
    import numpy as np

    from evaluation.paper_results import read_paper_results

    printed = read_paper_results(PAPER_RESULTS)
    printed = printed[printed["metric"] == "params"].set_index(["paper", "table", "dataset", "model"])[
        "value"
    ]
    rows = []
    for count in counted_models():
        ours = ""
        if count.build is not None:
            word_vectors = np.zeros((2, count.word_dimension), "float32")
            weights = count.build(word_vectors).trainable_weights
            ours = str(sum(int(np.prod(weight.shape)) for weight in weights))
        row = (
            count.paper,
            count.model,
            count.settings,
            printed.loc[(count.paper, count.table, count.dataset, count.model)] if count.table else "",
            str(count.formula),
            ours,
            count.note,
        )
        rows.append(dict(zip(HEADER, row, strict=True)))
    return rows


def main(config: ParameterCountsConfig) -> None:
    """Count, print, and write the CSV file if one is wanted.

    Args:
        config: the options.

    Raises:
        UserError: the file cannot be written, or `paper_results.csv` is damaged.
    """
    from data_prep.files import atomic_write
    from evaluation.tables import text_table

    rows = parameter_rows()

    def cell(name: str, value: str) -> str:
        return f"{int(value):,}" if name in ("formula", "ours") and value else value or "-"

    header = [name for name in HEADER if name != "note"]
    labelled = [[cell(name, row[name]) for name in header] for row in rows]
    notes = list(dict.fromkeys(row["note"] for row in rows if row["note"]))
    for cells, row in zip(labelled, rows, strict=True):
        cells.append(f"[{notes.index(row['note']) + 1}]" if row["note"] else "")
    print(text_table([*header, "note"], labelled))
    for number, note in enumerate(notes, start=1):
        print(f"[{number}] {note}")
    if config.csv is not None:
        with atomic_write(config.csv) as file:
            writer = csv.DictWriter(file, HEADER, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"\nNumbers: {config.csv}")


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(ParameterCountsConfig, description=__doc__)))
