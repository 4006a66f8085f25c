# Two commands set everything up: `make demo` and `make test`. Both work in .venv, which they make themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip byte-compiles while it installs, which takes longer than Python needs to do it on first use.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: help demo page test lint lock audit notebooks lab results check report docs benchmarks clean

help:  ## Say what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

$(VENV)/installed: pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' \
	  || { echo 'error: Python 3.11 to 3.13 is needed. Name one: make PYTHON=python3.12 ...' >&2; exit 2; }
	@echo "Installing into $(VENV) (about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	@echo "Installing the test tools ..."
	@$(PIP) -e '.[test]'
	@touch $@

demo: $(VENV)/installed  ## Train HyperQA on the bundled sample; table and figures (nothing fetched but packages)
	@$(BIN)/python reproduce/demo.py

test: $(VENV)/installed-test  ## Run all tests, two at a time; those on real data need QA_DATA_HOME
	@$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/installed-test  ## Check style, format and types
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/python -m mypy -p answer_ranking

lock: $(VENV)/installed-test  ## Write the releases that are installed here, and were tested, to constraints.txt
	@{ echo '# Tested together (make lock). Use: pip install -c constraints.txt -e .[test]'; \
	  $(BIN)/python -m pip freeze --exclude-editable; } | grep -v ' @ ' | sed 's,+[a-z0-9.]*$$,,' > constraints.txt

# In an environment of its own, so that `make lock` does not take it for a part of what is tested.
audit:  ## Look for known flaws in constraints.txt (asks a public database: needs a network)
	@$(PYTHON) -m venv build/audit
	@build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@build/audit/bin/python -m pip_audit --strict --no-deps --disable-pip --requirement constraints.txt

page: $(VENV)/installed  ## Ask the bundled sample's answers on a page of this machine
	@$(PIP) -e '.[serve]'
	@$(BIN)/answer-ranking serve --rerank cosinet_squad

notebooks: $(VENV)/installed-test  ## Run the notebooks on the sample, two at a time
	@QA_FAST=1 $(BIN)/python -m pytest -n 2 --nbmake --nbmake-timeout=300 notebooks

lab: $(VENV)/installed  ## Open the notebooks in JupyterLab
	@$(PIP) -e '.[notebooks]'
	@$(BIN)/python -m jupyterlab $$([ "$$(id -u)" = 0 ] && echo --allow-root) notebooks

results: $(VENV)/installed  ## Run, or go on with, every listed experiment that has no record; then the report
	@$(BIN)/answer-ranking reproduce && $(BIN)/python -m answer_ranking.reports

check: $(VENV)/installed  ## Check that RESULTS.md and the tables of README and docs/ are those of the records
	@$(BIN)/python -m answer_ranking.reports --check

report: $(VENV)/installed  ## Make RESULTS.md and the tables of README and of docs/ from the records
	@$(BIN)/python -m answer_ranking.reports

$(VENV)/installed-docs: $(VENV)/installed
	@$(PIP) -e '.[docs]'
	@touch $@

docs: $(VENV)/installed-docs  ## Make the site of README, docs and docstrings, in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

RECORDS := benchmarks/results

benchmarks: $(VENV)/installed  ## Measure speed, memory and the pipelines of FAQs
	@$(BIN)/python benchmarks/hyperqa_epoch.py --inputs 450 --dimension 400 \
	  --output $(RECORDS)/hyperqa_epoch_wikiqa_450_400.json
	@$(BIN)/python benchmarks/recurrent_epoch.py --draw docs/recurrent_epoch.png \
	  --output $(RECORDS)/recurrent_epoch.json
	@$(BIN)/python benchmarks/attentive_pooling.py --output $(RECORDS)/attentive_pooling.json
	@$(BIN)/python benchmarks/cosinet.py --output $(RECORDS)/cosinet_wikiqa.json
	@$(BIN)/python benchmarks/search.py --draw docs/search.png
	@$(BIN)/python benchmarks/pipelines.py
	@$(BIN)/python benchmarks/encoder.py
	@$(BIN)/python benchmarks/install.py
	@$(PIP) -e '.[serve]'
	@$(BIN)/python benchmarks/service.py

clean:  ## Remove the environment and all outputs
	rm -rf $(VENV) build outputs
