"""On a cluster: bit-identical to the local fit for any partitions, also when a worker is killed."""

import hashlib
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from models import build_model

from holdfast import HierarchicalKMedian, distributed, fit_chunks
from holdfast.distributed import merge_parts, sketch_partition
from holdfast.rows.log import Cap

sys.path.insert(0, str(Path(__file__).parent))
from on_cluster import NAMES, ROWS, digest

FRAME = pd.DataFrame(ROWS, columns=NAMES)


def fit_locally(**options: Any) -> HierarchicalKMedian:
    distinct, counts = np.unique(ROWS, axis=0, return_counts=True)
    return build_model(6, **options).fit(distinct, sample_weight=counts)


def write_parts(folder: Path, n: int) -> list[str]:
    paths = []
    for i, part in enumerate(np.array_split(np.arange(len(ROWS)), n)):
        paths.append(str(folder / f"part-{i:03}.parquet"))
        FRAME.iloc[part].to_parquet(paths[-1], row_group_size=100, index=False)
    return paths


# A real cluster of processes


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("cluster")
    write_parts(folder, 3)
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("on_cluster.py")), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def test_cluster_has_processes_of_its_own(cluster):
    assert cluster["pids"] == 3


@pytest.mark.parametrize("kind", ["array", "dataframe", "paths"])
def test_fit_on_a_cluster_is_the_local_fit(cluster, kind):
    assert cluster[kind] == digest(fit_locally())


@pytest.mark.parametrize("n", [1, 3])
def test_any_number_of_workers(cluster, n):
    assert cluster["workers"][str(n)] == digest(fit_locally())


def test_labels_of_a_cluster_are_the_local_ones(cluster):
    labels = fit_locally().predict(ROWS)
    assert cluster["labels"] == hashlib.sha256(labels.tobytes()).hexdigest()


def test_capped_fit_on_a_cluster_is_the_chunked_one(cluster):
    chunked = fit_chunks(
        HierarchicalKMedian(6, method="tree"), [ROWS[::-1]], max_cells=100, chunk_rows=333
    )
    assert cluster["capped"] == digest(chunked)


def test_killed_worker_changes_nothing(cluster):
    killed = cluster["killed"]
    assert killed["killed"] == 1
    assert killed["went on"] >= 1
    assert killed["digest"] == digest(fit_locally())


def test_trials_of_average_sensitivity_run_on_the_cluster(cluster):
    sensitivity = cluster["sensitivity"]
    assert len(sensitivity["there"]) == 1
    assert sensitivity["there"] == sensitivity["here"]
    assert sensitivity["in workers"]


# Any partitions, without a cluster


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("method", ["tree", "medoids"])
@pytest.mark.parametrize("chunks", [(4000, 3), (1000, 1), (37, 3)])
def test_any_chunks_of_an_array(method, chunks):
    array = da.from_array(ROWS, chunks=chunks)
    model = distributed.fit(HierarchicalKMedian(6, method=method), array)
    expected = fit_locally(method=method)
    assert digest(model) == digest(expected)
    labels = distributed.predict(model, array)
    assert labels.dtype == np.int32
    assert labels.chunks[0] == array.chunks[0]
    np.testing.assert_array_equal(labels.compute(), expected.predict(ROWS))


def test_weights_are_repeats(tmp_path):
    weight = np.arange(len(ROWS)) % 4
    expected = fit_chunks(HierarchicalKMedian(6), [(ROWS, weight)])
    array = da.from_array(ROWS, chunks=(700, 2))
    weights = da.from_array(weight, chunks=333)
    assert digest(distributed.fit(HierarchicalKMedian(6), array, sample_weight=weights)) == digest(
        expected
    )
    weighted = FRAME.assign(times=weight)
    frame = dd.from_pandas(weighted, npartitions=5)
    found = distributed.fit(HierarchicalKMedian(6), frame, sample_weight="times")
    assert digest(found) == digest(expected)
    assert list(found.feature_names_in_) == NAMES
    two = distributed.fit(HierarchicalKMedian(6), frame, columns=NAMES[:2], sample_weight="times")
    assert two.n_features_in_ == 2
    weighted.to_parquet(tmp_path / "all.parquet", index=False)
    paths = [tmp_path / "all.parquet"]
    found = distributed.fit(HierarchicalKMedian(6), paths, sample_weight="times")
    assert digest(found) == digest(expected)


