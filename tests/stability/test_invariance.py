"""Law 9: processes, chunks, interruption and what else is asked for change no number."""

import json
import os
import signal

import numpy as np
import pytest
from sklearn.cluster import KMeans
from stability.clusterers import at_random, by_rank, by_sign, name_of

from holdfast import HierarchicalKMedian, average_sensitivity, row_influence
from holdfast.stability import Bootstrap, SensitivityResult, run
from holdfast.stability.plan import Delete

rng = np.random.RandomState(3)
ROWS = rng.standard_normal((30, 2)) + 4.0 * rng.randint(0, 3, size=(30, 1))

ARGUMENTS = {
    "n_clusters": [2, 4],
    "delete": [1, 0.2],
    "perturb": [Bootstrap()],
    "trials": 7,
    "repeats": 3,
    "random_state": 11,
}


def assert_same(a: SensitivityResult, b: SensitivityResult) -> None:
    for name in ("n_before", "n_after", "n_kept", "matched", "values", "mean", "standard_error"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ("rand", "jaccard", "matched_self"):
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_array_equal(left, right, err_msg=name)
    assert a.seeds == b.seeds
    assert a.complete == b.complete


@pytest.fixture
def at_once_to_workers(monkeypatch):
    monkeypatch.setattr(run, "_SECONDS_ALONE", 0.0)
    monkeypatch.setattr(run, "_SECONDS_WORTH_WORKERS", 0.0)


@pytest.mark.parametrize(
    ("clusterer", "coupling"),
    [
        (HierarchicalKMedian(method="tree"), "same_seed"),
        (KMeans(), "same_seed"),
        (by_rank, "earth_mover"),
    ],
    ids=name_of,
)
def test_number_of_processes(clusterer, coupling, at_once_to_workers):
    arguments = {**ARGUMENTS, "coupling": coupling}
    one = average_sensitivity(clusterer, ROWS, n_jobs=1, **arguments)
    two = average_sensitivity(clusterer, ROWS, n_jobs=2, **arguments)
    assert_same(one, two)
    assert np.unique(one.values).size > 3


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_size_of_blocks(size, monkeypatch):
    whole = average_sensitivity(by_rank, ROWS, n_jobs=1, **ARGUMENTS)
    influence = row_influence(by_rank, ROWS, 3, n_jobs=1, repeats=2)
    monkeypatch.setattr(run, "_block_size", lambda pace, seconds: size)
    assert_same(whole, average_sensitivity(by_rank, ROWS, n_jobs=1, **ARGUMENTS))
    again = row_influence(by_rank, ROWS, 3, n_jobs=1, repeats=2)
    np.testing.assert_array_equal(influence.influence, again.influence)
    np.testing.assert_array_equal(influence.instability, again.instability)


def test_a_trial_does_not_depend_on_what_else_is_asked_for():
    whole = average_sensitivity(by_rank, ROWS, n_jobs=1, **ARGUMENTS)
    part = average_sensitivity(
        by_rank,
        ROWS,
        n_clusters=4,
        perturb=[Bootstrap(), Delete(1)],
        trials=5,
        repeats=2,
        n_jobs=1,
        random_state=11,
    )
    np.testing.assert_array_equal(part.values[0, 0], whole.values[2, 1, :5, :2])
    np.testing.assert_array_equal(part.values[1, 0], whole.values[0, 1, :5, :2])
    other = average_sensitivity(by_rank, ROWS, n_jobs=1, **{**ARGUMENTS, "random_state": 12})
    assert (other.values != whole.values).any()


class Interrupts:
    """A clusterer that presses Ctrl-C in its n-th fit."""

    def __init__(self, at: int, function=by_rank) -> None:
        self.left = at
        self.function = function

    def __call__(self, X, k, seed):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.function(X, k, seed)

    @property
    def __name__(self) -> str:
        return "interrupts"

    def __repr__(self) -> str:
        return "interrupts"


@pytest.mark.parametrize("at", [15, 40, 90])
def test_interruption_and_resumption(at, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_block_size", lambda pace, seconds: 2)
    whole = average_sensitivity(Interrupts(-1), ROWS, n_jobs=1, **ARGUMENTS)
    with pytest.warns(UserWarning, match=r"interrupted by the keyboard: \d+ of 126 values"):
        part = average_sensitivity(
            Interrupts(at), ROWS, n_jobs=1, checkpoint=tmp_path / "run", **ARGUMENTS
        )
    assert not part.complete
    assert part.note == "interrupted by the keyboard"
    present = np.isfinite(part.values)
    assert 0 < present.sum() < present.size
    np.testing.assert_array_equal(part.values[present], whole.values[present])
    assert np.isfinite(part.mean).any()

    calls = Interrupts(-1)
    resumed = average_sensitivity(calls, ROWS, n_jobs=1, checkpoint=tmp_path / "run", **ARGUMENTS)
    assert_same(resumed, whole)
    # Only what was missing was fitted again, besides the unperturbed rows.
    assert -1 - calls.left == 6 + (~present).sum()


def test_interruption_before_anything_was_computed_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        average_sensitivity(Interrupts(2), ROWS, n_jobs=1, **ARGUMENTS)
    with pytest.raises(KeyboardInterrupt):
        average_sensitivity(Interrupts(7), ROWS, n_jobs=1, **ARGUMENTS)


def test_what_an_interrupted_sweep_has_done_is_a_fair_sample(monkeypatch):
    monkeypatch.setattr(run, "_block_size", lambda pace, seconds: 1)
    with pytest.warns(UserWarning, match="interrupted"):
        part = average_sensitivity(
            Interrupts(12), ROWS, n_clusters=2, trials="all", repeats=1, n_jobs=1
        )
    done = np.flatnonzero(np.isfinite(part.values[0, 0, :, 0]))
    assert done.size == 10
    assert done.tolist() != list(range(done.size))
    assert part.standard_error.item() > 0.0


def test_more_trials_and_other_measures_continue_a_checkpoint(tmp_path):
    arguments = {**ARGUMENTS, "n_jobs": 1}
    average_sensitivity(by_rank, ROWS, checkpoint=tmp_path, **{**arguments, "trials": 3})
    calls = []

    def counted(X, k, seed):
        calls.append(seed)
        return by_rank(X, k, seed)

    counted.__qualname__, counted.__module__ = by_rank.__qualname__, by_rank.__module__
    counted.__name__ = by_rank.__name__
    more = average_sensitivity(counted, ROWS, checkpoint=tmp_path, measure="moved", **arguments)
    assert len(calls) == (3 + 4 * 3 * 3) * 2
    fresh = average_sensitivity(by_rank, ROWS, measure="moved", **arguments)
    assert_same(more, fresh)
    fewer = average_sensitivity(by_rank, ROWS, checkpoint=tmp_path, **{**arguments, "trials": 2})
    assert_same(fewer, average_sensitivity(by_rank, ROWS, **{**arguments, "trials": 2}))


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"random_state": 12}, "random_state"),
        ({"n_clusters": [2, 5]}, "n_clusters"),
        ({"repeats": 2}, "repeats"),
        ({"delete": [1, 0.3]}, "changes"),
        ({"coupling": "earth_mover"}, "coupling"),
        ({"X": ROWS + 1e-9}, "data"),
        ({"clusterer": at_random}, "clusterer"),
        ({"clusterer": KMeans(n_init=2)}, "clusterer"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(changed, name, tmp_path):
    arguments = {"clusterer": by_rank, "X": ROWS, "n_jobs": 1, "checkpoint": tmp_path, **ARGUMENTS}
    average_sensitivity(**arguments)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=f"another run: there {name} is"):
        average_sensitivity(**{**arguments, **changed})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_checkpoints_hold_no_pickles_and_no_leftovers(tmp_path):
    average_sensitivity(by_rank, ROWS, n_jobs=1, checkpoint=tmp_path, **ARGUMENTS)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[0] == "arguments.json"
    assert json.loads((tmp_path / "arguments.json").read_text())["repeats"] == "3"
    assert all(name.startswith("block-") and name.endswith(".npz") for name in names[1:])
    for name in names[1:]:
        with np.load(tmp_path / name, allow_pickle=False) as block:
            assert all(block[key].dtype != object for key in block.files)


