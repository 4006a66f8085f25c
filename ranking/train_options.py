"""The options of training on own tables; imports little, so that the command line reads them quickly."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, NamedTuple

from answer_ranking.base.errors import UserError
from answer_ranking.base.ranges import check_range
from answer_ranking.models.catalogue import CATALOGUE, Entry
from answer_ranking.training.methods import METHODS

_WORDS = ("glove-6b-50d",)


class _Preset(NamedTuple):
    model: str  # in the catalogue
    embeddings: tuple[str, ...] = _WORDS


FROM_PRESETS = {
    "hyperqa_squad": _Preset("hyperqa"),
    "cosinet_squad": _Preset("cosinet"),
    "hyperqa_minilm": _Preset("hyperqa-list", ("minilm",)),
    "hyperqa_minilm_candidates": _Preset("hyperqa-list", ("minilm",)),
}
"""The rankers that are trained already and go on with the table."""
MODELS = {entry.name: entry for entry in CATALOGUE.values() if entry.own_tables is not None}
MODELS |= {name: CATALOGUE[preset.model] for name, preset in FROM_PRESETS.items()}
"""The rankers that can be trained on own tables."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of `train_ranker`; a UserError names one that is out of range."""

    model: Literal[tuple(MODELS)] = "hyperqa"  # type: ignore[valid-type]
    """The ranker: HyperQA is among the fastest; CA list BiRNN, the best on WikiQA with no encoder, is slow;
    MP-CNN and Rank MP-CNN are by far the slowest. A preset, which comes trained with the package, goes on
    with the table: the better start where it is small. hyperqa_minilm and hyperqa_minilm_candidates need the
    encoder minilm (docs/contextual.md)."""
    in_order: bool = False
    """The candidates of a question are the sentences of a text in its order, from which ca-list-birnn learns;
    else it sees them in a random order."""
    dev_share: float = 0.15
    """Share of the questions that become dev where no dev table is given."""
    test_share: float = 0.15
    """Share of the questions that become test where no test table is given."""
    split_seed: int = 0
    """Seed of the draw of these questions."""
    wrong_answers: int = 10
    """Where a table has correct answers alone: how many wrong ones to draw for each question of train."""
    question_column: str = "question"
    """The column of questions."""
    candidate_column: str = "candidate"
    """The column of candidate answers."""
    label_column: str = "label"
    """The column that says which are correct."""
    sheet: str | None = None
    """The sheet to read of Excel files; None for the first one that is not hidden."""
    drop_bad_rows: bool = False
    """Leave out the rows that cannot be read, and say how many; else they end the command."""
    drop_duplicates: bool = False
    """Leave out the rows that repeat a question with the same candidate."""
    epochs: int | None = None
    """Passes over the training table; None for the model's default."""
    learning_rate: float | None = None
    """Learning rate; None for the model's default."""
    batch_size: int | None = None
    """Size of a batch; None for the model's default."""
    embeddings: tuple[str, ...] = _WORDS
    """Word vectors, by name or path; several are concatenated. minilm or the folder of another encoder gives
    contextual words (docs/contextual.md). The default knows English only;
    task-skipgram-100d are trained on the training table, whatever its language. A preset has its own, in
    the place of the default."""
    lowercase: bool = True
    """Words are put into lower case; --no-lowercase leaves them as they are."""
    seeds: int = 1
    """How many seeds to train, from 0."""
    examples: int = 3
    """How many questions to show that the ranker wins, and that it loses."""
    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""
    output: Path = Path("outputs")
    """Folder for models, run files, reports and the state of unfinished trainings."""

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise UserError(f"model must be one of {', '.join(MODELS)}. Received: {self.model!r}")
        given = self.embeddings
        object.__setattr__(self, "embeddings", (given,) if isinstance(given, str) else tuple(given))
        check_range(self, "epochs", "batch_size", "seeds", "wrong_answers", at_least=1)
        check_range(self, "split_seed", "examples", at_least=0)
        check_range(self, "learning_rate", above=0)
        if (preset := FROM_PRESETS.get(self.model)) is not None:
            if self.embeddings not in (_WORDS, preset.embeddings) or not self.lowercase:
                own = " ".join(preset.embeddings)
                cure = "leave --embeddings and --no-lowercase out"
                raise UserError(f"{self.model} has its own word vectors, {own} in lower case: {cure}.")
            object.__setattr__(self, "embeddings", preset.embeddings)
        if self.in_order and not METHODS[self.entry.method].in_order:
            raise UserError(f"{self.model} reads each candidate by itself: leave in_order out.")

    @property
    def entry(self) -> Entry:
        """What the catalogue says of the model."""
        return MODELS[self.model]

    @property
    def name(self) -> str:
        """The model's name in tables."""
        return f"{self.entry.title} from {self.model}" if self.model in FROM_PRESETS else self.entry.title

    @property
    def columns(self) -> dict[str, str]:
        """The user's names of the columns that have others than ours."""
        names = {name: getattr(self, f"{name}_column") for name in ("question", "candidate", "label")}
        return {name: given for name, given in names.items() if given != name}

    def command_line(self) -> list[str]:
        """Return the options of `answer-ranking train` that differ from the defaults, but for `output`."""
        words = [] if self.lowercase else ["--no-lowercase"]
        words += ["--in-order"] * self.in_order
        words += ["--drop-bad-rows"] * self.drop_bad_rows + ["--drop-duplicates"] * self.drop_duplicates
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default and field.name != "output" and not isinstance(value, bool):
                values = map(str, value if isinstance(value, tuple) else (value,))
                words += [f"--{field.name.replace('_', '-')}", *values]
        return words
