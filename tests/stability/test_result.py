"""Results: summaries, tables, JSON, pictures."""

import builtins
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from stability.clusterers import by_rank, by_sign

from holdfast import average_sensitivity
from holdfast.stability import SensitivityResult

rng = np.random.RandomState(9)
ROWS = rng.standard_normal((30, 2)) + 4.0 * rng.randint(0, 3, size=(30, 1))


@pytest.fixture(scope="module")
def result() -> SensitivityResult:
    return average_sensitivity(
        by_rank,
        ROWS,
        n_clusters=[2, 4],
        delete=[1, 0.2],
        trials=6,
        repeats=3,
        n_jobs=1,
        measure="symmetric_difference",
    )


@pytest.fixture(scope="module")
def with_gaps() -> SensitivityResult:
    def fails_at_times(X, k, seed):
        if X[0, 0] != ROWS[0, 0]:
            raise ValueError("row 0 went")
        return by_rank(X, k, seed)

    with pytest.warns(UserWarning, match="row 0 went"):
        return average_sensitivity(
            fails_at_times, ROWS, n_clusters=[2], trials="all", repeats=2, n_jobs=1
        )


def test_summaries_follow_from_the_values(result):
    np.testing.assert_allclose(result.mean, result.values.mean(axis=(2, 3)))
    np.testing.assert_array_equal(result.distance, result.mean)
    low, high = np.moveaxis(result.interval(0.95), -1, 0)
    assert (high - result.mean >= 1.95 * result.standard_error).all()
    # Both tails together have 5%: for t with n - 1 degrees of freedom, from tables.
    two_sided = {
        1: 12.706,
        2: 4.303,
        3: 3.182,
        4: 2.776,
        5: 2.571,
        10: 2.228,
        30: 2.042,
        1000: 1.962,
    }
    reach = (high - result.mean) / result.standard_error
    freedom = np.vectorize(lambda one: one.degrees_of_freedom)(np.array(result._corrected))
    expected = np.interp(np.log(freedom), np.log(list(two_sided)), list(two_sided.values()))
    np.testing.assert_allclose(reach, expected, rtol=0.15)
    np.testing.assert_allclose((low + high) / 2.0, result.mean)
    wide_low, wide_high = np.moveaxis(result.interval(0.9999), -1, 0)
    assert (wide_low < low).all()
    assert (wide_high > high).all()
    # No average is below the floor.
    symmetric = 2.0 * result.mean - wide_high
    floor = np.broadcast_to(result.floor[:, None], low.shape)
    np.testing.assert_allclose(wide_low, np.maximum(symmetric, floor))
    assert (symmetric < floor).any()


def test_measures_follow_from_each_other_without_fits(result):
    deleted = np.array([1.0, 6.0])[:, None, None, None]
    moved = result.in_measure("moved")
    share = result.in_measure("moved_fraction")
    np.testing.assert_array_equal(result.values, 2.0 * moved.values - deleted)
    np.testing.assert_allclose(share.values, (moved.values - deleted) / (30.0 - deleted))
    assert moved.measure == "moved"
    with pytest.raises(ValueError, match="measure must be one of"):
        result.in_measure("rows")


def test_rand_and_jaccard_stand_beside(result):
    calm = average_sensitivity(by_sign, ROWS, n_clusters=2, trials=4, repeats=2, n_jobs=1)
    assert (calm.rand == 1.0).all()
    np.testing.assert_array_equal(calm.jaccard, np.ones((1, 1, 2, 2)))
    assert result.jaccard.shape == (2, 2, 3, 4)
    assert np.isnan(result.jaccard[:, 0, :, 2:]).all()  # two clusters only
    assert result.jaccard[:, 1].min() < 1.0
    assert result.rand.min() < 1.0


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, float("nan")])
def test_levels_out_of_range_are_named(result, level):
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        result.interval(level)


