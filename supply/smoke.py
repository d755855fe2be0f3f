"""What a wheel must do in an empty environment, by extra; each is a call of its Python."""

_FIT = """
import holdfast, numpy as np
X = np.random.default_rng(0).normal(size=(60, 2))
model = holdfast.HierarchicalKMedian(3).fit(X)
assert model.labels_.max() == 2 and not holdfast.__file__.endswith("src/holdfast/__init__.py")
model.save("model.holdfast")
assert (holdfast.load("model.holdfast").predict(X) == model.labels_).all()
"""
_PLOT = """
import matplotlib; matplotlib.use("Agg")
import holdfast, numpy as np
X = np.random.default_rng(0).normal(size=(60, 2))
holdfast.HierarchicalKMedian(3).fit(X).hierarchy_.plot(5).figure.savefig("hierarchy.png")
"""
_DASK = """
import dask.array as da, holdfast, numpy as np
from holdfast import distributed
X = np.random.default_rng(0).normal(size=(60, 2))
model = distributed.fit(holdfast.HierarchicalKMedian(3), da.from_array(X, chunks=(20, -1)))
assert (model.predict(X) == holdfast.HierarchicalKMedian(3).fit(X).labels_).all()
"""
_REPRODUCE = """
from holdfast_paper import reproduce
found = reproduce("results", panels=["datasets"], profile="test", n_jobs=1, progress=False)
assert found.records["datasets"]
"""
_PROGRAM = ("-m", "holdfast")

SMOKE: dict[str, list[tuple[str, ...]]] = {
    "": [(*_PROGRAM, "--version"), ("-c", _FIT), ("-m", "holdfast.cli.demo")],
    "plot": [("-c", _PLOT)],
    "cli": [
        (*_PROGRAM, "demo", "--data", "wine.csv"),
        (*_PROGRAM, "fit", "wine.csv", "-k", "4", "-o", "labels.csv", "--model", "m.holdfast"),
        (*_PROGRAM, "predict", "m.holdfast", "wine.csv", "-o", "again.parquet"),
        (*_PROGRAM, "fit", "--help"),
    ],
    "dask": [("-c", _DASK)],
    "reproduce": [("-c", _REPRODUCE)],
}
