"""audit and tune print what the library measures."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import holdfast as library
from holdfast import cli
from holdfast.cli import audit as audit_command
from holdfast.clusterers import METHODS
from holdfast.tables.summary import Distinct, core_deviation

FAST = ("--columns", "height,width", "--trials", 4, "--repeats", 2, "--jobs", 1)


def rows_of(path):
    table = pa.csv.read_csv(path)
    x = np.column_stack([table.column(n).to_numpy() for n in ("height", "width")])
    return x / [core_deviation(Distinct.of(np.ascontiguousarray(column))) for column in x.T]


def prepared_by(method):
    """A method that prepares the table in every fit."""

    def cluster(table, k, seed):
        preparer = library.TablePreparer(scale="steps" if method == "tree" else "core")
        return METHODS[method].build().fit(preparer.fit_transform(table), seed).cut(k)

    return cluster


def test_audit_measures_what_the_library_measures(holdfast, people):
    done = holdfast(
        "audit", people, *FAST, "--methods", "tree,ward", "-k", "3,4", "--delete", "1,5%", "--json",
        "-o", "audit.csv",
    )  # fmt: skip
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert (record["trials"], record["repeats"], record["n_used"]) == (4, 2, 60)
    found = {(r["method"], r["k"], r["delete"]): r for r in record["results"]}
    assert len(found) == 8
    x, table = rows_of(people), pd.read_csv(people)[["height", "width"]]
    for method in ("tree", "ward"):
        r = library.average_sensitivity(
            prepared_by(method), table, n_clusters=[3, 4], delete=[1, 0.05], trials=4, repeats=2,
            measure="moved_fraction", n_jobs=1,
        )  # fmt: skip
        for c, delete in enumerate(("1", "5%")):
            for j, k in enumerate((3, 4)):
                assert found[method, k, delete]["mean"] == r.mean[c, j]
                assert found[method, k, delete]["standard_error"] == pytest.approx(
                    r.standard_error[c, j]
                )
                assert found[method, k, delete]["rand"] == pytest.approx(r.rand[c, j].mean())
                information = found[method, k, delete]["information"]
                assert information == pytest.approx(r.information[c, j].mean())
    labels = METHODS["ward"].build().fit(x, 0).cut(3)
    assert found["ward", 3, "1"]["cost"] == pytest.approx(library.k_median_cost(x, labels))
    one = library.k_median_cost(x, np.zeros(60))
    for r in record["results"]:
        assert r["cost_of_one"] == pytest.approx(r["cost"] / one)
        ward = found["ward", r["k"], r["delete"]]["cost"]
        assert r["cost_of_ward"] == pytest.approx(r["cost"] / ward)
    written = pa.csv.read_csv("audit.csv").to_pylist()
    assert [(w["method"], w["k"]) for w in written] == [
        (r["method"], r["k"]) for r in record["results"]
    ]


def test_audit_takes_clusterers_that_choose_k(holdfast, people):
    done = holdfast(
        "audit", people, *FAST, "--methods", "hdbscan", "-k", 3, "--delete", 3, "--json"
    )
    assert done.code == 0, done.err
    (found,) = json.loads(done.out)["results"]
    table = pd.read_csv(people)[["height", "width"]]
    r = library.average_sensitivity(
        prepared_by("hdbscan"), table, n_clusters=[3], delete=[3], trials=4, repeats=2, n_jobs=1
    )
    assert found["mean"] == pytest.approx(r.mean.item())


def mixed_table(path):
    """A rare town, gaps and a far value: scales, levels and fills depend on the rows."""
    rng = np.random.default_rng(2)
    size = np.floor(100.0 * rng.random(80))
    size[5], town = 900.0, np.array(["Ulm", "Bern", "Rom"])[rng.integers(3, size=80)]
    town[7] = "Oslo"
    table = pd.DataFrame({"size": size, "town": town, "age": np.floor(9.0 * rng.random(80))})
    table.loc[3, "age"] = np.nan
    table.to_csv(path, index=False)
    return table


def test_audit_prepares_the_table_again_and_tells_what_that_adds(holdfast):
    table = mixed_table("mixed.csv")
    few = {"n_clusters": [3], "delete": [0.05], "trials": 4, "repeats": 2, "n_jobs": 1}
    use = ("audit", "mixed.csv", "--methods", "medoids", "-k", 3, "--delete", "5%", *FAST[2:])
    done = holdfast(*use, "--by-stage", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)["results"][0]
    whole = library.average_sensitivity(prepared_by("medoids"), table, **few)
    rows = library.TablePreparer().fit_transform(table)
    held = library.average_sensitivity(METHODS["medoids"].build(), rows, **few)
    assert (found["mean"], found["held"]) == (whole.mean.item(), held.mean.item())
    assert found["mean"] != found["held"]
    assert "held" in holdfast(*use, "--by-stage").out.splitlines()[0].split()


def test_audit_takes_distances(holdfast, people):
    rows = rows_of(people)
    distances = np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2))
    names = [f"to {i}" for i in range(60)]
    pd.DataFrame(distances, columns=names).assign(id=names).to_csv("d.csv", index=False)
    use = ("audit", "d.csv", "--metric", "precomputed", "--id", "id", *FAST[2:], "-k", 3)
    done = holdfast(*use, "--delete", "5%", "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    found = {r["method"]: r for r in record["results"]}
    assert (set(found), record["preparation"]) == (
        {"medoids", "average", "complete", "single"},
        None,
    )
    few = {"n_clusters": [3], "delete": [0.05], "trials": 4, "repeats": 2, "n_jobs": 1}
    average = library.average_sensitivity(METHODS["average"].build(), rows, **few)
    assert found["average"]["mean"] == average.mean.item()
    model = library.HierarchicalKMedian(3, method="medoids", metric="precomputed")
    assert found["medoids"]["mean"] == library.average_sensitivity(model, distances, **few).mean
    labels = METHODS["average"].build().fit(rows, 0).cut(3)
    assert found["average"]["cost"] == pytest.approx(library.k_median_cost(rows, labels))
    distances[2, 1] += 1.0
    pd.DataFrame(distances, columns=names).to_csv("wrong.csv", index=False)
    for arguments, told in (
        (("wrong.csv", *use[2:4]), "in row 1 and column 2"),
        ((people, *use[2:4]), "holds no distances"),
        ((people, *use[2:4], "--columns", "height,width"), "60 rows and 2 columns; a table of"),
        ((*use[1:], "--methods", "ward"), "--methods of distances must be some of medoids"),
        ((people, "--metric", "cosine"), "--metric must be euclidean or precomputed"),
    ):
        refused = holdfast("audit", *arguments)
        assert (refused.code, refused.out) == (2, "")
        assert told in refused.err


def test_audit_prints_a_table_with_standard_errors(holdfast, people):
    methods = ",".join(METHODS)
    done = holdfast("audit", people, *FAST, "--methods", methods, "-k", 3, "--delete", "5%")
    assert done.code == 0, done.err
    header, *lines = done.out.splitlines()
    names = ["clusters", "removed", "method", "moved", "±", "cost", "of", "one", "of", "Ward"]
    assert header.split() == names
    assert lines.pop().startswith("cost: sum of the distances to the best medoid")
    assert {line.split()[2] for line in lines} == set(METHODS)
    assert next(line for line in lines if " ward " in line).split()[-1] == "100.0%"
    assert all(line.split()[3].endswith("%") and line.split()[4].endswith("%") for line in lines)


def test_audit_samples_a_larger_table_and_says_so(holdfast, people, monkeypatch):
    monkeypatch.setattr(audit_command, "SAMPLE_ROWS", 40)
    use = ("audit", people, *FAST, "--methods", "ward", "-k", 3, "--delete", "5%", "--json")
    done = holdfast(*use)
    assert json.loads(done.out)["n_used"] == 40
    assert "measuring on a sample of 40 of 60 rows; --full uses all" in done.err
    for more, n_used in ((["--full"], 60), (["--sample", 50], 50)):
        done = holdfast(*use, *more)
        assert json.loads(done.out)["n_used"] == n_used
    done = holdfast(*use, "--full", "--sample", 50)
    assert done.code == 2
    assert "not both" in done.err


def test_audit_can_print_its_table_as_csv(holdfast, people):
    use = ("audit", people, *FAST, "--methods", "ward", "-k", 3, "--delete", 1, "--out", "-")
    done = holdfast(*use)
    assert done.out.splitlines()[0].startswith("method,k,delete,mean,standard_error")
    assert len(done.out.splitlines()) == 2
    assert "clusters" in done.err
    assert json.loads(holdfast(*use, "--json").out)["results"][0]["method"] == "ward"


def test_audit_continues_from_a_checkpoint(holdfast, people, folder, monkeypatch):
    use = ("audit", people, *FAST, "--methods", "ward,single", "-k", 3, "--checkpoint", "runs")
    first = holdfast(*use, "--json")
    assert first.code == 0, first.err
    assert sorted(p.name for p in (folder / "runs").iterdir()) == ["single", "ward"]
    from holdfast.stability import run

    def forbidden(*arguments):
        raise AssertionError("measured again")

    monkeypatch.setattr(run, "run_block", forbidden)
    again = holdfast(*use, "--json")
    assert again.out == first.out
    fresh = holdfast(*use[:-1], "elsewhere")
    assert "measured again" in fresh.err
    other = holdfast(*use, "--seed", 1)
    assert other.code == 2
    assert "belongs to another run" in other.err


def test_interrupted_audits_write_nothing_and_say_how_to_go_on(
    holdfast, people, folder, monkeypatch
):
    from dataclasses import replace

    real = library.average_sensitivity

    def interrupted(*arguments, **options):
        return replace(real(*arguments, **options), complete=False, note="interrupted")

    monkeypatch.setattr("holdfast.stability.average_sensitivity", interrupted)
    done = holdfast(
        "audit", people, *FAST, "--methods", "ward", "-k", 3, "--checkpoint", "runs", "-o", "a.csv"
    )
    assert (done.code, done.out) == (130, "")
    assert "The same command continues" in done.err
    assert not (folder / "a.csv").exists()


def test_a_method_that_fails_does_not_stop_the_others(holdfast, people, monkeypatch):
    def fail():
        raise MemoryError

    monkeypatch.setattr("sklearn.cluster.BisectingKMeans", fail)
    done = holdfast("audit", people, *FAST, "--methods", "bisecting_kmeans,ward", "-k", 3)
    assert done.code == 1
    assert "ward" in done.out
    assert "1 of the methods failed. bisecting_kmeans: not enough memory" in done.err


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--methods", "tree,wards"], "--methods must be some of means, medoids"),
        (["--delete", "100%"], "--delete must be"),
        (["--delete", "none"], "--delete must be"),
        (["-k", "58", "--delete", "5%"], "at most the number of rows left"),
        (["--checkpoint", "people.csv"], "is a file"),
    ],
)
def test_wrong_audits(holdfast, people, wrong, told):
    done = holdfast("audit", people, *FAST, *wrong)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_audit_of_a_sample(holdfast, people, monkeypatch):
    monkeypatch.setattr(cli.clusterer, "_MOST_QUADRATIC", 50)
    use = ("audit", people, *FAST, "--methods", "average", "-k", 3, "--delete", 1, "--json")
    assert "add --sample" in holdfast(*use).err
    done = holdfast(*use, "--sample", 40)
    assert json.loads(done.out)["n_used"] == 40


def test_tune_finds_what_the_library_finds(holdfast, people):
    done = holdfast("tune", people, *FAST, "-k", 4, "--target-moved", "20%", "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    preparer = library.TablePreparer()
    rows = preparer.fit_transform(pd.read_csv(people)[["height", "width"]])
    scale = preparer.preparation_.scale
    search = library.tune_epsilon(
        library.HierarchicalKMedian(column_scale=scale), rows, 4, target_sensitivity=0.2, delete=0.05,
        trials=4, repeats=2, n_jobs=1,
    )  # fmt: skip
    assert record["epsilon"] == search.epsilon
    assert [p["moved_fraction"] for p in record["curve"]] == search.sensitivity.tolist()
    assert (record["target"], record["limit"]) == ("moved_fraction", 0.2)
    shown = holdfast("tune", people, *FAST, "-k", 4, "--target-moved", "20%")
    assert f"holdfast fit --method means --epsilon {search.epsilon:.6g}" in shown.out
    assert shown.out.count("chosen") == 1


def test_tune_that_finds_nothing_fails_after_showing_the_curve(holdfast, people):
    done = holdfast("tune", people, *FAST, "-k", 7, "--target-moved", 0, "--delete", "30%")
    assert done.code == 1
    assert done.out.startswith("epsilon")
    assert "no epsilon from 0.01 to 1000 has" in done.err


def test_tune_needs_one_target(holdfast, people):
    assert holdfast("tune", people).code == 2
    assert holdfast("tune", people, "--target-moved", "5%", "--max-cost-ratio", 2).code == 2
    assert holdfast("tune", people, "--target-moved", "much").code == 2
