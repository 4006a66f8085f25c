"""Count the trainable parameters of every model here and set them beside the papers' printed numbers.

    python reproduce/studies/parameter_counts.py

printed: what the paper's table says, "-" where it says nothing. formula: the paper's own formula, or the
count that its text gives, evaluated with its settings. ours: the trainable parameters of the Keras model; the
frozen word vectors are in no column. A note says why two of them differ.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import tyro

from answer_ranking.base.command import run_command


@dataclass(frozen=True)
class Count:
    """A model of a paper, by the names of `evaluation/papers.toml`."""

    paper: str
    dataset: str  # of the row there that prints its size; "" where none does
    model: str
    settings: str
    formula: int  # the paper's, with these settings
    build: Callable  # of word vectors
    note: str = ""
    word_dimension: int = 300


def counted_models() -> list[Count]:
    """List the models by paper: a new one is one more entry."""
    from answer_ranking import models

    return [
        Count("hyperqa", "wikiqa", "HyperQA", "n=300, d=300", 90_302, lambda z: models.hyperqa(z, 300)),
        Count("hyperqa", "semevalcqa", "HyperQA", "n=300, d=150", 45_152, lambda z: models.hyperqa(z, 150)),
        *_ctrn(models),
        *_attentive_pooling(models),
        *_cosinet(models),
    ]


def _ctrn(models: ModuleType) -> list[Count]:
    m, d, h, k = 300, 512, 128, 2
    mlp, lstm = 2 * d * h + h, 4 * (m * d + d * d)
    settings = f"d={d}, m={m}, h={h}"
    softmax = "ours has the 2h + 2 of the softmax, too"
    bilstm = (
        "the printed number follows from the printed formula neither as it stands nor with the LSTM of both "
        f"directions ({2 * lstm + 4 * d * d:,}); ours has both directions and 8d biases"
    )
    biases = f"{softmax}, and the LSTM's 4d biases"
    gates = 3 * k * d * m + mlp
    return [
        Count("ctrn", "-", "LSTM", settings, lstm + mlp, lambda z: models.lstm(z, d), biases),
        Count("ctrn", "-", "AP-BiLSTM", settings, lstm + 4 * d * d, lambda z: models.ap_bilstm(z, d), bilstm),
        Count("ctrn", "-", "QRNN", f"{settings}, k=2", gates, lambda z: models.qrnn(z, d), softmax),
        Count("ctrn", "-", "CTRN", f"{settings}, k=2", gates, lambda z: models.ctrn(z, d), softmax),
    ]


def _attentive_pooling(models: ModuleType) -> list[Count]:
    lstm = 2 * 4 * 141 * (100 + 141 + 1)
    qa_cnn, ap_cnn = 4000 * 2 * 100 + 4000, 400 * 3 * 100 + 400 + 400 * 400
    rows = [
        ("QA-CNN", "4000 filters, k=2", qa_cnn, lambda z: models.qa_cnn(z, 4000, 2), "90.9K"),
        ("AP-CNN", "400 filters, k=3", ap_cnn, lambda z: models.ap_cnn(z, 400, 3), "540K"),
        ("QA-BiLSTM", "2 x 141", lstm, lambda z: models.qa_bilstm(z, 141), "1.40M"),
        ("AP-BiLSTM", "2 x 141", lstm + 282 * 282, lambda z: models.ap_bilstm(z, 141), "1.80M"),
    ]
    note = "its paper prints no size; HyperQA's Table 3 has {} on YahooQA, and not the settings"
    return [
        Count("attentive_pooling", "", name, f"n=100, {settings}", formula, build, note.format(yahooqa), 100)
        for name, settings, formula, build, yahooqa in rows
    ]


def _cosinet(models: ModuleType) -> list[Count]:
    note = "the formula has two biases per gate, as cuDNN has; ours has one"
    # The counts of the text's settings; the hidden sizes over the candidates are those that fit the print.
    counts = {
        "Cosinet": (models.cosinet, 904_201, 1_174_501, 1_129_501, 1_986_301, 1_806_301),
        "CA": (models.compare_aggregate, 2_886_601, 5_045_401, 4_865_401, 11_529_001, 10_809_001),
    }
    rows = []
    for name, (build, alone, *across_counts) in counts.items():
        listwise = partial(build, objective="listwise")
        rows.append(Count("cosinet", "wikiqa", name, "pointwise", alone, build))
        rows.append(Count("cosinet", "wikiqa", f"{name} list", "list-wise", alone, listwise))
        for across, count in zip(("RNN", "BiRNN", "LSTM", "BiLSTM"), across_counts, strict=True):
            model = partial(listwise, across=across.lower())
            settings = "list-wise, over the candidates"
            rows.append(Count("cosinet", "wikiqa", f"{name} list {across}", settings, count, model, note))
    return rows


def parameter_rows() -> list[dict[str, str]]:
    """Count the parameters of every model; a mapping per model with the columns of the table."""
    import numpy as np

    from answer_ranking.evaluation.papers import read_papers

    printed = read_papers().printed
    printed = printed[printed["metric"] == "params"].set_index(["paper", "dataset", "model"])["value"]
    rows = []
    for count in counted_models():
        weights = count.build(np.zeros((2, count.word_dimension), "float32")).trainable_weights
        key = (count.paper, count.dataset, count.model)
        row = {name: getattr(count, name) for name in ("paper", "model", "settings")}
        row["printed"] = printed.loc[[key]].iloc[0] if count.dataset else "-"
        row["formula"] = f"{count.formula:,}"
        row["ours"] = f"{sum(int(np.prod(weight.shape)) for weight in weights):,}"
        rows.append(row | {"note": count.note})
    return rows


def main() -> None:
    """Count the trainable parameters of every model here, and print them beside the papers' numbers."""
    from answer_ranking.evaluation.tables import text_table

    rows = parameter_rows()
    notes = list(dict.fromkeys(row["note"] for row in rows if row["note"]))
    cells = [row | {"note": f"[{notes.index(row['note']) + 1}]" if row["note"] else ""} for row in rows]
    print(text_table(list(rows[0]), [list(row.values()) for row in cells]))
    for number, note in enumerate(notes, start=1):
        print(f"[{number}] {note}")


if __name__ == "__main__":
    run_command(lambda: tyro.cli(main, description=__doc__))
