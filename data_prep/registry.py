"""The data sets by name, and the one way to load any of them."""

from pathlib import Path

from data_prep.antique import ANTIQUE
from data_prep.data_files import DataFiles
from data_prep.dataset import Dataset
from data_prep.description import DatasetDescription
from data_prep.errors import UserError
from data_prep.insuranceqa import INSURANCEQA, INSURANCEQA_TOKENS, INSURANCEQA_V1
from data_prep.natural_questions import NQ_LA
from data_prep.qed import QED
from data_prep.sample_data import SAMPLE
from data_prep.semevalcqa import SEMEVALCQA
from data_prep.squad_sent import SQUAD_SENT
from data_prep.tables import load_table
from data_prep.trecqa import TRECQA
from data_prep.wikiqa import WIKIQA
from data_prep.yahooqa import YAHOOQA

DATASETS: dict[str, DatasetDescription] = {
    each.name: each
    for each in (
        SAMPLE,
        WIKIQA,
        TRECQA,
        INSURANCEQA,
        INSURANCEQA_TOKENS,
        INSURANCEQA_V1,
        SEMEVALCQA,
        YAHOOQA,
        ANTIQUE,
        SQUAD_SENT,
        NQ_LA,
        QED,
    )
}

OWN_TABLES = DatasetDescription(
    name="own",
    title="own tables",
    variants=("",),
    protocols={"answerable": "answerable"},
    order_is_signal=False,
    pretokenised=False,
    lists_correct_first=False,
    source="the user's own",
    licence="the user's own",
)


def reader_sources(name: str) -> tuple[str, ...]:
    """Name the files that read a data set and say which of its questions count, from the repository's folder.

    Args:
        name: the data set's name; one that is not known, as a user's own table, has no reader of its own.

    Returns:
        Files of this folder, or patterns of their names.

    Example:
        >>> reader_sources("wikiqa")[-1]
        'data_prep/wikiqa*.py'
    """
    read = DATASETS[name].read if name in DATASETS else None
    own = () if read is None else (f"{read.__module__.replace('.', '/')}*.py",)
    return (
        *(f"data_prep/{part}.py" for part in ("protocols", "sentences", "shared_texts", "splitting")),
        *own,
    )


def find_description(name: str) -> DatasetDescription:
    """Look a data set's description up.

    Args:
        name: its name.

    Raises:
        UserError: there is no such data set.

    Example:
        >>> find_description("trecqa").variants
        ('TRAIN-ALL', 'TRAIN')
    """
    if name not in DATASETS:
        raise UserError(f"unknown data set {name!r}: choose one of {', '.join(DATASETS)}.")
    return DATASETS[name]


def load_dataset(name: str, variant: str | None = None, data_home: str | Path | None = None) -> Dataset:
    """Load a data set by name.

    Args:
        name: one of `DATASETS`, such as "sample" (bundled), "wikiqa" or "trecqa".
        variant: the training set, one of the description's `variants`; None for the first of them. TrecQA has
            "TRAIN-ALL" (default) and "TRAIN".
        data_home: the folder that holds `wikiqa/`, `trecqa/` and so on; None for QA_DATA_HOME and the user's
            cache.

    Returns:
        The data set, complete: which questions count is the caller's choice, by `apply_protocol`.

    Raises:
        UserError: unknown name or variant, or the data are absent or not the published ones.

    Example:
        >>> sorted(load_dataset("sample").splits)
        ['dev', 'test', 'train']
    """
    description = find_description(name)
    variant = description.variants[0] if variant is None else variant
    if variant not in description.variants:
        choice = ", ".join(filter(None, description.variants))
        cure = f"Choose one of {choice}." if choice else "It has no variants: leave --variant None."
        raise UserError(f"unknown variant {variant!r} of {description.title}. {cure}")
    train, dev, test, *further = description.read(variant, DataFiles(description, data_home))
    return Dataset(train, dev, test, description, variant, *further)


def load_own_tables(train: str | Path, dev: str | Path, test: str | Path) -> Dataset:
    r"""Load a user's own tables (see `load_table`) as a data set.

    Args:
        train: the table to train on.
        dev: the table to choose by.
        test: the table to report on.

    Returns:
        The data set.

    Raises:
        UserError: a table cannot be read or a row is wrong.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("/tmp/faq.csv").write_text("question,candidate,label\nWho?,Me.,1\nWho?,There.,0\n")
        >>> len(load_own_tables("/tmp/faq.csv", "/tmp/faq.csv", "/tmp/faq.csv").train)
        2
    """
    return Dataset(load_table(train), load_table(dev), load_table(test), description=OWN_TABLES)
