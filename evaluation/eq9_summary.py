"""The study of Eq. 9: what the runs of all conditions come to, as one record and as a part of its page.

A condition is HyperQA under one reading of Eq. 9, or CosineQA.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from data_prep.files import atomic_write
from evaluation.intervals import mean_confidence_interval
from evaluation.significance import holm_correction, paired_randomisation_test
from evaluation.source_fingerprints import changed_sources
from evaluation.study_records import read_study
from evaluation.tables import METRIC_TITLES, format_measured, markdown_table
from training.pairwise_settings import Eq9

BASELINE = "none"
READINGS = (BASELINE, *(name for name in get_args(Eq9) if name != BASELINE))
"""The readings of Eq. 9 in the order of the tables."""
COSINE = "cosineqa"
TITLES = {**{name: f"HyperQA, `{name}`" for name in READINGS}, COSINE: "CosineQA"}
"""Every condition, in the order of the tables."""
_METRICS = ("map", "mrr", "p@1")
_SIGNIFICANT = 0.05
_DIGITS = 6
_KEYS = {"title", "protocol", "embeddings", "configuration", "tuning", "conditions", "command", "code"}
_KEYS |= {"seeds", "size_seeds"}


def choose_rate(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Choose the learning rate with the highest mean of best dev MAPs; a rate that diverged is out.

    Args:
        trials: the trials of one condition, each with `learning_rate` and `dev_map` or `diverged`.

    Returns:
        `learning_rate`, None where every rate diverged; `at_edge`, whether it is the least or the greatest of
        several; and `rates`, the dev MAPs, or the message, of each.

    Example:
        >>> choose_rate([{"learning_rate": 0.1, "dev_map": 0.7}, {"learning_rate": 0.3, "dev_map": 0.6},
        ...     {"learning_rate": 1.0, "diverged": "Training stopped at step 2"}])["learning_rate"]
        0.1
    """
    rates: dict[float, dict[str, Any]] = {}
    for trial in trials:
        of_rate = rates.setdefault(trial["learning_rate"], {"dev_map": []})
        if "diverged" in trial:
            of_rate["diverged"] = trial["diverged"]
        else:
            of_rate["dev_map"].append(trial["dev_map"])
    # Of equal rates the least.
    sound = {rate: np.mean(rates[rate]["dev_map"]) for rate in sorted(rates) if "diverged" not in rates[rate]}
    best = max(sound, key=sound.get, default=None)
    return {
        "learning_rate": best,
        "at_edge": best is not None and len(rates) > 1 and best in (min(rates), max(rates)),
        "rates": [{"learning_rate": rate, **rates[rate]} for rate in sorted(rates)],
    }


def summarise_conditions(
    dimension: int,
    tuned: Mapping[str, Mapping[str, Any]],
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    level: float,
) -> list[dict[str, Any]]:
    """Sum up the runs of all conditions at one size.

    Args:
        dimension: d.
        tuned: what `choose_rate` returns, by condition.
        runs: by condition, a mapping per seed: `seed` and either `diverged` or `history`, `norms` (the rows
            of `NormTracker`) and `test` (`question_ids` and lists of metrics).
        level: the share of the best mean of best dev MAPs whose first reaching is counted in epochs.

    Returns:
        A mapping per condition: `dimension`, `condition`, the chosen rate, `seeds`, `diverged` (messages by
        seed), and, of the seeds that did not diverge: `metrics` on test, `best_dev_map`, `edge_share` (mean
        over the epochs) with means, 95 % t intervals and values of every seed; `dev_level` and
        `epochs_to_level` (None: never); the curves; `ap`, the mean over the seeds of each question's average
        precision; and `p`, its paired randomisation test against `none`, corrected after Holm.

    Raises:
        ValueError: the runs do not have the same test questions.
    """
    finished = {name: [run for run in each if "diverged" not in run] for name, each in runs.items()}
    dev = {name: [[e["dev_map"] for e in run["history"]] for run in each] for name, each in finished.items()}
    best = [np.mean([max(curve) for curve in curves]) for curves in dev.values() if curves]
    to_reach = level * max(best, default=0.0)
    summaries = []
    for name, choice in tuned.items():
        summary = {
            "dimension": dimension,
            "condition": name,
            **choice,
            "seeds": [run["seed"] for run in finished[name]],
            "diverged": {str(run["seed"]): run["diverged"] for run in runs[name] if "diverged" in run},
        }
        if finished[name]:
            summary |= _summary(finished[name], dev[name], to_reach)
        summaries.append(summary)
    if len({tuple(each["question_ids"]) for each in summaries if "ap" in each}) > 1:
        raise ValueError("the runs must have the same test questions.")
    by_name = {each["condition"]: each for each in summaries if "ap" in each}
    tested = [name for name in by_name if name != BASELINE] if BASELINE in by_name else []
    raw = [paired_randomisation_test(by_name[name]["ap"], by_name[BASELINE]["ap"]) for name in tested]
    for name, p in zip(tested, holm_correction(raw).tolist() if raw else [], strict=True):
        by_name[name]["p"] = p
    return summaries


