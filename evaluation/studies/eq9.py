"""The study of Eq. 9: the results of all conditions as one record, as part of its page and as a figure.

A condition is HyperQA under one reading of Eq. 9, or CosineQA.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.figures import new_figure
from answer_ranking.evaluation.metrics import spreads
from answer_ranking.evaluation.records import read_study
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test
from answer_ranking.evaluation.tables import (
    METRIC_TITLES,
    format_measured,
    markdown_table,
    short_vectors,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASELINE = "none"
READINGS = (BASELINE, "points", "parameters", "released_code")
"""The readings of Eq. 9 (`answer_ranking.training.Eq9`) in the order of the tables."""
COSINE = "cosineqa"
TITLES = {**{name: f"HyperQA, `{name}`" for name in READINGS}, COSINE: "CosineQA"}
"""Every condition, in the order of the tables."""
_METRICS = ("map", "mrr", "p@1")
_SIDES = ("questions", "answers")
_KEYS = {"title", "dataset", "protocol", "embeddings", "configuration", "tuning", "conditions", "command"}
_KEYS |= {"seeds", "size_seeds"}
# Colours that can be told apart with most kinds of colour blindness (Okabe and Ito).
_COLOURS = dict(zip(TITLES, ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7"), strict=True))


def choose_rate(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Choose the learning rate with the highest mean of best dev MAPs; a rate that diverged is out.

    Returns `learning_rate`, None where every rate diverged; `at_edge`, whether it is the least or the
    greatest of several; and `rates`, the dev MAPs, or the message, of each.
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
    """Summarise the runs of all conditions at one size d, on the same test questions.

    `tuned` is what `choose_rate` returns, by condition. `runs` has, by condition, a mapping per seed: `seed`
    and either `diverged` or `history`, `norms` (the rows of `NormTracker`) and `test` (`question_ids` and
    lists of metrics). `level` is the share of the best mean of best dev MAPs that is to be reached.

    Returns a mapping per condition: what was chosen, `diverged` (messages by seed), and of the other seeds
    summaries with 95 % t intervals, curves, `epochs_to_level` (None: never), `ap`, the mean over the seeds of
    each question's average precision, and `p`, its paired randomisation test against `none`, after Holm.
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
        for side in _SIDES
    }
    return {
        "metrics": spreads({m: [float(np.mean(run["test"][m])) for run in runs] for m in _METRICS}),
        **spreads(
            {
                "best_dev_map": [max(each) for each in dev],
                "edge_share": [float(np.mean([e["edge_share"] for e in run["history"]])) for run in runs],
            }
        ),
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


def load_study(path: str | Path) -> dict[str, Any]:
    """Read one record of the study; a UserError names a file that is none."""
    return read_study(path, _KEYS)


def load_studies(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Read all records of the study in a folder, which may be missing, by their names."""
    return {path.stem: load_study(path) for path in sorted(Path(folder).glob("*.json"))}


def eq9_block(folder: str | Path) -> str:
    """Write what the page of the study says about the records in a folder, but for the sample's."""
    records = {name: each for name, each in load_studies(folder).items() if each["dataset"] != "sample"}
    if not records:
        return "The study has not been run yet."
    return "\n\n".join(_section(name, record) for name, record in records.items())


def _section(name: str, record: Mapping[str, Any]) -> str:
    options, tuning = record["configuration"], record["tuning"]
    dimensions = list(dict.fromkeys(each["dimension"] for each in record["conditions"]))
    main = [each for each in record["conditions"] if each["dimension"] == dimensions[0]]
    clip = options["clip_norm"]
    clipped = "no clipping" if clip is None else f"gradient norm clipped at {clip:g}"
    rates = ", ".join(f"{rate:g}" for rate in tuning["learning_rates"])
    about = (
        f"d = {dimensions[0]}, {record['seeds']} seeds, {options['epochs']} epochs, largest norm "
        f"{options['max_norm']:g}, {clipped}, word vectors {short_vectors(record['embeddings'])}. Learning "
        f"rate: the best of {rates} by the mean of {tuning['seeds']} other seeds' best dev MAP."
    )
    title = f"### {record['title']}, {record['protocol']}"
    parts = [title, wrapped(about), study_table(main), wrapped(" ".join(_sentences(main, record)))]
    if len(dimensions) > 1:
        sizes = (
            f"Other sizes, {record['size_seeds']} seeds each (the table above: {record['seeds']}), with the "
            f"rate tuned for every size; † differs from `{BASELINE}` at p < {SIGNIFICANT}, corrected within "
            "the size."
        )
        parts += [_sizes_table(record["conditions"], dimensions), wrapped(sizes)]
    parts.append(f"![Quality, convergence, edge and norms, {record['title']}](eq9-{name}.png)")
    return "\n\n".join([*parts, wrapped(f"Run: `{record['command']}`.")])


def study_table(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Set the table of all conditions of one size, as `summarise_conditions` returns them, in Markdown."""
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
        cells += [f"{each['norms'][side]['before'][-1][1]:.3g}" for side in _SIDES]
        lines.append(cells)
    return markdown_table(header, lines)


def _sentences(conditions: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> list[str]:
    measured = {each["condition"]: each for each in conditions if "metrics" in each}
    if not measured:
        return []
    means = {name: each["metrics"]["map"]["mean"] for name, each in measured.items()}
    sentences = []
    if p := {name: each["p"] for name, each in measured.items() if "p" in each}:
        apart = [
            f"{TITLES[name]} ({means[name] - means[BASELINE]:+.3f})"
            for name in p
            if p[name] < SIGNIFICANT and means[name] != means[BASELINE]
        ]
        found = f"these differ: {', '.join(apart)}" if apart else "no other row differs"
        sentences.append(f"From `{BASELINE}`, by MAP at p < {SIGNIFICANT}, {found}.")
    level = next(iter(measured.values()))["dev_level"]
    norms = ", ".join(
        f"{TITLES[name]} {np.mean(each['gradient_norm']):.3g}" for name, each in measured.items()
    )
    sentences.append(
        f"p: paired randomisation test over the questions against `{BASELINE}`, corrected after Holm. "
        f"Level: dev MAP {level:.3f}, {record['level']:.0%} of the best row's best dev MAP; the median over "
        "the seeds that reach it. Edge share: of the texts of the training batches, mean over the epochs. "
        "Norms: median over the dev texts before the ball, after the last epoch. Mean norm of the gradient "
        f"after the conversion, before clipping: {norms}."
    )
    if any(each["at_edge"] for each in conditions):
        sentences.append("* the least or the greatest rate tried.")
    return sentences


def _sizes_table(conditions: Sequence[Mapping[str, Any]], dimensions: Sequence[int]) -> str:
    names = list(dict.fromkeys(each["condition"] for each in conditions))
    found = {(each["dimension"], each["condition"]): each for each in conditions}

    def cell(each: Mapping[str, Any]) -> str:
        if "metrics" not in each:
            return "diverged"
        mark = " †" if each.get("p", 1.0) < SIGNIFICANT else ""
        return f"{format_measured(each['metrics']['map'])} (rate {each['learning_rate']:g}){mark}"

    lines = [[str(size), *(cell(found[size, name]) for name in names)] for size in sorted(dimensions)]
    return markdown_table(["d", *(f"{TITLES[name]}: MAP" for name in names)], lines)


def study_figure(conditions: Sequence[Mapping[str, Any]], *, max_norm: float, title: str = "") -> "Figure":
    """Draw quality against size, convergence, share on the edge and norms, in five panels and a legend."""
    if not conditions:
        raise ValueError("conditions must hold at least one. Received: none.")
    figure, panels = new_figure(3, 12.5, 6.4, rows=2)
    sizes, dev, edge, *of_sides, legend = panels
    names = list(dict.fromkeys(each["condition"] for each in conditions))
    dimensions = sorted({each["dimension"] for each in conditions})
    step = 0.012 * (dimensions[-1] - dimensions[0] or 1)
    finished = [each for each in conditions if "metrics" in each]
    for name in dict.fromkeys(each["condition"] for each in finished):
        here = sorted((each for each in finished if each["condition"] == name), key=itemgetter("dimension"))
        # Side by side, so that the intervals can be told apart.
        shift = step * (names.index(name) - (len(names) - 1) / 2)
        found = [each["metrics"]["map"] for each in here]
        errors = [each["ci95"] or 0.0 for each in found]
        style = {"fmt": "o-", "color": _COLOURS[name], "capsize": 2, "markersize": 4, "linewidth": 1.2}
        places, means = [each["dimension"] + shift for each in here], [each["mean"] for each in found]
        sizes.errorbar(places, means, yerr=errors, label=TITLES[name].replace("`", ""), **style)
    main = [each for each in finished if each["dimension"] == conditions[0]["dimension"]]
    for each in main:
        style, epochs = {"color": _COLOURS[each["condition"]]}, np.arange(len(each["dev_map"][0])) + 1
        dev.plot(epochs, np.mean(each["dev_map"], axis=0), **style)
        edge.plot(epochs, each["edge_share_by_epoch"], **style)
        for axes, side in zip(of_sides, _SIDES, strict=True):
            low, middle, high = np.array(each["norms"][side]["before"]).T
            axes.plot(range(len(middle)), middle, **style)
            axes.fill_between(range(len(middle)), low, high, alpha=0.12, linewidth=0, **style)
    sizes.set_xticks(dimensions)
    sizes.set(xlabel="d, size of the embeddings", ylabel="MAP on test, 95 % interval")
    dev.set(xlabel="epoch", ylabel="MAP on dev (dotted: level)")
    edge.set(xlabel="epoch", ylabel="share of training texts on the edge", ylim=(-0.03, 1.03))
    for axes, side in zip(of_sides, _SIDES, strict=True):
        axes.axhline(max_norm, color="#777777", linestyle="--", linewidth=1.2)
        label = f"dev {side}: norm before the ball\n(median, 5-95 %; dashed: edge)"
        axes.set(xlabel="epoch (0: initial)", ylabel=label, yscale="log")
    legend.set_axis_off()
    if main:
        dev.axhline(main[0]["dev_level"], color="#777777", linestyle=":", linewidth=1.2)
        legend.legend(*sizes.get_legend_handles_labels(), loc="center", frameon=False)
    figure.suptitle(title, fontsize="medium")
    return figure
