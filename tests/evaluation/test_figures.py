import numpy as np
import pytest
from matplotlib.text import Text

from answer_ranking.evaluation.figures import (
    learning_curves,
    norm_histogram,
    quality_against_speed,
    quality_by_year,
    wins_and_losses,
)

HISTORIES = [
    [{"loss": 0.5, "dev_map": 0.60}, {"loss": 0.4, "dev_map": 0.70}, {"loss": 0.3, "dev_map": 0.65}],
    [{"loss": 0.7, "dev_map": 0.50}, {"loss": 0.2, "dev_map": 0.60}],
]


def lines(axes):
    return {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}


def test_learning_curves_hold_each_seed_their_mean_and_the_best_epochs():
    loss, metric = learning_curves(HISTORIES).axes
    assert lines(loss)["mean"] == [[1, 0.6], [2, pytest.approx(0.3)], [3, 0.3]]
    assert lines(metric)["best epoch"] == [[2, 0.70]]


def test_norm_histogram_shows_shares_of_all_texts():
    rng = np.random.default_rng(0)
    (axes,) = norm_histogram(rng.gamma(9, 0.3, 50), rng.gamma(9, 0.5, 700), max_norm=1.0).axes
    for bars in axes.containers:
        assert sum(bar.get_height() for bar in bars) == pytest.approx(100)


def test_wins_and_losses_are_counted_and_sorted():
    figure = wins_and_losses({"BM25": [-0.5, 0.25, 0.0, 1.0], "WO": [0.0]}, model="CTRN")
    first, second = figure.axes
    assert "2 better, 1 equal, 1 worse" in first.get_title()
    assert "0 better, 1 equal, 0 worse" in second.get_title()
    wins, losses = (area.get_paths()[0].vertices for area in first.collections)
    assert (wins[:, 1].max(), losses[:, 1].min()) == (1.0, -0.5)


def test_the_front_of_quality_and_speed_has_what_is_much_faster_than_all_better_models():
    points = {
        "slow": [10, 0.7, 0.01],
        "worse": [20, 0.6, 0.0],
        "mid": [50, 0.65, 0.02],
        "hardly faster": [55, 0.62, 0.0],
        "hardly faster than that": [60, 0.61, 0.0],
        "fast": [900, 0.5, 0.0],
    }
    (axes,) = quality_against_speed(points).axes
    assert lines(axes)["best trade-offs"] == [[10, 0.7], [50, 0.65], [900, 0.5]]
    assert axes.get_xscale() == "log" and {text.get_text() for text in axes.texts} == set(points)


def assert_names_are_beside_their_points(figure, names, places, away):
    """No name covers a point or another name, and one without a line is nearest to its own point."""
    figure.draw_without_rendering()
    (axes,) = figure.axes
    places = axes.transData.transform(places)
    boxes = {text.get_text(): Text.get_window_extent(text) for text in axes.texts}
    assert set(boxes) == set(names)
    for text in axes.texts:
        box = boxes.pop(text.get_text())
        distances = np.hypot(*(places - np.clip(places, box.min, box.max)).T)
        assert distances.min() > away * figure.dpi / 72 - 0.5
        assert text.arrow_patch or names[distances.argmin()] == text.get_text()
        assert not box.count_overlaps(list(boxes.values()))
        assert axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max)


def test_names_of_points_close_together_are_beside_their_own_and_cover_none():
    points = {f"a model, {i}": [10 + (i % 2), 0.6 + 0.003 * i, 0.0] for i in range(6)}
    points |= {"other": [195, 0.728, 0.0], "another one": [208, 0.728, 0.0], "fast": [900, 0.5, 0.0]}
    places = [point[:2] for point in points.values()]
    assert_names_are_beside_their_points(quality_against_speed(points), list(points), places, away=7)


def test_names_of_a_year_s_systems_are_beside_their_circles():
    # So close, with names of such lengths, that one covers another's circle if it may.
    years = [2014, 2014, 2015, 2016, 2016, 2014, 2014, 2015, 2015, 2014, 2016]
    values = [0.696, 0.634, 0.638, 0.629, 0.689, 0.663, 0.641, 0.656, 0.694, 0.635, 0.696]
    lengths = [8, 0, 8, 13, 2, 11, 6, 4, 11, 3, 9]
    points = {}
    for number, (year, value, length) in enumerate(zip(years, values, lengths, strict=True)):
        points[f"system {'x' * length}, {number}"] = [year, None, value, 10**6]
    figure = quality_by_year(points)
    places = np.concatenate([circle.get_offsets() for circle in figure.axes[0].collections])
    names = sorted(points, key=lambda name: points[name][2])
    assert_names_are_beside_their_points(figure, names, places, away=9)
