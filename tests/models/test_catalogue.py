"""The catalogue: every entry builds, trains and says what it is."""

import itertools
import re
from dataclasses import fields

import numpy as np
import pytest
from distinct_networks import DISTINCT

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.papers import read_papers
from answer_ranking.models.catalogue import CATALOGUE, find_entry, of_paper
from answer_ranking.training.methods import METHODS


@pytest.mark.parametrize("entry", DISTINCT, ids=lambda entry: entry.name)
def test_an_entry_builds_its_network_by_the_seed(small, kept, entry):
    # The other one before the second of the same seed: what has no seed would be drawn anew.
    first, other, again = kept(entry), small(entry, 2), small(entry, 1)
    np.testing.assert_equal(first.get_weights(), again.get_weights())
    kernels = []
    for network in (first, other):
        # An encoder's weights are given, whatever the seed.
        drawn = network.get_layer("score") if entry.reads == "pieces" else network
        kernels += [weight.numpy() for weight in drawn.trainable_variables if len(weight.shape) > 1]
    # No two weights of one shape start alike, nor does one under another seed; a single weight, and one of
    # zeros and ones, has a stated first value.
    for one, another in itertools.combinations(kernels, 2):
        stated = one.size == 1 or set(np.unique(one)) <= {0, 1}
        assert one.shape != another.shape or stated or (one != another).any()


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_entry_has_the_inputs_that_it_states(kept, name):
    entry = CATALOGUE[name]
    inputs = {each.name for each in kept(entry).inputs}
    assert ("answers" in inputs) == (entry.method == "listwise")
    assert ("features" in inputs) == entry.takes_features


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_an_entry_states_are_options_that_exist(name):
    entry = CATALOGUE[name]
    known = {field.name for field in (*fields(entry.options), *fields(METHODS[entry.method].options))}
    # The options that a search draws for all of a paper's models: one that a model lacks is left out.
    stated = {**entry.training, **(entry.own_tables or {})}
    assert stated.keys() <= known
    assert any(drawn in known for drawn in entry.space)


def test_every_paper_has_its_models():
    papers = read_papers().papers
    assert {entry.paper for entry in CATALOGUE.values()} == set(papers)
    for name, paper in papers.items():
        titles = "\n".join(entry.title for entry in of_paper(name))
        # Rules have nothing to train, and paragraph vectors are a study.
        for own in set(paper.own_models) - {"Random", "RR", "WO", "WO+RR", "PV"}:
            assert re.search(f"^{re.escape(own)}", titles, re.MULTILINE), own


def test_a_name_that_is_none_is_told_the_others():
    with pytest.raises(UserError, match="ap-cnn"):
        find_entry("apcnn")
