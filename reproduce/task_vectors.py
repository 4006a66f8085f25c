"""Word vectors that are trained on a task's own texts before the experiment begins."""

from reproduce.experiment import ExperimentConfig


def train_task_vectors(config: ExperimentConfig, size: int, *, sg: bool = True) -> str:
    """Train word2vec vectors on the texts of an experiment's data set, or find those that were trained.

    The texts are those that the data set has for the purpose (`DatasetDescription.unlabelled_texts`), else
    the distinct questions and candidates of its training set. What was read is printed.

    Args:
        config: the configuration.
        size: dimensions of the vectors.
        sg: skip-gram; otherwise continuous bag of words.

    Returns:
        The path of the vectors' file, a source for `load_word_vectors`.

    Raises:
        UserError: the texts are missing or damaged, or `size` is below 1.

    Example:
        >>> train_task_vectors(ExperimentConfig("sample"), 50)  # doctest: +SKIP
    """
    from data_prep.registry import find_description, load_dataset
    from data_prep.trained_vectors import train_word2vec

    texts_of = find_description(config.dataset).unlabelled_texts
    if texts_of is None:
        dataset = load_dataset(config.dataset, config.variant, config.data_home)
        tokens = {"lowercase": config.lowercase, "mask_numbers": config.mask_numbers}
        return train_word2vec(dataset, size, sg=sg, **tokens)
    texts, source = texts_of(config.variant, config.data_home, config.lowercase)
    print(f"Word vectors are trained on {source}.", flush=True)
    return train_word2vec(texts, size, sg=sg, name=config.dataset)