def test_a_damaged_or_foreign_folder_is_named(tmp_path):
    folder = tmp_path / "run"
    average_sensitivity(by_rank, ROWS, n_jobs=1, checkpoint=folder, **ARGUMENTS)
    damaged = next(folder.glob("block-*.npz"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(ValueError, match="cannot be read.*delete it"):
        average_sensitivity(by_rank, ROWS, n_jobs=1, checkpoint=folder, **ARGUMENTS)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "results.json").write_text("{}")
    with pytest.raises(ValueError, match="has other files"):
        average_sensitivity(by_rank, ROWS, n_jobs=1, checkpoint=foreign, **ARGUMENTS)
    with pytest.raises(ValueError, match="is a file"):
        average_sensitivity(
            by_rank, ROWS, n_jobs=1, checkpoint=foreign / "results.json", **ARGUMENTS
        )


def test_a_block_that_cannot_be_written_leaves_nothing_half_done(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        average_sensitivity(by_rank, ROWS, n_jobs=1, checkpoint=tmp_path, **ARGUMENTS)
    assert [path.name for path in tmp_path.iterdir()] == ["arguments.json"]


def test_failures_survive_in_a_checkpoint(tmp_path):
    def fails_sometimes(X, k, seed):
        if X.shape[0] == 24 and seed % 2:
            raise ArithmeticError("odd")
        return by_rank(X, k, seed)

    arguments = {**ARGUMENTS, "n_jobs": 1, "checkpoint": tmp_path}
    with pytest.warns(UserWarning, match="ArithmeticError: odd"):
        first = average_sensitivity(fails_sometimes, ROWS, **arguments)
    with pytest.warns(UserWarning, match="ArithmeticError: odd"):
        second = average_sensitivity(fails_sometimes, ROWS, **arguments)
    assert first.failures == second.failures != ()
    assert_same(first, second)


# Worker processes


def test_a_worker_that_dies_is_reported_and_the_others_are_kept(at_once_to_workers):
    parent, missing = os.getpid(), ROWS[7, 0]

    def kills_without_row_7(X, k, seed):
        if os.getpid() != parent and not (X[:, 0] == missing).any():
            os._exit(3)
        return by_rank(X, k, seed)

    arguments = {"n_clusters": 3, "trials": "all", "repeats": 2}
    with (
        pytest.warns(UserWarning, match=r"first in trial 7 \(delete 1\): the worker process died"),
        pytest.warns(UserWarning, match="worker processes died once"),
    ):
        result = average_sensitivity(kills_without_row_7, ROWS[:9], n_jobs=2, **arguments)
    whole = average_sensitivity(by_rank, ROWS[:9], n_jobs=1, **arguments)
    missing_trials = np.isnan(result.values[0, 0]).all(axis=1)
    assert np.flatnonzero(missing_trials).tolist() == [7]
    np.testing.assert_array_equal(
        result.values[0, 0, ~missing_trials], whole.values[0, 0, ~missing_trials]
    )
    assert [failure.trial for failure in result.failures] == [7]


@pytest.mark.parametrize("how", ["killed", "exits"])
def test_a_worker_that_dies_once_is_reported_and_its_work_done_again(
    how, at_once_to_workers, tmp_path
):
    parent, mark = os.getpid(), tmp_path / "died"

    def dies_once(X, k, seed):
        if os.getpid() != parent and not mark.exists():
            mark.touch()
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(3)
        return by_rank(X, k, seed)

    arguments = {"n_clusters": 3, "trials": 6, "repeats": 2}
    with pytest.warns(UserWarning, match="worker processes died once.*computed again") as caught:
        result = average_sensitivity(dies_once, ROWS, n_jobs=2, **arguments)
    assert mark.exists()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert result.failures == ()
    assert_same(result, average_sensitivity(by_rank, ROWS, n_jobs=1, **arguments))


def test_interruption_while_workers_work(at_once_to_workers, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "_block_size", lambda pace, seconds: 1)
    parent = os.getpid()

    def interrupts_parent(X, k, seed):
        # Not before another block has arrived, so that there is something to keep.
        if os.getpid() != parent and any(tmp_path.glob("block-*")):
            os.kill(parent, signal.SIGINT)
            signal.pause()
        return by_sign(X, k, seed)

    with pytest.warns(UserWarning, match="interrupted by the keyboard"):
        result = average_sensitivity(
            interrupts_parent,
            ROWS,
            n_clusters=2,
            trials=20,
            repeats=1,
            n_jobs=2,
            checkpoint=tmp_path,
        )
    assert not result.complete
    assert 0 < np.isfinite(result.values).sum() < 20
    assert result.mean.item() == 0.0


def test_what_cannot_be_sent_to_workers_runs_here(at_once_to_workers):
    class Unpicklable:
        __name__ = "unpicklable"

        def __call__(self, X, k, seed):
            return by_rank(X, k, seed)

        def __reduce__(self):
            raise TypeError("not to be pickled")

    with pytest.warns(UserWarning, match="cannot be sent to other processes"):
        result = average_sensitivity(Unpicklable(), ROWS, n_jobs=2, **ARGUMENTS)
    assert_same(result, average_sensitivity(by_rank, ROWS, n_jobs=1, **ARGUMENTS))
