"""audit --clusterer measures any clusterer on the data as they are read."""

import json
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import holdfast as library
from holdfast import cli
from holdfast.clusterers import METHODS

FEW = ("--trials", 4, "--repeats", 2, "--jobs", 1)
MEASURED = {"trials": 4, "repeats": 2, "n_jobs": 1}
MINE = """
import beside
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from holdfast import TablePreparer

print("noise on standard output")
mixed = make_pipeline(TablePreparer(), KMeans(2, n_init=1))
topics = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=1))
number = 3

class Space:
    towns = staticmethod(lambda X, k, seed: beside.codes(X["town"]))

density = HDBSCAN(min_cluster_size=5, copy=True)

def by_town(X, k, seed):
    assert list(X.columns) == ["town", "height"], list(X.columns)
    assert (k, X.index.name) == (None, "id")
    return beside.codes(X["town"])

def by_distance(D, k, seed):
    assert D.shape[0] == D.shape[1]
    return (D[:, 0] > 1.0).astype(int)

def two_parameters(X, k): return X
def too_short(X, k, seed): return [0, 1]
def fails(X, k, seed): raise KeyError("first line\\nsecond line")
def ends(X, k, seed): raise SystemExit(0)
def sometimes(X, k, seed):
    if len(X) < 60:
        raise OverflowError("odd rows")
    return [0] * len(X)
"""
BESIDE = "def codes(values):\n    return [len(str(value)) for value in values]\n"


@pytest.fixture(autouse=True)
def _files(folder, monkeypatch):
    (folder / "mine.py").write_text(MINE)
    (folder / "beside.py").write_text(BESIDE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("beside", "holdfast_clusterer_mine"):
        sys.modules.pop(name, None)


def results_of(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_pipeline_gets_the_raw_table_and_all_of_it_is_measured(holdfast, people):
    use = ("audit", people, "--clusterer", "mine.py:mixed", "--id", "id", "--delete", "1,5%", *FEW)
    done = holdfast(*use, "-k", "2,3", "--by-stage", "--json", "-o", "audit.csv")
    record = results_of(done)
    pipeline = make_pipeline(library.TablePreparer(), KMeans(2, n_init=1))
    table = pd.read_csv(people).set_index("id")
    wanted = library.average_sensitivity(
        pipeline, table, [2, 3], delete=[1, 0.05], by_stage=True, **MEASURED
    )
    assert len(record["results"]) == 4
    for found in record["results"]:
        at = ["1", "5%"].index(found["delete"]), [2, 3].index(found["k"])
        assert found["mean"] == wanted.mean[at]
        assert found["held_tablepreparer"] == wanted.stages["tablepreparer"].mean[at]
        assert found["rand"] == pytest.approx(wanted.rand[at].mean())
        assert found["clusters_found"] == found["k"]
    assert any(r["mean"] != r["held_tablepreparer"] for r in record["results"])
    assert (record["clusterer"], record["data"]) == ("mine.py:mixed", "a pandas table of 4 columns")
    assert len(pd.read_csv("audit.csv")) == 4
    assert "executes the code of mine.py" in done.err
    assert "noise on standard output" in done.err
    header, *lines = holdfast(*use, "-k", 2, "--by-stage").out.splitlines()
    assert header.split()[3:] == ["moved", "±", "after", "tablepreparer", "ARI", "NMI"]
    assert lines[0].split()[:3] == ["2", "1", "mixed"]


def test_texts_are_passed_as_a_list(holdfast, folder):
    words = ("red green blue", "bread butter jam")
    notes = [f"{words[i % 2]} {'again ' * (i % 3)}word{i % 7}" for i in range(40)]
    pd.DataFrame({"note": notes}).to_csv("notes.csv", index=False)
    use = ("audit", "notes.csv", "--clusterer", "mine.py:topics", "--delete", "20%", *FEW)
    (found,) = results_of(holdfast(*use, "--text", "note", "-k", 3, "--json"))["results"]
    pipeline = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=1))
    wanted = library.average_sensitivity(pipeline, notes, 3, delete=[0.2], **MEASURED)
    assert found["mean"] == wanted.mean.item() > 0.0
    missing = holdfast(*use, "--text", "nota")
    assert (missing.code, "notes.csv has no column 'nota'" in missing.err) == (2, True)
    pd.DataFrame({"note": ["a", None, "b", None], "x": 1}).to_csv("notes.csv", index=False)
    gap = holdfast(*use, "--text", "note")
    assert gap.code == 2
    assert "column note of notes.csv has 2 missing values, the first in row 1 (from 0)" in gap.err


