"""A recorded search: what it repeats, and what it does not take for done."""

import json
from dataclasses import dataclass, replace

import pytest

import reproduce.attentive_pooling_search
import reproduce.cosinet_search
import reproduce.ctrn_search
import reproduce.hyperqa_search
from data_prep import UserError
from reproduce.ctrn_experiment import CTRNConfig
from reproduce.experiment import SeedRun, load_experiment_data
from reproduce.search import SearchOptions, run_search

SPACE = {"learning_rate": (0.01, 0.02), "hidden": ((4,), (5,))}


@dataclass(frozen=True, kw_only=True)
class SearchConfig(SearchOptions, CTRNConfig):
    """A search on the sample."""

    dataset: str = "sample"
    model: str = "features"
    overlap_features: bool = True
    epochs: int = 1
    seeds: int = 1
    trials: int = 3


class OtherCode(CTRNConfig):
    """The same options, whose numbers depend on one file more."""

    sources = (*CTRNConfig.sources, "reproduce/demo.py")


@pytest.fixture(scope="module")
def data():
    return load_experiment_data(CTRNConfig(dataset="sample"), overlap=True)


@pytest.fixture
def search(data, tmp_path):
    trained = []

    def train(config, data, seed, splits):
        assert splits == ("dev",)
        # What is learned does not matter here: the overlap itself scores the candidates.
        trained.append((config.learning_rate, config.hidden, config.dropout))
        scores = data.encoded.dev.features[:, 0] * config.learning_rate
        return SeedRun(None, [], 0, {"dev": scores})

    def run(*, data=data, experiment=CTRNConfig, **options):
        trained.clear()
        config = SearchConfig(folder=tmp_path, **options)
        run_search(config, SPACE, experiment, lambda _: data, train, paper="ctrn")
        (path,) = tmp_path.glob("*.jsonl")
        return list(trained), [json.loads(line) for line in path.read_text().splitlines()]

    return run


def test_a_search_goes_on_and_takes_no_other_configuration_for_done(search):
    trained, trials = search()
    assert len(trained) == len(trials) == len({json.dumps(t["options"]) for t in trials}) <= 3
    assert all(0 < map_ <= 1 for trial in trials for map_ in trial["dev_map"])
    # The same search again has nothing to do; a longer one does the rest.
    assert search()[0] == []
    rest, longer = search(trials=12)
    assert len(longer) == 4
    assert set(trained) | set(rest) == {(r, h, 0.5) for r in (0.01, 0.02) for h in ((4,), (5,))}
    # Another dropout is another model, though no option of the space says so.
    again, _ = search(dropout=0.25)
    assert len(again) == len(trained)


def test_a_trial_with_other_seeds_data_or_code_is_another_one(search, data, capsys):
    vectors = replace(data.word_vectors, matrix=data.word_vectors.matrix * 2)
    changes = (
        {},
        {"first_seed": 1},
        {"seeds": 2},
        {"data": replace(data, word_vectors=vectors)},
        {"experiment": OtherCode},
    )
    lines = []
    for change in changes:
        trained, trials = search(trials=1, **change)
        assert len(trained) == change.get("seeds", 1)
        assert search(trials=1, **change) == ([], trials)
        # The lines of before stay as they are, and what is printed counts those that can be compared alone.
        assert trials[:-1] == lines
        assert "1 trials, and 0 that diverged" in capsys.readouterr().out
        lines = trials
    assert [line["seeds"] for line in lines] == [[0], [1], [0, 1], [0], [0]]
    assert lines[0]["data"] == data.fingerprint() != lines[3]["data"]
    assert [line["code"] == lines[0]["code"] for line in lines] == [True] * 4 + [False]


def test_trials_of_before_stay_readable_and_are_other_trials(search, tmp_path):
    (_, (line,)) = search(trials=1)
    (path,) = tmp_path.glob("*.jsonl")
    # The first searches wrote no more than this, and later ones the number of seeds.
    first = {key: value for key, value in line.items() if key not in ("fixed", "seeds", "data", "code")}
    before = [json.dumps(each) for each in (first, first | {"fixed": line["fixed"], "seeds": 1})]
    path.write_text("".join(f"{each}\n" for each in before))
    trained, trials = search(trials=1)
    assert len(trained) == 1
    assert path.read_text().splitlines()[:2] == before and len(trials) == 3


def test_a_line_that_a_kill_cut_is_named(search, tmp_path):
    search(trials=12)
    (path,) = tmp_path.glob("*.jsonl")
    path.write_text(path.read_text()[:-20])
    with pytest.raises(UserError, match=r"\.jsonl, line 4: no trial .*Remove the line"):
        search(trials=12)


def test_a_search_without_trials_is_refused(search):
    with pytest.raises(UserError, match="--trials must be at least 1"):
        search(trials=0)
    for wrong in ({"around": 3.0}, {"around": -1.0}, {"search_seed": -1}):
        with pytest.raises(UserError, match=f"{next(iter(wrong))} must be"):
            search(**wrong)


def test_near_trials_begin_with_the_given_configuration(search):
    (first, *_), _ = search(around=0.5, learning_rate=0.02, hidden=(5,), trials=1)
    assert first == (0.02, (5,), 0.5)


SEARCHES = (
    reproduce.attentive_pooling_search,
    reproduce.cosinet_search,
    reproduce.ctrn_search,
    reproduce.hyperqa_search,
)


@pytest.mark.parametrize("module", SEARCHES)
@pytest.mark.parametrize(
    "arguments",
    [
        ["--record"],
        ["--main"],
        ["--notes", "a note"],
        ["--tensorboard"],
        ["--output", "elsewhere"],
        ["--check-data"],
    ],
)
def test_options_without_use_in_a_search_are_refused_before_anything_is_loaded(
    run_in_process, tmp_path, module, arguments
):
    # There is no such data set, which would be the first thing that loading says.
    options = ("--dataset", "absent", "--folder", tmp_path / "searches", *arguments)
    code, out, err = run_in_process(module.search, module.SearchConfig, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: a search has no use for {arguments[0]}: it trains each trial")
    assert not list(tmp_path.iterdir())


def test_sizes_of_figure_3_are_refused_in_hyperqa_s_search():
    with pytest.raises(UserError, match="a search has no use for --check-data, --dimensions: "):
        reproduce.hyperqa_search.SearchConfig(dataset="sample", dimensions=(4, 8), check_data=True)


@pytest.mark.parametrize("module", SEARCHES)
def test_a_search_takes_two_seeds_and_says_so(run_in_process, module):
    assert module.SearchConfig(dataset="sample", first_seed=3).seed_list == [3, 4]
    code, out, _ = run_in_process(module.search, module.SearchConfig, "--help")
    assert code == 0
    text = " ".join(out.replace("│", " ").split())
    assert "How many seeds a trial has. (default: 2)" in text
    assert "5 for a recorded run" not in text and "Train nothing" not in text
    with pytest.raises(UserError, match="seeds must be at least 1"):
        module.SearchConfig(dataset="sample", seeds=0)
