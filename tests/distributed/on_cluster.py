"""Work on a real cluster of processes, in a process of its own: prints digests as JSON.

Apart from the tests, so that what a cluster leaves behind when it ends (threads, sockets, messages)
cannot disturb them.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import delayed

ROWS = (np.random.RandomState(5).randint(0, 101, size=(6, 4000, 3)).sum(axis=0) - 300) / 100.0
NAMES = ["a", "b", "c"]


def digest(model: Any) -> str:
    """Name everything that a fit gives, to the last bit."""
    hierarchy = model.hierarchy_
    parts = [hierarchy.center_indices, hierarchy.costs, hierarchy.parent, hierarchy.finest]
    parts += [model.labels_, model.cluster_centers_, model.rows_, model.row_weights_]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def make_slowly(part: np.ndarray, folder: str) -> np.ndarray:
    """A partition that takes its time, and says which process is at it."""
    Path(folder, f"{os.getpid()}").touch()
    time.sleep(0.3)
    return part


def kill_one_worker(folder: str, killed: list[int]) -> None:
    """SIGKILL the first process that is at work on a partition."""
    while not os.listdir(folder):
        time.sleep(0.01)
    time.sleep(0.4)  # now it has finished some partitions, which are lost with it
    pid = int(os.listdir(folder)[0])
    os.kill(pid, signal.SIGKILL)
    killed.append(pid)


def fit_while_a_worker_dies(folder: str) -> dict[str, Any]:
    from holdfast import HierarchicalKMedian, distributed

    slow = delayed(make_slowly, pure=False)
    parts = [
        da.from_delayed(slow(part, folder), part.shape, np.float64)
        for part in np.array_split(ROWS, 12)
    ]
    killed: list[int] = []
    killer = threading.Thread(target=kill_one_worker, args=(folder, killed))
    killer.start()
    model = distributed.fit(HierarchicalKMedian(6, method="tree"), da.concatenate(parts))
    killer.join()
    workers = {int(name) for name in os.listdir(folder)}
    return {"digest": digest(model), "killed": len(killed), "went on": len(workers - set(killed))}


class Thirds:
    """Parts rows by their first column, and notes which processes did so."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, X: np.ndarray, k: int, seed: int) -> np.ndarray:
        Path(self.folder, f"{os.getpid()}").touch()
        return np.searchsorted(np.quantile(X[:, 0], np.arange(1, k) / k), X[:, 0])


def measure_sensitivity(folder: Path, pids: set[int]) -> dict[str, Any]:
    import joblib

    from holdfast import average_sensitivity
    from holdfast.stability import run

    run._SECONDS_ALONE = run._SECONDS_WORTH_WORKERS = 0.0  # all trials go to workers
    folder.mkdir()
    call = {"n_clusters": [3], "delete": [1], "trials": 12, "repeats": 1}
    with joblib.parallel_config(backend="dask"):
        there = average_sensitivity(Thirds(str(folder)), ROWS[:150], **call)
    ran_in = {int(path.name) for path in folder.iterdir()}
    here = average_sensitivity(Thirds(str(folder)), ROWS[:150], n_jobs=1, **call)
    return {
        "there": there.mean.ravel().tolist(),
        "here": here.mean.ravel().tolist(),
        "in workers": bool(ran_in & pids),
    }


def main() -> None:
    from dask.distributed import Client, LocalCluster

    from holdfast import HierarchicalKMedian, distributed

    folder = Path(sys.argv[1])
    found: dict[str, Any] = {}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster.scheduler_address) as client,
    ):
        pids = set(client.run(os.getpid).values())
        found["pids"] = len({os.getpid()} | pids)
        array = da.from_array(ROWS, chunks=(700, 2))
        model = distributed.fit(HierarchicalKMedian(6, method="tree"), array)
        found["array"] = digest(model)
        labels = distributed.predict(model, array).compute()
        found["labels"] = hashlib.sha256(labels.tobytes()).hexdigest()
        frame = dd.from_pandas(pd.DataFrame(ROWS, columns=NAMES), npartitions=5)
        found["dataframe"] = digest(distributed.fit(HierarchicalKMedian(6, method="tree"), frame))
        paths = sorted(str(path) for path in folder.glob("*.parquet"))
        found["paths"] = digest(distributed.fit(HierarchicalKMedian(6, method="tree"), paths))
        capped = distributed.fit(HierarchicalKMedian(6, method="tree"), array, max_cells=100)
        found["capped"] = digest(capped)
        found["sensitivity"] = measure_sensitivity(folder / "trials", pids)
        found["workers"] = {}
        for n in (3, 1):
            cluster.scale(n)
            while len(client.scheduler_info()["workers"]) != n:
                time.sleep(0.05)
            found["workers"][n] = digest(
                distributed.fit(HierarchicalKMedian(6, method="tree"), array)
            )
        cluster.scale(2)
        client.wait_for_workers(2)
        (folder / "at work").mkdir()
        found["killed"] = fit_while_a_worker_dies(str(folder / "at work"))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