def test_the_number_of_clusters_may_be_left_to_the_clusterer(holdfast, people):
    use = ("audit", people, "--columns", "height,width", "--delete", "5%", *FEW, "--json")
    (found,) = results_of(holdfast(*use, "--clusterer", "mine.py:density"))["results"]
    table = pd.read_csv(people)[["height", "width"]]
    density = HDBSCAN(min_cluster_size=5, copy=True)
    wanted = library.average_sensitivity(density, table, delete=[0.05], **MEASURED)
    assert (found["k"], found["mean"]) == (None, wanted.mean.item())
    assert found["clusters_found"] == pytest.approx(wanted.found.mean())
    told = holdfast(*use, "--clusterer", "mine.py:density", "-k", 3)
    assert results_of(told)["results"] == [found]
    assert "chooses the number of clusters itself; --clusters is not used" in told.err
    columns = ("audit", people, "--columns", "town,height", "--id", "id", "--delete", "5%", *FEW)
    done = holdfast(*columns, "--clusterer", "mine.py:by_town")
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split()[:3] == ["2", "found", "5%"]
    done = holdfast(*use, "--clusterer", "sklearn.cluster:KMeans")
    assert results_of(done)["results"][0]["k"] == 8


def test_distances_and_samples(holdfast, people, monkeypatch):
    rows = pd.read_csv(people)[["height", "width"]].to_numpy()
    distances = np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2))
    np.save("d.npy", distances)
    use = ("audit", "d.npy", "--metric", "precomputed", "--clusterer", "mine.py:by_distance", *FEW)
    assert results_of(holdfast(*use, "--json"))["data"] == "distances"
    monkeypatch.setattr(cli.audit, "SAMPLE_ROWS", 40)
    done = holdfast(*use, "--json")
    assert "measuring on a sample of 40 of 60 rows" in done.err
    assert results_of(done)["n_used"] == 40
    array = holdfast(
        "audit", "d.npy", "--clusterer", "sklearn.cluster:KMeans", *FEW, "-k", 2, "--json"
    )
    assert results_of(array)["data"] == "an array of 60 columns"


def test_sparse_files(holdfast):
    rng = np.random.default_rng(0)
    dense = np.floor(4.0 * rng.random((60, 30))) * (rng.random((60, 30)) < 0.2)
    save_npz("x.npz", csr_array(dense))
    few = {"n_clusters": [3], "delete": [0.05], **MEASURED}
    use = ("audit", "x.npz", "-k", 3, "--delete", "5%", *FEW)
    found = {r["method"]: r for r in results_of(holdfast(*use, "--json"))["results"]}
    assert set(found) == {"means", "bisecting_kmeans"}
    for name in found:
        wanted = library.average_sensitivity(METHODS[name].build(), csr_array(dense), **few)
        assert found[name]["mean"] == wanted.mean.item()
    one = library.k_median_cost(dense, np.zeros(60))
    assert found["means"]["cost"] / found["means"]["cost_of_one"] == pytest.approx(one)
    mine = results_of(holdfast(*use, "--clusterer", "sklearn.cluster:KMeans", "--json"))
    wanted = library.average_sensitivity(KMeans(), csr_array(dense), **few)
    assert mine["results"][0]["mean"] == wanted.mean.item()
    assert mine["data"] == "a sparse matrix of 30 columns"
    dense[3, 4] = np.nan
    save_npz("nan.npz", csr_array(dense))
    np.savez("other.npz", a=dense)
    Path("cut.npz").write_bytes(Path("x.npz").read_bytes()[:300])
    save_npz("complex.npz", csr_array(1j * np.eye(3)))
    for arguments, told in (
        (["nan.npz"], "nan.npz has nan in row 3, column 4 (from 0)"),
        (["nan.npz", "--clusterer", "sklearn.cluster:KMeans"], "in row 3, column 4"),
        (["other.npz"], "holds no sparse matrix"),
        (["cut.npz"], "holds no sparse matrix"),
        (["complex.npz"], "holds complex128 of shape (3, 3)"),
        (["none.npz"], "there is no file none.npz"),
        (["x.npz", "--methods", "ward"], "--methods of sparse rows must be some of means"),
        (["x.npz", "--ignore", "a"], "options about columns are for tables"),
        (["x.npz", "--clusterer", "mine.py:topics", "--text", "a"], "--text names a column"),
    ):
        refused = holdfast("audit", *arguments)
        assert (refused.code, refused.out, told in refused.err) == (2, "", True), refused.err
    assert "zip archive" in holdfast("fit", "x.npz").err