@pytest.mark.parametrize("method", ["means", "medoids"])
def test_scales_of_columns_reach_the_fit(method):
    scale = [3.0, 0.7, 11.0]
    model = build_model(6, method=method, column_scale=scale)
    array = da.from_array(ROWS / scale, chunks=(1500, 3))
    distinct, counts = np.unique(ROWS, axis=0, return_counts=True)
    local = build_model(6, method=method, column_scale=scale)
    assert digest(distributed.fit(model, array)) == digest(
        local.fit(distinct / scale, sample_weight=counts)
    )
    assert model.column_scale_ == tuple(scale)


def test_wrong_weights_are_named():
    array = da.from_array(ROWS, chunks=(700, 2))
    model = HierarchicalKMedian(6)
    with pytest.raises(TypeError, match="must be a dask.array for this X; got str"):
        distributed.fit(model, array, sample_weight="times")
    with pytest.raises(ValueError, match=r"shape \(4000,\).*got Array of shape \(3,\)"):
        distributed.fit(model, array, sample_weight=da.ones(3))
    frame = dd.from_pandas(FRAME, npartitions=2)
    with pytest.raises(TypeError, match="name of a column for this X; got Array"):
        distributed.fit(model, frame, sample_weight=da.ones(4000))
    with pytest.raises(ValueError, match="'times' of weights"):
        distributed.fit(model, frame, sample_weight="times")
    with pytest.raises(ValueError, match="must be integers"):
        distributed.fit(model, array, sample_weight=da.full(4000, 0.5))


@pytest.mark.parametrize("n", [1, 4, 30])
def test_any_partitions_of_a_dataframe(n):
    frame = dd.from_pandas(FRAME.set_index(np.arange(4000) * 2), npartitions=n)
    model = distributed.fit(HierarchicalKMedian(6, method="tree"), frame)
    assert digest(model) == digest(fit_locally())
    assert list(model.feature_names_in_) == NAMES
    labels = distributed.predict(model, frame)
    assert labels.npartitions == frame.npartitions
    assert labels.divisions == frame.divisions
    computed = labels.compute()
    np.testing.assert_array_equal(computed, fit_locally().predict(ROWS))
    assert (computed.name, computed.dtype, computed.index[-1]) == ("label", np.int32, 7998)


@pytest.mark.parametrize("n", [1, 7])
def test_any_list_of_paths(n, tmp_path):
    paths = write_parts(tmp_path, n)
    model = distributed.fit(HierarchicalKMedian(6, method="tree"), paths)
    assert digest(model) == digest(fit_locally())
    labels = distributed.predict(model, [Path(path) for path in paths])
    assert len(labels.chunks[0]) == n
    np.testing.assert_array_equal(labels.compute(), fit_locally().predict(ROWS))


def test_no_more_than_cells_and_one_row_travel():
    cap = Cap(100, 0)
    part = sketch_partition("", ROWS, None, HierarchicalKMedian(6, method="tree"), cap)
    sketch, like = part
    assert 0 < len(sketch) <= 100
    assert like.rows.shape[0] == 1
    assert len(pickle.dumps(part)) <= 100 * 8 * (2 * 3 + 1) + 3000
    both = merge_parts(
        [part, sketch_partition("", -ROWS, None, HierarchicalKMedian(6, method="tree"), cap)]
    )
    assert len(pickle.dumps(both)) <= 100 * 8 * (2 * 3 + 1) + 3000


