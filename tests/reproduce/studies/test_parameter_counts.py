import pytest

from answer_ranking.reproduce.studies.parameter_counts import parameter_rows


@pytest.fixture(scope="module")
def rows():
    return parameter_rows()


def number(text):
    return int(text.replace(",", ""))


def test_counts_beside_the_papers_numbers(rows):
    rows = {(row["model"], row["settings"]): row for row in rows}
    for (model, settings), expected in {
        # printed, by the formula, and ours with the softmax (2 * 128 + 2) and the LSTM's biases (4 * 512)
        ("HyperQA", "n=300, d=300"): ("90K", 90_302, 90_302),
        ("HyperQA", "n=300, d=150"): ("45K", 45_152, 45_152),
        ("CTRN", "d=512, m=300, h=128, k=2"): ("1.05M", 1_052_800, 1_053_058),
        ("QRNN", "d=512, m=300, h=128, k=2"): ("1.05M", 1_052_800, 1_053_058),
        ("LSTM", "d=512, m=300, h=128"): ("1.79M", 1_794_176, 1_796_482),
        # 400 filters over 3 words of 100 dimensions with biases, and U; two LSTMs of 141 units
        ("AP-CNN", "n=100, 400 filters, k=3"): ("-", 280_400, 280_400),
        ("QA-CNN", "n=100, 4000 filters, k=2"): ("-", 804_000, 804_000),
        ("AP-BiLSTM", "n=100, 2 x 141"): ("-", 352_500, 352_500),
        # test_cosinet.py has Table 4 of Cosinet's paper.
    }.items():
        row = rows[model, settings]
        assert (row["printed"], number(row["formula"]), number(row["ours"])) == expected


def test_each_printed_number_follows_from_its_formula_or_has_a_note(rows):
    for row in rows:
        if row["printed"] == "-":
            assert row["formula"] in ("-", row["ours"])
            continue
        unit = {"K": 1e3, "M": 1e6}[row["printed"][-1].upper()]
        close = number(row["formula"]) == pytest.approx(float(row["printed"][:-1]) * unit, rel=0.01)
        assert close or "neither" in row["note"]
