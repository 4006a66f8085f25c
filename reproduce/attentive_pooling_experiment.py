"""Attentive Pooling's experiments, whatever the data set: QA-CNN, AP-CNN, QA-BiLSTM and AP-BiLSTM."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from data_prep.errors import UserError
from data_prep.vector_norms import mean_norm, scale_to_norm
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    ExperimentResult,
    SeedRun,
    load_experiment_data,
    per_question,
    run_experiment,
    save_figure,
    train_and_score,
)
from training.hardest_negative_settings import HardestNegativeSettings
from training.option_ranges import check_range

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure

    from data_prep import EncodedSplit

NAMES = {"qa-cnn": "QA-CNN", "ap-cnn": "AP-CNN", "qa-bilstm": "QA-BiLSTM", "ap-bilstm": "AP-BiLSTM"}

# Table 2 of the paper; a convolution has windows, a BiLSTM has none.
_PAPER_SIZES = {
    "qa-cnn": {"filters": 4000, "window": 2},
    "ap-cnn": {"filters": 400, "window": 4},
    "qa-bilstm": {"filters": 141, "window": 1},
    "ap-bilstm": {"filters": 141, "window": 1},
}


@dataclass(frozen=True, kw_only=True)
class AttentivePoolingConfig(HardestNegativeSettings, ExperimentConfig):
    """The options of an Attentive Pooling experiment; None stands for the paper's value of the model.

    The paper's values stand in the options from the beginning: a configuration of another model is best made
    anew, or by `dataclasses.replace` with None for all of them.

    Raises:
        UserError: an option is out of range, or does not go with another.

    Example:
        >>> AttentivePoolingConfig(dataset="sample", model="qa-bilstm").matters()["filters"]
        141
    """

    sources: ClassVar[tuple[str, ...]] = (
        *ExperimentConfig.sources,
        *(
            f"reproduce/attentive_pooling_experiment.py::{name}"
            for name in (
                "AttentivePoolingConfig",
                "_PAPER_SIZES",
                "load_attentive_pooling_data",
                "build_ranker",
                "train_attentive_pooling",
            )
        ),
        "data_prep/vector_norms.py",
        "models/attentive_pooling.py",
        "training/answer_sampler.py",
        "training/fit_hardest.py",
        "training/hardest_negative_*.py",
        "training/shared_text_scorer.py",
        "training/distinct_words.py",
        "training/encoder_steps.py",
        "training/wordwise_*.py",
        "layers/attentive_pooling.py",
        "layers/cosine_similarity.py",
        "layers/masked_max.py",
        "layers/masked_pooling.py",
        "layers/pair_shapes.py",
    )

    model: Literal["ap-cnn", "qa-cnn", "ap-bilstm", "qa-bilstm"] = "ap-cnn"
    """AP pools by attention to the other text, QA by the maximum; over a convolution or a BiLSTM."""
    filters: int | None = None
    """c, the filters of the convolution, or the size of each direction of the BiLSTM; None for the paper's
    400 (AP-CNN), 4000 (QA-CNN) or 141."""
    window: int | None = None
    """k, the words in the window of the convolution; None for the paper's 4 (AP-CNN; 3 on InsuranceQA) or 2
    (QA-CNN)."""
    batch_size: int | None = None
    """Pairs of a question and a correct answer in a batch; None for the paper's 20, or 1 (QA-CNN)."""
    margin: float | None = None
    """Margin of the hinge loss (Eq. 12); None for the paper's 0.5 (AP-CNN), 0.009 (QA-CNN), 0.2 (AP-BiLSTM)
    or 0.1 (QA-BiLSTM)."""
    learning_rate: float | None = None
    """Learning rate of the optimizer, in the first epoch; None for the paper's 1.1, or 0.05 (QA-CNN)."""
    learning_rate_decay: bool | None = None
    """Divide the learning rate by t in epoch t = 1, 2, ...; None for the paper's yes, or no (QA-CNN)."""
    embedding_dropout: float = 0.0
    """Share of the entries of word vectors that training drops."""
    train_word_vectors: bool = False
    """Train the word vectors, too; the paper does not say whether it does."""
    word_vector_norm: float | None = None
    """Scale all word vectors by one factor, so that those of the running training words have this mean
    length; None leaves them as they are. Long ones drive the tanh of Eq. 13 to its ends."""

    def __post_init__(self) -> None:
        """Put the paper's values where None stands, and refuse options out of range."""
        for name, value in self.paper_values().items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        HardestNegativeSettings.__post_init__(self)
        ExperimentConfig.__post_init__(self)
        for name in ("filters", "window"):
            check_range(self, name, at_least=1)
        check_range(self, "embedding_dropout", at_least=0, below=1)
        check_range(self, "word_vector_norm", above=0)

    def paper_values(self) -> dict[str, float | bool]:
        """Give the paper's values of the options that differ from model to model."""
        # The four rows of models.attentive_pooling.PAPER_TRAINING, which cannot be read without Keras.
        training = {"batch_size": 20, "learning_rate": 1.1, "learning_rate_decay": True}
        if self.model == "qa-cnn":
            training = {"batch_size": 1, "learning_rate": 0.05, "learning_rate_decay": False}
        margins = {"qa-cnn": 0.009, "ap-cnn": 0.5, "qa-bilstm": 0.1, "ap-bilstm": 0.2}
        return {**_PAPER_SIZES[self.model], **training, "margin": margins[self.model]}

    def negatives(self) -> str:
        """Say in words which wrong answers are trained on."""
        source = "the whole training answer set" if self.negatives_from == "answers" else "the question's own"
        draws = "per batch" if self.share_negatives else "per question and correct answer"
        return (
            f"the highest scoring of {self.sampled_negatives} wrong answers, drawn {draws} from {source} "
            f"(the paper: of 50, drawn per question from the entire answer set)"
        )


