"""What pages say about the figures of the benchmarks."""

from pathlib import Path

from answer_ranking.evaluation.records import read_study
from answer_ranking.evaluation.tables import markdown_table, wrapped

_STAGES = {"ball": "nearest points", "bm25": "BM25", "both": "both, fused"}


def search_block(path: Path) -> str:
    """Write the part of the page on search that comes from the figures of `benchmarks/search.py`.

    Example:
        >>> search_block(Path("/nowhere"))
        'The benchmark has not been run yet.'
    """
    if not path.exists():
        return "The benchmark has not been run yet."
    figures = read_study(path, {"points", "searches", "of_points", "extrapolated", "measured"})
    rows = []
    for name, each in figures["searches"].items():
        first, _, other = name.partition(", then ")
        title = f"{_STAGES[first]}, the first 100 re-ranked by {other}" if other else _STAGES[first]
        rows.append([title, f"{each['median_ms']:.1f}", f"{each['p95_ms']:.1f}"])
    points = []
    for name, part in figures["of_points"].items():
        used, first = part["chosen"], part["exact"]
        points.append(
            f"{name}: recall@10 {used['recall_at_10']:.4f}, {used['speed_against_flat']:.0f} times as fast "
            f"as exact search ({part['flat_ms']:.0f} ms); among the first {first['points']:,} points, which "
            f"are searched exactly, {first['recall_at_10']:.3f}"
        )
    count, n_threads = f"{figures['points']:,}", figures["measured"]["threads"]
    minutes, memory = figures["build_seconds"] / 60, figures["build_peak_bytes"] / 1e9
    needs = []
    for name, each in figures["extrapolated"].items():
        disk = each["bytes_on_disk"]
        times = disk["points"] / figures["bytes_on_disk"]["points"]
        sizes = [f"{size / 1e9:.1f} GB" for size in (sum(disk.values()), disk["ball"], disk["bm25"])]
        needs.append(
            f"{name}: built in {each['build_hours']:.1f} hours with {memory * times:.0f} GB of memory, which "
            f"hold the table; {sizes[0]} of disk; a search holds {sizes[1]} of quantised points, or "
            f"{sizes[2]} of BM25's"
        )
    parts = [
        f"{count} answers of about 20 words, {figures['ranker']}, {n_threads} threads: from a table to the "
        f"index in {minutes:.1f} minutes with at most {memory:.1f} GB "
        f"({figures['texts_encoded_per_second']:,.0f} texts encoded a second). One question from its text to "
        "ten answers:",
        markdown_table(["first stage", "median ms", "95th percentile"], rows),
        f"The points alone; {'; '.join(points)}.",
        f"![Recall against speed]({path.stem}.png)",
        f"Extrapolated from {count}, not measured: {'; '.join(needs)}.",
    ]
    return "\n\n".join(each if each.startswith(("|", "!")) else wrapped(each) for each in parts)


def service_block(path: Path) -> str:
    """Write the part of the page on the service that comes from the figures of `benchmarks/service.py`.

    Example:
        >>> service_block(Path("/nowhere"))
        'The benchmark has not been run yet.'
    """
    if not path.exists():
        return "The benchmark has not been run yet."
    figures = read_study(path, {"searches_per_second", "faults", "memory_growth", "measured"})
    faults, wrong = figures["faults"], figures["wrong_answers"] + figures["mixed_wrong_answers"]

    def listed(statuses: dict[str, int]) -> str:
        return ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))

    rows = [
        ["answers in the index", f"{figures['answers']:,}"],
        [f"searches a second, {figures['clients']} clients", f"{figures['searches_per_second']:.0f}"],
        ["median, 95th percentile", f"{figures['median_ms']:.0f} ms, {figures['p95_ms']:.0f} ms"],
        [f"{figures['malformed_requests']:,} malformed requests", listed(faults["malformed"])],
        ["500 clients at once", listed(faults["crowd"])],
        [f"mixed load, {figures['mixed_seconds'] / 60:.0f} minutes", listed(figures["mixed_statuses"])],
        [
            "memory, and its growth under mixed load",
            f"{figures['memory_bytes'] / 1e6:.0f} MB, {figures['memory_growth']:+.1%}",
        ],
        ["crashes, tracebacks, wrong answers", f"{figures['crashes']}, {faults['tracebacks']}, {wrong}"],
        ["SIGTERM with 8 requests under way", f"{listed(figures['sigterm_statuses'])}"],
    ]
    about = f"Over the loopback interface, {figures['measured']['threads']} cores, which the clients share:"
    return "\n\n".join([about, markdown_table(["", "measured"], rows)])


def cluster_block(path: Path) -> str:
    """Write the part of the page on clusters that comes from the figures of `benchmarks/cluster.py`.

    Example:
        >>> cluster_block(Path("/nowhere"))
        'The benchmark has not been run yet.'
    """
    if not path.exists():
        return "The benchmark has not been run yet."
    figures = read_study(path, {"tasks", "seconds", "ratios", "kills", "lost", "doubled", "different"})
    ratios = figures["ratios"]
    rows = [[f"`{name}`", f"{figures['seconds'][name]:.0f}", f"{ratios[name]:.2f}"] for name in ratios]
    kinds = ", ".join(f"{kind}s: {count}" for kind, count in sorted(figures["kinds"].items()))
    parts = [
        f"{figures['tasks']} trainings of one epoch on the sample, {figures['measured']['threads']} cores, "
        "each in a process of its own; a longer training has less overhead:",
        markdown_table(["way", "seconds", "ratio"], rows),
        f"The same trainings on two nodes of one machine, with {figures['kills']} random kills ({kinds}): "
        f"{figures['lost']} seeds lost, {figures['doubled']} doubled, {figures['different']} with other "
        "values.",
    ]
    return "\n\n".join(each if each.startswith("|") else wrapped(each) for each in parts)
