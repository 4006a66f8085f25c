"""Count the trainable parameters of every model here and set them beside the papers' printed numbers.

    python reproduce/studies/parameter_counts.py

printed: what the paper's table says, "-" where it says nothing. formula: the paper's own formula, or the
count that its text gives, evaluated with its settings. ours: the trainable parameters of the Keras model; the
frozen word vectors are in no column. A note says why two of them differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.evaluation.papers import read_papers
from answer_ranking.evaluation.tables import text_table
from answer_ranking.models.catalogue import CATALOGUE, Entry
from answer_ranking.models.sizes import n_trained


@dataclass(frozen=True)
class Stated:
    """What a paper states of the size of a model of the catalogue."""

    model: str
    paper: str
    settings: str = "as in the catalogue"
    formula: int | None = None  # the paper's, with these settings
    sizes: Mapping[str, Any] = field(default_factory=dict)  # the same settings as our options
    printed_for: str = ""  # the data set of the row in `evaluation/papers.toml`
    note: str = ""
    word_dimension: int = 300


def stated_counts() -> Iterator[Stated]:
    """Give what the papers state, paper by paper."""
    for dataset, d in (("wikiqa", 300), ("semevalcqa", 150)):
        formula = 300 * d + d + 2
        yield Stated("hyperqa", "hyperqa", f"n=300, d={d}", formula, {"dimension": d}, dataset)
    yield from _ctrn()
    yield from _attentive_pooling()
    yield from _cosinet()


def _ctrn() -> Iterator[Stated]:
    m, d, h, k = 300, 512, 128, 2
    mlp, lstm, gates = 2 * d * h + h, 4 * (m * d + d * d), 3 * k * d * m
    softmax = "ours has the 2h + 2 of the softmax, too"
    bilstm = (
        "the printed number follows from the printed formula neither as it stands nor with the "
        f"LSTM of both directions ({2 * lstm + 4 * d * d:,}); ours has both directions and 8d biases"
    )
    settings, sizes = f"d={d}, m={m}, h={h}", {"filters": d}
    biases = f"{softmax}, and the LSTM's 4d biases"
    yield Stated("lstm", "ctrn", settings, lstm + mlp, sizes, "-", biases)
    yield Stated("ap-bilstm", "ctrn", settings, lstm + 4 * d * d, sizes, "-", bilstm)
    for model in ("qrnn", "ctrn"):
        yield Stated(model, "ctrn", f"{settings}, k={k}", gates + mlp, sizes, "-", softmax)


def _attentive_pooling() -> Iterator[Stated]:
    n, units = 100, 141
    lstm = 2 * 4 * units * (n + units + 1)
    qa_cnn, ap_cnn = 4000 * 2 * n + 4000, 400 * 3 * n + 400 + 400 * 400
    of_units = "2 x 141", {"filters": units}
    for model, (settings, sizes), formula, yahooqa in (
        ("qa-cnn", ("4000 filters, k=2", {"filters": 4000, "window": 2}), qa_cnn, "90.9K"),
        ("ap-cnn", ("400 filters, k=3", {"filters": 400, "window": 3}), ap_cnn, "540K"),
        ("qa-bilstm", of_units, lstm, "1.40M"),
        ("ap-bilstm", of_units, lstm + 4 * units * units, "1.80M"),
    ):
        note = "its paper prints no size; HyperQA's Table 3 has"
        note = f"{note} {yahooqa} on YahooQA, and not the settings"
        settings = f"n={n}, {settings}"
        yield Stated(model, "attentive_pooling", settings, formula, sizes, "", note, n)


def _cosinet() -> Iterator[Stated]:
    biases = "the formula has two biases per gate, as cuDNN has; ours has one"
    # The counts of the text's settings; the hidden sizes over the candidates are those that fit the print.
    for prefix, alone, across in (
        ("cosinet", 904_201, (1_174_501, 1_129_501, 1_986_301, 1_806_301)),
        ("ca", 2_886_601, (5_045_401, 4_865_401, 11_529_001, 10_809_001)),
    ):
        yield Stated(prefix, "cosinet", "pointwise", alone, {}, "wikiqa")
        yield Stated(f"{prefix}-list", "cosinet", "list-wise", alone, {}, "wikiqa")
        for network, formula in zip(("rnn", "birnn", "lstm", "bilstm"), across, strict=True):
            model, settings = f"{prefix}-list-{network}", "list-wise, over the candidates"
            yield Stated(model, "cosinet", settings, formula, {}, "wikiqa", biases)


def parameter_rows() -> list[dict[str, str]]:
    """Count the parameters of every model; a mapping per model with the columns of the table."""
    printed = read_papers().printed
    sizes = printed[printed["metric"] == "params"].set_index(["paper", "dataset", "model"])["value"]
    stated = list(stated_counts())
    spoken_of = {each.model for each in stated}
    for entry in CATALOGUE.values():
        # An encoder's size is that of its files.
        if entry.name not in spoken_of and entry.reads != "pieces":
            stated.append(Stated(entry.name, entry.paper))
    rows = []
    for each in stated:
        entry = CATALOGUE[each.model]
        row = {"paper": each.paper, "model": entry.title, "settings": each.settings}
        key = (each.paper, each.printed_for, entry.title)
        row["printed"] = sizes.loc[[key]].iloc[0] if each.printed_for else "-"
        row["formula"] = "-" if each.formula is None else f"{each.formula:,}"
        row["ours"] = f"{_count(entry, each):,}"
        rows.append(row | {"note": each.note})
    return rows


def _count(entry: Entry, stated: Stated) -> int:
    words = np.zeros((2, stated.word_dimension), "float32")
    # The model of the features alone needs some.
    n_features = 4 if entry.reads == "features" else 0
    model = entry.build(words, entry.options(**stated.sizes), n_features=n_features)
    return n_trained(model)


def main() -> None:
    """Count the trainable parameters of every model here, and print them beside the papers' numbers."""
    rows = parameter_rows()
    notes = list(dict.fromkeys(row["note"] for row in rows if row["note"]))
    cells = [row | {"note": f"[{notes.index(row['note']) + 1}]" if row["note"] else ""} for row in rows]
    print(text_table(list(rows[0]), [list(row.values()) for row in cells]))
    for number, note in enumerate(notes, start=1):
        print(f"[{number}] {note}")


if __name__ == "__main__":
    run_command(lambda: tyro.cli(main, description=__doc__))