@pytest.mark.parametrize(
    ("clusterer", "told"),
    [
        ("none.py:a", "there is no file none.py"),
        ("no_such_module:a", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("mine.py", "must be FILE.py:NAME or MODULE:NAME"),
        ("mine.py:absent", "mine.py has no 'absent'"),
        ("mine.py:number", "is int; expected a clusterer of scikit-learn, a Pipeline"),
        ("mine.py:two_parameters", "is a function (X, k); expected"),
        ("mine.py:too_short", "too_short returned wrong labels"),
        ("mine.py:fails", "KeyError: 'first line\\nsecond line'"),
        ("mine.py:ends", "SystemExit: 0"),
        ("wrong.py:a", "wrong.py cannot be imported: SyntaxError"),
        ("leaves.py:a", "leaves.py cannot be imported: SystemExit: 3"),
    ],
)
def test_a_wrong_clusterer_is_one_line_and_exit_code_2(holdfast, people, folder, clusterer, told):
    (folder / "wrong.py").write_text("a = = 3\n")
    (folder / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    done = holdfast("audit", people, "--clusterer", clusterer, *FEW)
    assert (done.code, done.out) == (2, "")
    assert told in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--methods", "ward"), "give --methods or --clusterer, not both"),
        (("--dates", "town"), "--dates prepares the table, but --clusterer gets it as it was read"),
        (("--no-standardize",), "--no-standardize prepares the table"),
        (("--by-stage",), "--by-stage needs a Pipeline of scikit-learn; --clusterer is function"),
        (("-k", 61), "--clusters asks for 61 clusters of 60 rows"),
    ],
)
def test_options_that_do_not_go_with_a_clusterer(holdfast, people, options, told):
    done = holdfast("audit", people, "--clusterer", "mine.py:Space.towns", *FEW, *options)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    alone = holdfast("audit", people, "--text", "town")
    assert (alone.code, "--text needs --clusterer" in alone.err) == (2, True)


def test_fits_that_fail_now_and_then_are_told(holdfast, people):
    done = holdfast("audit", people, "--clusterer", "mine.py:sometimes", "--delete", 1, *FEW)
    assert done.code == 2
    assert "all fits failed" in done.err
    assert "OverflowError: odd rows" in done.err


def test_a_checkpoint_belongs_to_the_clusterer(holdfast, people, folder):
    use = ("audit", people, "--clusterer", "mine.py:Space.towns", "--checkpoint", "runs", *FEW)
    first = holdfast(*use, "--json")
    assert results_of(first)["results"][0]["mean"] == 0.0
    assert [p.name for p in (folder / "runs").iterdir()] == ["Space.towns"]
    assert holdfast(*use, "--json").out == first.out


def test_what_a_file_defines_reaches_worker_processes(folder):
    console = cli.console.Console("audit", cli.options.DisplayOptions())
    _, function = cli.clusterer.load_clusterer("mine.py:too_short", console)
    sent = cloudpickle.dumps(function)
    del sys.modules["holdfast_clusterer_mine"]  # a worker has never seen the file
    assert cloudpickle.loads(sent)(None, 2, 0) == [0, 1]