def test_table(result):
    frame = result.to_frame()
    assert frame["change"].tolist() == ["delete 1", "delete 1", "delete 20%", "delete 20%"]
    assert frame["n_clusters"].tolist() == [2, 4, 2, 4]
    assert frame["mean"].tolist() == result.mean.ravel().tolist()
    assert frame["floor"].tolist() == [1.0, 1.0, 6.0, 6.0]
    assert (frame["low"] <= frame["mean"]).all()
    assert (frame["mean"] <= frame["high"]).all()
    assert frame["rand"].tolist() == pytest.approx(result.rand.mean(axis=(2, 3)).ravel())
    assert (frame["n_values"] == 18).all()
    assert set(frame["measure"]) == {"symmetric_difference"}


def test_a_missing_pandas_is_named(result, monkeypatch):
    import_module = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError("no pandas")
        return import_module(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_frame()


@pytest.mark.parametrize("which", ["result", "with_gaps"])
def test_json_brings_everything_back(which, request):
    before = request.getfixturevalue(which)
    text = before.to_json()
    assert "NaN" not in text
    after = SensitivityResult.from_json(text)
    assert after.to_json() == text
    assert after.failures == before.failures
    for name in ("values", "mean", "standard_error", "rand", "jaccard", "floor"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert after.interval(0.9).tolist() == before.interval(0.9).tolist()


def test_json_of_something_else_is_refused():
    for text in ('{"format": 99}', "[]"):
        with pytest.raises(ValueError, match="written by to_json"):
            SensitivityResult.from_json(text)


def test_json_of_the_earth_movers_distance_comes_back():
    before = average_sensitivity(
        by_rank, ROWS, n_clusters=2, trials=3, repeats=2, coupling="earth_mover", n_jobs=1
    )
    after = SensitivityResult.from_json(before.to_json())
    np.testing.assert_array_equal(after.mean, before.mean)
    assert after.rand is None


def test_picture_shows_the_means_and_the_floor(result):
    axes = result.plot()
    assert isinstance(axes, Axes)
    drawn = [line.get_ydata().tolist() for line in axes.lines if line.get_marker() == "o"]
    assert drawn == result.mean.tolist()
    assert axes.get_ylabel().startswith("average sensitivity")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(result.changes)
    axes.figure.canvas.draw()


def test_picture_against_the_changes_on_given_axes(result):
    from matplotlib.figure import Figure

    one_k = average_sensitivity(
        by_rank, ROWS, n_clusters=3, delete=[1, 3, 0.2], trials=4, measure="moved", n_jobs=1
    )
    own = Figure().add_subplot()
    assert one_k.plot(own) is own
    assert [tick.get_text() for tick in own.get_xticklabels()] == list(one_k.changes)
    assert own.lines[0].get_ydata().tolist() == one_k.mean[:, 0].tolist()


def test_text_names_the_numbers(result, with_gaps):
    text = repr(result)
    assert "by_rank" in text
    assert "delete 20%, k=4" in text
    assert f"k=2: {result.mean[0, 0]:.3g} ± {result.standard_error[0, 0]:.2g}" in text
    percent = repr(result.in_measure("moved_fraction"))
    assert f"{100 * result.in_measure('moved_fraction').mean[1, 1]:.3g}% ±" in percent
    assert "incomplete" not in text
    assert np.isnan(with_gaps.values).sum() == 2


def test_notebooks_show_a_table_in_which_nothing_is_markup(result):
    html = replace(result, clusterer="<b>k & l</b>", note="stopped")._repr_html_()
    assert "&lt;b&gt;k &amp; l&lt;/b&gt;" in html
    assert html.count("<tr>") == 1 + 4
    assert f"<td>{result.mean[1, 0]:.3g} ± {result.standard_error[1, 0]:.2g}</td>" in html
    assert "Incomplete: stopped." in html


def test_results_cannot_be_changed(result):
    with pytest.raises(AttributeError):
        result.measure = "moved"