def test_threads_give_the_same():
    with dask.config.set(scheduler="threads"):
        model = distributed.fit(
            HierarchicalKMedian(6, method="tree"), da.from_array(ROWS, chunks=(99, 3))
        )
    assert digest(model) == digest(fit_locally())


def test_predict_is_lazy_and_columns_are_chosen():
    calls = []

    def make(part):
        calls.append(1)
        return part

    lazy = da.from_delayed(dask.delayed(make, pure=False)(ROWS), ROWS.shape, np.float64)
    labels = distributed.predict(fit_locally(), lazy)
    assert calls == []
    assert labels.compute().shape == (4000,)
    assert calls == [1]
    wide = dd.from_pandas(FRAME.assign(word="x"), npartitions=3)
    model = distributed.fit(HierarchicalKMedian(6, method="tree"), wide, columns=NAMES)
    assert digest(model) == digest(fit_locally())
    chosen = distributed.predict(model, wide, columns=NAMES).compute()
    np.testing.assert_array_equal(chosen, fit_locally().predict(ROWS))


# Bad input


def check_refused(X, message, error=ValueError, **options):
    model = HierarchicalKMedian(6, method="tree").fit(ROWS[:50])
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        distributed.fit(model, X, **options)
    assert vars(model) == before


def array_with(number: int, part: np.ndarray) -> da.Array:
    parts = np.array_split(ROWS, 40)
    parts[number] = part
    blocks = [da.from_delayed(dask.delayed(p), (100, 3), np.float64) for p in parts]
    return da.concatenate(blocks)


def test_bad_partition_is_named():
    wrong = ROWS[:100].copy()
    wrong[13, 1] = np.nan
    check_refused(array_with(37, wrong), "partition 37: must be finite; row 13")
    check_refused(array_with(37, ROWS[:100, :2]), "partition 3.*columns")
    mixed = [FRAME, FRAME.astype(np.float32)]
    frame = dd.from_delayed([dask.delayed(f) for f in mixed], meta=FRAME, verify_meta=False)
    check_refused(frame, "partition 1.*float64; got float32")
    words = dd.from_pandas(FRAME.assign(b="x"), npartitions=2)
    check_refused(words, "partition [01].*column 'b'")


def test_empty_partitions_take_no_part():
    model = distributed.fit(HierarchicalKMedian(6, method="tree"), array_with(0, ROWS[:0]))
    left = np.unique(ROWS[100:], axis=0, return_counts=True)
    expected = HierarchicalKMedian(6, method="tree").fit(left[0], sample_weight=left[1])
    assert digest(model) == digest(expected)
    check_refused(da.from_array(ROWS[:0], chunks=(1, 3)), "no rows")


def test_files_that_cannot_be_read_are_named(tmp_path):
    paths = write_parts(tmp_path, 3)
    content = Path(paths[1]).read_bytes()
    Path(paths[1]).write_bytes(content[: len(content) // 2])
    check_refused(paths, "part-001.parquet cannot be read")
    check_refused(
        [str(tmp_path / "no.parquet")], "there is no file .*no.parquet", FileNotFoundError
    )


def test_other_bad_arguments():
    for X in (ROWS, [], ["a", 3], "rows.parquet", FRAME):
        check_refused(X, "dask.array, a dask.dataframe or a list of paths", TypeError)
    check_refused(da.from_array(ROWS[:, 0]), "got 1")
    check_refused(da.from_array(ROWS), "max_cells", max_cells=0)
    with pytest.raises(ValueError, match="3 columns"):
        distributed.predict(fit_locally(), da.from_array(ROWS[:, :2])).compute()
    named = distributed.fit(
        HierarchicalKMedian(6, method="tree"), dd.from_pandas(FRAME, npartitions=1)
    )
    other = dd.from_pandas(FRAME[["c", "a", "b"]], npartitions=1)
    with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\]"):
        distributed.predict(named, other).compute()
