"""Splitting a user's one table into training, development and test questions."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from data_prep.errors import UserError
from data_prep.protocols import counts_under


def split_by_question(
    table: pd.DataFrame, shares: Mapping[str, float], seed: int = 0, where: str = "the table"
) -> dict[str, pd.DataFrame]:
    """Take whole questions out of a table, at random by a seed; the rest is for training.

    Questions of the same text, but for capitals and white space, go together, whatever their identifiers.
    Questions by which rankers can be told apart, those with a correct and a wrong candidate, and the others
    are dealt out separately, so that every part has its share of both, and at least one of the first kind.
    Who goes where depends on the texts of the questions and the seed, not on the order of the rows.

    Args:
        table: a checked table, see `data_prep.tables.check_table`.
        shares: the share of the questions that each part gets, such as {"dev": 0.15, "test": 0.15}; each
            above 0, together below 1.
        seed: of the draw.
        where: the table's name, for messages.

    Returns:
        "train" and the parts by name; their rows keep their order.

    Raises:
        UserError: a share is out of range, or there are not enough questions with a correct and a wrong
            candidate for every part to have one.

    Example:
        >>> import pandas as pd
        >>> rows = [(q, c, int(c == "x")) for q in "abcd" for c in "xyz"]
        >>> table = pd.DataFrame(rows, columns=["question", "candidate", "label"])
        >>> parts = split_by_question(table.assign(question_id=table["question"]), {"test": 0.25})
        >>> {name: part["question"].nunique() for name, part in parts.items()}
        {'train': 3, 'test': 1}
    """
    for name, share in shares.items():
        if not 0 < share < 1:
            raise UserError(f"the share of {name} must be above 0 and below 1, not {share}.")
    if sum(shares.values()) >= 1:
        raise UserError(f"the shares {dict(shares)} leave nothing to train on. Choose smaller ones.")
    texts = [" ".join(text.casefold().split()) for text in table["question"].unique()]
    group_of_text = pd.Series(texts, index=table["question"].unique())
    groups = table["question"].map(group_of_text).to_numpy(object)
    counts = table.groupby(groups)["label"].agg(["sum", "size"])  # by group, in alphabetical order
    clean = counts_under("clean", counts["sum"].to_numpy(), (counts["size"] - counts["sum"]).to_numpy())
    if clean.sum() <= len(shares):
        raise UserError(
            f"{where}: {clean.sum()} of its {len(counts)} questions have a correct and a wrong candidate. "
            f"{len(shares) + 1} such questions are the least from which train and {' and '.join(shares)} can "
            "be made. Add questions, or candidates of both kinds, or name tables of their own for these."
        )
    rng = np.random.default_rng(seed)
    part_of = pd.Series("train", index=counts.index, dtype=object)
    for kind, least in ((clean, 1), (~clean, 0)):
        names = rng.permutation(counts.index[kind].to_numpy(object))
        # What is left to the later parts, and one for training, must not be given away.
        start, reserved = 0, least * len(shares)
        for part, share in shares.items():
            size = min(max(round(share * len(names)), least), len(names) - start - reserved)
            part_of[names[start : start + size]] = part
            start, reserved = start + size, reserved - least
    part_of_row = part_of[groups].to_numpy()
    return {part: table[part_of_row == part].reset_index(drop=True) for part in ("train", *shares)}
