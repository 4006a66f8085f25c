"""Word vectors that are trained on a data set's own texts before the experiment begins."""

import re
from typing import TYPE_CHECKING

from data_prep import Dataset

if TYPE_CHECKING:
    from reproduce.experiment import ExperimentConfig

_NAME = re.compile(r"task-(skipgram|cbow)-(\d+)d")


def with_task_vectors(config: "ExperimentConfig", dataset: Dataset) -> tuple[str, ...]:
    """Put the files of vectors trained on a data set's own texts in the place of their names.

    `task-skipgram-100d` stands for word2vec's skip-gram with 100 dimensions, `task-cbow-100d` for continuous
    bag of words. They are trained, or found again, on the texts that the data set has for the purpose
    (`DatasetDescription.unlabelled_texts`), else on the distinct questions and candidates of its training
    set. What was read is printed.

    Args:
        config: the configuration, whose `embeddings` name the vectors.
        dataset: its data set.

    Returns:
        Names and paths, each a source for `load_word_vectors`.

    Raises:
        UserError: the texts are missing or damaged, or a size is below 1.

    Example:
        >>> from data_prep import load_dataset
        >>> from reproduce.experiment import ExperimentConfig
        >>> with_task_vectors(ExperimentConfig("sample"), load_dataset("sample"))
        ('glove-6b-50d',)
    """
    kinds = [(name, _NAME.fullmatch(name)) for name in config.embeddings]
    return tuple(
        _train(config, dataset, int(kind[2]), sg=kind[1] == "skipgram") if kind else name
        for name, kind in kinds
    )


def _train(config: "ExperimentConfig", dataset: Dataset, size: int, *, sg: bool) -> str:
    from data_prep.trained_vectors import train_word2vec

    texts_of = dataset.description.unlabelled_texts
    if texts_of is None:
        tokens = {"lowercase": config.lowercase, "mask_numbers": config.mask_numbers}
        return train_word2vec(dataset, size, sg=sg, **tokens)
    texts, source = texts_of(config.variant, config.data_home, config.lowercase)
    print(f"Word vectors are trained on {source}.", flush=True)
    return train_word2vec(texts, size, sg=sg, name=config.dataset)
