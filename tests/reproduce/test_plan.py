"""The plan of the study of contextual words names what exists."""

import tomllib
from pathlib import Path

from answer_ranking.data_prep.dataset import find_description
from answer_ranking.models.catalogue import CATALOGUE

PLAN = tomllib.loads((Path(__file__).parents[2] / "reproduce" / "plan_contextual.toml").read_text())


def test_its_models_data_sets_and_protocols_exist():
    models = set(PLAN["slow"])
    for each in PLAN["comparisons"]:
        models |= {each["better"], each["worse"]}
        assert set(each["data"]) <= PLAN["data"].keys()
        assert each["better"] != each["worse"] or each["worse_options"]
    assert models <= CATALOGUE.keys()
    for name, protocol in PLAN["data"].items():
        assert protocol in find_description(name.partition("-")[0]).protocols
