"""TrecQA's TRAIN-ALL has `<num>` where TRAIN, dev and test have the digits; masking makes them agree."""

import os

import pytest

from data_prep import Tokenizer, Vocabulary, load_dataset, load_word_vectors
from data_prep.errors import UserError


def test_tokens_of_digits_points_and_commas_are_masked_and_no_others():
    tokenizer = Tokenizer(pretokenised=True, mask_numbers=True)
    tokens = tokenizer(["In 1993 2,130 of 3.5 1990s 21st .08 mid-1992 4-5,000"])[0]
    assert tokens == ["in", "<num>", "<num>", "of", "<num>", "1990s", "21st", ".08", "mid-1992", "4-5,000"]


@pytest.mark.real_data
def test_masked_train_is_part_of_train_all():
    if not os.environ.get("QA_DATA_HOME"):
        pytest.skip("QA_DATA_HOME is not set: the real data sets are not here")
    try:
        small, large = (load_dataset("trecqa", variant).train for variant in ("TRAIN", "TRAIN-ALL"))
    except UserError as error:
        pytest.skip(str(error))
    masked = Tokenizer(pretokenised=True, lowercase=False, mask_numbers=True)

    def number_patterns(tokenizer, table):
        """Sentences of the questions that both have, as the places of their masked numbers."""
        return {" ".join(t) for t in tokenizer(table["candidate"].tolist()) if "<num>" in t}

    plain = Tokenizer(pretokenised=True, lowercase=False)
    there = number_patterns(plain, large)
    here = number_patterns(masked, small)
    # 2,130 is written so in TRAIN and as <num> in TRAIN-ALL; a few sentences differ in other ways.
    assert len(here & there) > 0.95 * len(here)
    assert not number_patterns(plain, small)


def test_brackets_and_masked_numbers_have_vectors():
    words = ["-lrb-", "(", "<num>", "10", "-unheard-of-"]
    vectors = load_word_vectors(["glove-6b-50d"], Vocabulary(words)).matrix[2:]
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[2] == vectors[3]).all()
    assert abs(vectors[4]).max() < 0.5