def _spread(values: Sequence[float]) -> dict[str, Any]:
    mean, half_width = mean_confidence_interval(values)
    return {"mean": mean, "ci95": None if len(values) == 1 else half_width, "per_seed": list(values)}


def _summary(
    runs: Sequence[Mapping[str, Any]], dev: Sequence[Sequence[float]], to_reach: float
) -> dict[str, Any]:
    def curve(key: str) -> list[float]:
        return np.mean([[epoch[key] for epoch in run["history"]] for run in runs], axis=0).tolist()

    norms = {
        side: {
            kind: np.mean([[row[side][kind] for row in run["norms"]] for run in runs], axis=0).tolist()
            for kind in ("before", "after", "on_edge")
        }
        for side in ("questions", "answers")
    }
    return {
        "metrics": {name: _spread([float(np.mean(run["test"][name])) for run in runs]) for name in _METRICS},
        "best_dev_map": _spread([max(each) for each in dev]),
        "edge_share": _spread([float(np.mean([e["edge_share"] for e in run["history"]])) for run in runs]),
        "dev_level": to_reach,
        "epochs_to_level": [
            next((epoch for epoch, value in enumerate(each, start=1) if value >= to_reach), None)
            for each in dev
        ],
        "best_epoch": [run["best_epoch"] + 1 for run in runs],
        "seconds_per_epoch": float(np.median([e["seconds"] for run in runs for e in run["history"]])),
        "dev_map": [list(each) for each in dev],
        **{key: curve(key) for key in ("loss", "gradient_norm")},
        "edge_share_by_epoch": curve("edge_share"),
        "norms": norms,
        "question_ids": runs[0]["test"]["question_ids"],
        "ap": np.mean([run["test"]["map"] for run in runs], axis=0).tolist(),
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return round(value, _DIGITS) if isinstance(value, float) else value


def save_study(record: Mapping[str, Any], path: str | Path) -> None:
    """Write a study's record: a key, and a condition, per line.

    Args:
        record: what is known of the study, the list `conditions` among it.
        path: the file.

    Raises:
        UserError: the file cannot be written.
    """

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    lines = [f"  {text(key)}: {text(value)}" for key, value in record.items() if key != "conditions"]
    conditions = ",\n".join(f"    {text(_rounded(each))}" for each in record["conditions"])
    lines.append(f'  "conditions": [\n{conditions}\n  ]')
    with atomic_write(path) as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def load_studies(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Read all records of the study in a folder, which may be missing.

    Args:
        folder: the folder; its `.json` files are the records.

    Returns:
        The records by the file's name without its ending.

    Raises:
        UserError: a file is no record of the study.

    Example:
        >>> load_studies("/tmp/absent")
        {}
    """
    return {path.stem: load_study(path) for path in sorted(Path(folder).glob("*.json"))}


def load_study(path: str | Path) -> dict[str, Any]:
    """Read one record of the study.

    Args:
        path: the file.

    Raises:
        UserError: it is no record of the study, or cannot be read.
    """
    return read_study(path, _KEYS)


def eq9_block(folder: str | Path, root: str | Path) -> str:
    """Write what the page of the study says of the records: tables, tests, figures, commands.

    Args:
        folder: the folder of the records; those of the sample are left out.
        root: the repository, whose code is compared with the records' fingerprints.

    Returns:
        Markdown text.

    Example:
        >>> eq9_block("/tmp/absent", "/tmp")
        'The study has not been run yet.'
    """
    records = {name: each for name, each in load_studies(folder).items() if each["dataset"] != "sample"}
    if not records:
        return "The study has not been run yet."
    return "\n\n".join(_section(name, record, root) for name, record in records.items())


def _section(name: str, record: Mapping[str, Any], root: str | Path) -> str:
    options, tuning = record["configuration"], record["tuning"]
    dimensions = list(dict.fromkeys(each["dimension"] for each in record["conditions"]))
    main = [each for each in record["conditions"] if each["dimension"] == dimensions[0]]
    clip = options["clip_norm"]
    clipped = "without clipping" if clip is None else f"gradient norm clipped at {clip:g} for all"
    rates = ", ".join(f"{rate:g}" for rate in tuning["learning_rates"])
    parts = [
        f"### {record['title']}, {record['protocol']}",
        f"d = {dimensions[0]}, {record['seeds']} seeds, {options['epochs']} epochs, largest norm "
        f"{options['max_norm']:g}, {clipped}, word vectors {record['embeddings']}. Learning rates: the best "
        f"of {rates} by the mean of {tuning['seeds']} other seeds' best dev MAP.",
        study_table(main),
        " ".join(_sentences(main, record)),
    ]
    if len(dimensions) > 1:
        parts += [_sizes_table(record["conditions"], dimensions), _sizes_note(record)]
    parts.append(f"![Quality, convergence, norms and edge, {record['title']}](eq9-{name}.png)")
    changed = changed_sources(record["code"], root)
    stale = f" **Stale**, changed since: {', '.join(f'`{each}`' for each in changed)}." if changed else ""
    return "\n\n".join([*parts, f"Run: `{record['command']}`.{stale}"])


def study_table(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Set the table of all conditions of one size in Markdown.

    Args:
        conditions: what `summarise_conditions` returns.

    Example:
        >>> table = study_table([{"condition": "points", "learning_rate": None, "diverged": {}}])
        >>> table.splitlines()[2].split(" | ")[1]
        'diverged at every rate'
    """
    header = ["", "rate", *(METRIC_TITLES[name] for name in _METRICS), "p", "best dev MAP"]
    header += ["epochs to level", "edge share", "norm, questions", "norm, answers"]
    lines = []
    for each in conditions:
        cells = [TITLES[each["condition"]]]
        if "metrics" not in each:
            said = "diverged at every rate" if each["learning_rate"] is None else "diverged with every seed"
            lines.append([*cells, said, *[""] * (len(header) - 2)])
            continue
        lost = f" ({len(each['diverged'])} seeds diverged)" if each["diverged"] else ""
        cells.append(f"{each['learning_rate']:g}" + ("*" if each["at_edge"] else "") + lost)
        cells += [format_measured(each["metrics"][name]) for name in _METRICS]
        cells.append("" if "p" not in each else f"{each['p']:.3g}")
        cells.append(format_measured(each["best_dev_map"]))
        reached = [epoch for epoch in each["epochs_to_level"] if epoch is not None]
        of_all = "" if len(reached) == len(each["seeds"]) else f" ({len(reached)} of {len(each['seeds'])})"
        cells.append(f"{np.median(reached):g}{of_all}" if reached else "never")
        cells.append(format_measured(each["edge_share"]))
        cells += [f"{each['norms'][side]['before'][-1][1]:.3g}" for side in ("questions", "answers")]
        lines.append(cells)
    return markdown_table(header, lines)


def _sentences(conditions: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> list[str]:
    measured = {each["condition"]: each for each in conditions if "metrics" in each}
    if not measured:
        return []
    means = {name: each["metrics"]["map"]["mean"] for name, each in measured.items()}
    p = {name: each["p"] for name, each in measured.items() if "p" in each}
    sentences = []
    if p:
        apart = [
            f"{TITLES[name]} ({means[name] - means[BASELINE]:+.3f})"
            for name in p
            if p[name] < _SIGNIFICANT and means[name] != means[BASELINE]
        ]
        found = f"these differ: {', '.join(apart)}" if apart else "no other row differs"
        sentences.append(f"From `{BASELINE}`, by MAP at p < {_SIGNIFICANT}, {found}.")
    level = next(iter(measured.values()))["dev_level"]
    norms = ", ".join(
        f"{TITLES[name]} {np.mean(each['gradient_norm']):.3g}" for name, each in measured.items()
    )
    sentences.append(
        "p: paired randomisation test over the questions on the mean over the seeds of each question's "
        f"average precision, against `{BASELINE}`, corrected after Holm. Level: dev MAP {level:.3f}, "
        f"{record['level']:.0%} of the best row's best dev MAP; the median over the seeds that reach it. "
        "Edge share: of the texts of the training batches, mean over the epochs. Norms: median over the dev "
        "texts before the ball, after the last epoch. Mean norm of the gradient after the conversion and "
        f"before clipping: {norms}."
    )
    if any(each["at_edge"] for each in conditions):
        sentences.append("* the least or the greatest rate tried.")
    return sentences


def _sizes_table(conditions: Sequence[Mapping[str, Any]], dimensions: Sequence[int]) -> str:
    names = list(dict.fromkeys(each["condition"] for each in conditions))
    found = {(each["dimension"], each["condition"]): each for each in conditions}
    lines = []
    for dimension in sorted(dimensions):
        row = [found[dimension, name] for name in names]
        cells = ["diverged" if "metrics" not in each else _with_p(each) for each in row]
        lines.append([str(dimension), *cells])
    return markdown_table(["d", *(f"{TITLES[name]}: MAP" for name in names)], lines)


def _with_p(each: Mapping[str, Any]) -> str:
    mark = " †" if each.get("p", 1.0) < _SIGNIFICANT else ""
    return f"{format_measured(each['metrics']['map'])} (rate {each['learning_rate']:g}){mark}"


def _sizes_note(record: Mapping[str, Any]) -> str:
    return (
        f"The same at other sizes, {record['size_seeds']} seeds each (the size of the table above: "
        f"{record['seeds']}), the rate tuned anew at every size; † differs from `{BASELINE}` at p < "
        f"{_SIGNIFICANT}, corrected within the size."
    )