def load_attentive_pooling_data(config: AttentivePoolingConfig) -> ExperimentData:
    """Load a configuration's data, with word vectors of the length that it names; say how long they are.

    Args:
        config: the options.

    Returns:
        The encoded splits, the vocabulary and the matrix of word vectors.

    Raises:
        UserError: a file is not there or cannot be read.
    """
    data = load_experiment_data(config)
    train, n_words = data.encoded.train, len(data.encoded.vocabulary)
    counts = np.bincount(train.questions.words, minlength=n_words) + train.candidates.token_counts(n_words)
    found = mean_norm(data.word_vectors, counts)
    if config.word_vector_norm is None:
        print(f"Mean length of the running words' vectors: {found:.2f}.", flush=True)
        return data
    print(f"Mean length of the running words' vectors: {found:.2f}, scaled to {config.word_vector_norm:g}.")
    return replace(data, word_vectors=scale_to_norm(data.word_vectors, counts, config.word_vector_norm))


def build_ranker(config: AttentivePoolingConfig, data: ExperimentData, seed: int) -> "keras.Model":
    """Build the configuration's model with initial weights and dropout of a seed.

    Args:
        config: the options.
        data: what `load_attentive_pooling_data` returned for them.
        seed: first weights and dropout follow from it.

    Returns:
        The model; it scores padded pairs `[question, answer]`.
    """
    from models.attentive_pooling import RANKERS

    vectors = data.word_vectors.matrix if config.train_word_vectors else data.word_embedding
    sizes = [config.filters, config.window] if config.model.endswith("cnn") else [config.filters]
    return RANKERS[NAMES[config.model]](
        vectors,
        *sizes,
        embedding_dropout=config.embedding_dropout,
        train_word_vectors=config.train_word_vectors,
        seed=seed * 1000,
    )


def train_attentive_pooling(
    config: AttentivePoolingConfig,
    data: ExperimentData,
    seed: int,
    folder: Path | None = None,
    key: str = "",
    *,
    splits: Sequence[str] | None = None,
) -> SeedRun:
    """Train one model with one seed, or go on with a training that was interrupted; see `train_and_score`.

    Args:
        config: the options.
        data: what `load_attentive_pooling_data` returned for them.
        seed: first weights, dropout and the order of the training data follow from it.
        folder: where the state is kept; None keeps none and prints nothing.
        key: names the configuration.
        splits: the names of the splits to score; None for all but the training split.

    Returns:
        The trained model, its learning curves and best epoch, and the scores of the splits' rows.

    Raises:
        UserError: see `train_and_score`.
    """
    from training.fit_hardest import fit_hardest
    from training.shared_text_scorer import SharedTextScorer

    return train_and_score(
        config,
        data,
        seed,
        folder,
        key,
        splits=splits,
        label=NAMES[config.model],
        build_ranker=build_ranker,
        fit=fit_hardest,
        scorer=SharedTextScorer,
    )


def run_attentive_pooling(config: AttentivePoolingConfig) -> ExperimentResult:
    """Run the experiment that a script's configuration describes, say which negatives it has, and draw the
    accuracy by the length of answers (Fig. 3, 4), for every test split.

    Args:
        config: the options.

    Returns:
        Data, scores, curves and records; see `run_experiment`.

    Raises:
        UserError: see `run_experiment`.
    """
    if config.optimizer.lower() != "sgd" and config.learning_rate == config.paper_values()["learning_rate"]:
        raise UserError(
            f"the paper's learning rate, {config.learning_rate:g}, is one for SGD. With --optimizer "
            f"{config.optimizer} give --learning-rate as well, such as 0.001, and to keep it constant "
            "--learning-rate-decay False."
        )
    print(f"Negatives: {config.negatives()}.", flush=True)
    model = NAMES[config.model]
    result = run_experiment(
        config,
        paper="attentive_pooling",
        model=model,
        train_seed=train_attentive_pooling,
        load=load_attentive_pooling_data,
    )
    for name, split in result.data.scored_splits.items():
        if name != "dev":
            title = f"{result.data.title}, {name}"
            figure = _accuracy_by_length(split, [scores[name] for scores in result.scores], model, title)
            save_figure(figure, result.folder / f"accuracy_by_answer_length_{name}.png")
    return result


def _accuracy_by_length(
    split: "EncodedSplit", scores: Sequence[np.ndarray], model: str, title: str
) -> "Figure":
    from evaluation.attention_figures import accuracy_by_answer_length, correct_answer_lengths

    questions = [split.question_ids[number] for number in split.question_of_row]
    lengths = correct_answer_lengths(questions, split.labels, split.candidates.lengths)
    seeds = [per_question(split, of_seed) for of_seed in scores]
    return accuracy_by_answer_length({model: seeds}, lengths, title=title)
