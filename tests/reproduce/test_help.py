import importlib
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("tensorflow", "keras", "spacy", "gensim", "matplotlib", "jax", "torch", "bm25s")
# The scripts, and the class of the options of each.
EXPERIMENTS = {
    "hyperqa_trecqa": "Config",
    "hyperqa_wikiqa": "Config",
    "hyperqa_search": "SearchConfig",
    "hyperqa_semevalcqa": "Config",
    "hyperqa_yahooqa": "Config",
    "eq9_study": "Config",
    "demo": "Config",
    "run_all": "Config",
    "own_data": "OwnDataConfig",
    "ctrn_trecqa": "Config",
    "ctrn_semevalcqa": "Config",
    "ctrn_yahooqa": "Config",
    "ctrn_search": "SearchConfig",
    "attentive_pooling_wikiqa": "Config",
    "attentive_pooling_semevalcqa": "Config",
    "attentive_pooling_trecqa": "Config",
    "attentive_pooling_insuranceqa": "Config",
    "attentive_pooling_search": "SearchConfig",
    "cosinet_wikiqa": "Config",
    "cosinet_squad_sent": "Config",
    "cosinet_nq_la": "Config",
    "cosinet_search": "SearchConfig",
}


def help_of(script, environment):
    """What `--help` prints, in one line without frames, and the heavy modules that were imported for it."""
    # The script runs as the main program, and what it imported is told on stderr.
    told = (
        "import runpy, sys; sys.argv = sys.argv[1:]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        f"finally: print(sorted(sys.modules.keys() & {set(HEAVY)}), file=sys.stderr)"
    )
    command = [sys.executable, "-c", told, ROOT / "reproduce" / f"{script}.py", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env={**environment, "COLUMNS": "200"})
    assert done.returncode == 0
    text = re.sub(r"[│╭╰╮╯─\s]+", " ", re.sub(r"\x1b\[[0-9;]*m", "", done.stdout))
    return text, done.stderr.strip()


@pytest.mark.parametrize("script", EXPERIMENTS)
def test_help_is_complete_and_imports_nothing_heavy(environment, script):
    text, heavy = help_of(script, environment)
    assert heavy == "[]"
    module = importlib.import_module(f"reproduce.{script}")
    for field in fields(getattr(module, EXPERIMENTS[script])):
        # Every option, with a sentence that is more than its type and default.
        said = re.search(rf"--{field.name.replace('_', '-')}[, ].*?\((?:default|required)", text)
        assert said, field.name
        assert len(re.findall(r"[a-z]{3,}", said.group())) >= 4, said.group()
    # The command that the help names is the script's own.
    assert f"python reproduce/{script}.py" in text


def test_help_of_rank(environment):
    text, heavy = help_of("rank", environment)
    assert heavy == "[]"
    assert "one candidate per line" in text
    assert "--table FILE" in text


def test_help_of_attention(environment):
    text, heavy = help_of("attention", environment)
    assert heavy == "[]"
    assert "--output" in text
    assert "python reproduce/attention.py MODEL" in text


def test_help_of_the_analysis(environment):
    text, heavy = help_of("hyperqa_analysis", environment)
    assert heavy == "[]"
    assert "MODEL" in text and "python reproduce/hyperqa_analysis.py MODEL --dataset trecqa" in text
    for option in ("--dataset", "--variant", "--split", "--levels", "--pairs", "--tsne-texts", "--output"):
        assert option in text


def test_help_of_accuracy_by_length(environment):
    text, heavy = help_of("accuracy_by_length", environment)
    assert heavy == "[]"
    assert "python reproduce/accuracy_by_length.py wikiqa" in text
    for option in ("--variant", "--protocol", "--split", "--paper", "--results", "--data-home", "--output"):
        assert option in text


def test_every_script_of_an_experiment_is_here():
    found = {path.stem for path in (ROOT / "reproduce").glob("*.py") if "run_command" in path.read_text()}
    others = {"rank", "lexical_baselines", "parameter_counts", "attention", "hyperqa_analysis"}
    assert found - others - {"accuracy_by_length"} == set(EXPERIMENTS)
