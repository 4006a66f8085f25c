"""What pages say of the benchmark of pipelines."""

import json

from answer_ranking.reports.benchmarks import pipelines_block


def test_what_dev_chooses_with_and_without_an_encoder_is_told(tmp_path):
    rows = []
    figures = [("a", 0.9, 0.7, True, True), ("b", 0.95, 0.6, True, False), ("c", 0.8, 0.8, False, True)]
    for name, found, typos, encoder, chosen in [*figures, ("d", 0.1, 0.1, False, False)]:
        row = {"faq": "x", "pipeline": name, "mrr@10": found, "mrr@10_typos": typos}
        rows.append({**row, "encoder": encoder, "chosen": chosen})
    refused = {"faq": "x", "encoder": True, "answers": 1234, "dev": 5, "test": 6, "min_confidence": 0.25}
    faqs = [{**refused, "refused_test": 0.1, "refused_foreign": 0.95}]
    path = tmp_path / "pipelines.json"
    path.write_text(json.dumps({"typos": 2, "faqs": faqs, "rows": rows}))
    page = pipelines_block(path)
    rows = {line.split(" | ")[1]: line for line in page.splitlines() if line.startswith("| x | ")}
    assert rows.keys() == {"a", "b", "c", "with"}
    assert "chosen" in rows["a"] and "best" in rows["b"] and "best without encoder" in rows["c"]
    assert "| 0.100 | 0.950 |" in rows["with"]
