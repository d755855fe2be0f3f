"""The numbers on the page are those that the library gives."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from report_builder import build
from sklearn.metrics import silhouette_samples

from holdfast import HierarchicalKMedian, average_sensitivity, row_influence
from holdfast._machine.hash import keyed_sample
from holdfast.clusterers import METHODS
from holdfast.hierarchy import cost as cost_of_clusters
from holdfast.hierarchy.cost import k_median_cost
from holdfast.hierarchy.rules import Column
from holdfast.report import choosing, movement
from holdfast.report.inputs import check_inputs
from holdfast.stability.measures import mean_error


def cut_from(parent, labels, k):
    """The derivation that docs/report.md describes."""
    found = []
    for label in labels:
        while label >= k:
            label = parent[label]
        found.append(label)
    return found


def test_page_derives_every_cut_from_last_labels_and_parent(rows, report):
    segments = report.content["segments"]
    points = segments["points"]
    hierarchy = HierarchicalKMedian(method="tree", random_state=0).fit(rows).hierarchy_
    assert points["rows"] == list(range(len(rows)))
    assert segments["max_k"] == 32
    for k in range(1, segments["max_k"] + 1):
        cut = cut_from(segments["parent"], points["labels"], k)
        assert cut == hierarchy.cut(k).tolist()
    assert segments["sizes"] == np.bincount(hierarchy.cut(32)).tolist()
    assert [c["row"] for c in segments["centers"]] == hierarchy.center_indices[:32].tolist()


def test_dates_of_rows_are_exact_to_the_second(rows):
    seconds = 1_372_636_800 + 86_400 * np.arange(len(rows))
    values = np.column_stack((rows[:, :3], seconds))
    content = build(rows, names=[*"abc", Column("since", date=True)], values=values).content
    (j,) = (content["data"]["columns"].index(j) for j in content["data"]["dates"])
    points, unstable = content["segments"]["points"], content["rows"]["unstable"]
    assert points["values"][j] == seconds[points["rows"]].tolist()
    assert unstable
    for entry in unstable + content["segments"]["centers"]:
        assert entry["values"][j] == seconds[entry["row"]]


def test_distinguishing_columns_are_those_of_the_means(rows, report):
    segments = report.content["segments"]
    shown = rows * 10 + 1000
    hierarchy = HierarchicalKMedian(method="tree", random_state=0).fit(rows).hierarchy_
    assert len(segments["distinguishing"]) == 2 * segments["max_k"] - 1
    told = 0
    for t in range(1, segments["max_k"]):
        labels = hierarchy.cut(t + 1)
        for node, cluster in ((2 * t - 1, segments["parent"][t]), (2 * t, t)):
            own = shown[labels == cluster].mean(axis=0)
            difference = (own - shown.mean(axis=0)) / shown.std(axis=0)
            largest = np.argsort(-np.abs(difference))[:3]
            expected = [j for j in largest if abs(difference[j]) >= 0.3]
            assert [entry[0] for entry in segments["distinguishing"][node]] == expected
            for j, sd, mean in segments["distinguishing"][node]:
                assert sd == pytest.approx(difference[j], abs=0.0051)
                assert mean == pytest.approx(own[j], rel=1e-3)
                told += 1
    assert told > 50


def test_methods_are_measured_as_by_average_sensitivity(rows, report):
    own, ward = report.content["comparison"]["methods"][:2]
    assert [(m["name"], m["title"], m["kind"]) for m in (own, ward)] == [
        ("tree", "holdfast tree", "own"), ("ward", "Ward linkage", "other"),
    ]  # fmt: skip
    for method, clusterer in (
        (own, HierarchicalKMedian(method="tree", random_state=0)),
        (ward, METHODS["ward"].build()),
    ):
        r = average_sensitivity(
            clusterer, rows, n_clusters=[4], delete=[0.05], trials=5, repeats=2,
            n_jobs=1,
        )  # fmt: skip
        assert method["moved"] == pytest.approx(r.mean.item(), rel=1e-3)
        assert [method["low"], method["high"]] == pytest.approx(r.interval().ravel(), rel=1e-3)
    assert ward["cost"] == pytest.approx(
        k_median_cost(rows, METHODS["ward"].build().fit(rows, 0).cut(4)), rel=1e-4
    )
    for method in (own, ward):
        at = method["against_k"]["k"].index(4)
        assert method["against_k"]["mean"][at] == method["moved"]
    assert [d["rows"] for d in report.content["comparison"]["deletes"]] == [1, 4, 18]


def test_rows_to_look_at_are_those_of_row_influence(rows, report):
    found = report.content["rows"]
    r = row_influence(
        HierarchicalKMedian(method="tree"), rows, 4, repeats=2, measure="moved", n_jobs=1
    )
    assert found["n_influential"] == int((r.influence > 1).sum())
    top = [entry["row"] for entry in found["influential"]]
    assert top == [row for row in r.top(10) if r.influence[row] > 1]
    for entry in found["influential"]:
        assert entry["value"] == pytest.approx(r.influence[entry["row"]] - 1, rel=1e-2)
        assert entry["values"] == pytest.approx(rows[entry["row"]] * 10 + 1000, rel=1e-4)
    assert [e["row"] for e in found["unstable"]] == [
        row for row in r.top(10, by="instability") if r.instability[row] > 0
    ]
    assert found["unstable"]


def test_influence_without_refits_equals_refits(rows, report, monkeypatch):
    monkeypatch.setattr(movement, "_MAX_LEFT_OUT", 20)
    found = build(rows).content["rows"]
    assert found["n_left_out"] == 20
    assert found["n_influence_known"] == len(rows)
    values = [(e["row"], e["value"]) for e in found["influential"]]
    assert values == [(e["row"], e["value"]) for e in report.content["rows"]["influential"]]


def test_equal_arguments_give_equal_bytes(rows, ids, report):
    again = build(
        rows, names=report.content["data"]["names"], ids=ids, values=rows * 10 + 1000,
        title=report.content["title"],
    )  # fmt: skip
    assert again.to_html() == report.to_html()


def test_dictionary_is_plain_and_survives_json(report):
    assert json.loads(report.to_json()) == report.content
    copy = report.to_dict()
    copy["verdict"] = None
    assert report.content["verdict"] is not None


def test_page_without_rows_holds_nothing_about_one(report_without_rows):
    content = report_without_rows.content
    assert content["rows"] is None
    assert content["segments"]["points"] is None
    assert content["segments"]["centers"] is None
    text = report_without_rows.to_json()
    assert "alert" not in text  # every id has it
    # Every value of a row, and so every mean, has more digits before the point than anything else.
    assert max(float(token) for token in re.findall(r"\d+(?:\.\d+)?", text)) < 1e7
    sizes = [len(told) for told in content["segments"]["distinguishing"] if told is not None]
    assert None in content["segments"]["distinguishing"]
    assert sum(sizes) > 20
    assert all(
        mean is None and round(sd, 1) == sd
        for told in content["segments"]["distinguishing"]
        for _, sd, mean in told or []
    )


def test_categories_have_their_fractions_in_every_segment(rows):
    towns = np.array(["Ulm", "Bern", "Köln"])[np.arange(90) % 5 % 3]
    letters = np.array([*"abcdefghi"])[np.arange(90) % 9]
    marked, names = [rows], [*"abcd"]
    for name, column in (("letter", letters), ("town", towns)):
        for level in np.unique(column):
            marked.append(0.01 * (column == level)[:, None])
            names.append(Column(name, category=str(level)))
    X = np.hstack(marked)
    values = np.hstack([rows, X[:, 4:] > 0.0])
    report = build(X, methods=[], trials=2, names=names, values=values)
    segments = report.content["segments"]
    town, letter = segments["categories"]
    assert (town["name"], town["levels"]) == ("town", ["Bern", "Köln", "Ulm"])
    assert (letter["name"], len(letter["levels"])) == ("letter", 9)
    hierarchy = HierarchicalKMedian(method="tree").fit(X).hierarchy_
    for k in (1, 2, 4):
        for cluster, node in enumerate(nodes_of(segments["parent"], k)):
            inside = towns[hierarchy.cut(k) == cluster].tolist()
            for level, fraction in town["most"][node]:
                part = inside.count(town["levels"][level]) / len(inside)
                assert fraction == pytest.approx(part, abs=1e-3)
            told = [fraction for _, fraction in town["most"][node]]
            assert told == sorted(told, reverse=True)
            assert sum(told) == pytest.approx(1, abs=2e-3)
    assert town["overall"] == [0.4, 0.2, 0.4]
    center = segments["centers"][0]
    assert center["levels"][segments["categories"].index(town)] == towns[center["row"]]
    without = build(X, methods=[], trials=2, names=names, values=values, rows=False)
    assert without.content["segments"]["categories"] == []


def test_indicators_are_shown_as_the_category_they_come_from(rows):
    towns = np.array(["Ulm", "Bern", "Köln"])[np.arange(90) % 5 % 3]
    marks = np.column_stack([towns == "Ulm", towns == "Bern"]).astype(float)
    columns = [*"abcd", Column("town", category="Ulm"), Column("town", category="Bern")]
    content = build(np.hstack([rows, marks]), methods=[], trials=2, names=columns).content
    data, segments = content["data"], content["segments"]
    assert data["n_columns"] == 5
    assert data["names"][4:] == ["town: Ulm", "town: Bern"]
    assert (data["columns"], data["indicators"]) == ([0, 1, 2, 3], [4, 5])
    (town,) = segments["categories"]
    assert town["levels"] == ["Ulm", "Bern", "(other)"]
    assert town["overall"] == [0.4, 0.4, 0.2]
    for told in segments["distinguishing"]:
        assert all(mean >= 0.5 for column, _, mean in told if column >= 4)
    assert all(len(center["values"]) == 4 for center in segments["centers"])


def nodes_of(parent, k):
    """Return the node of each cluster of a cut: split t makes nodes 2t - 1 and 2t."""
    nodes = [0]
    for t in range(1, k):
        nodes[parent[t]] = 2 * t - 1
        nodes.append(2 * t)
    return nodes


def test_rules_say_what_fraction_they_cover(rows, report):
    segments, values = report.content["segments"], rows * 10 + 1000
    names = ["a", "b", "c", "d"]
    report = build(rows, methods=[], trials=2, names=names, values=values)
    labels = HierarchicalKMedian(method="tree").fit(rows).hierarchy_.cut(4)
    rules = report.content["segments"]["rules"]
    assert rules[0] == []
    found = [(c, r) for c, node in enumerate(nodes_of(segments["parent"], 4)) for r in rules[node]]
    assert found
    for cluster, rule in found:
        condition = re.sub(r"(\S+) < (\w) <=", r"\1 < \2 and \2 <=", rule["text"])
        scope = dict(zip(names, values.T, strict=True))
        met = np.ones(90, dtype=bool)
        for part in condition.split(" and "):
            met &= eval(part, {}, scope)
        assert rule["coverage"] == pytest.approx(met[labels == cluster].mean(), abs=2e-3)
        assert rule["others"] == pytest.approx(met[labels != cluster].mean(), abs=2e-3)


def test_segments_have_two_rules_where_the_data_allow_two():
    """Where two columns say the same, each of them gives a rule; where one decides all, there is one."""
    x = np.repeat([0.0, 10.0, 40.0], 30) + np.tile(np.arange(30) / 30, 3)
    noise = np.arange(90) * 37 % 90 / 90
    for columns, count in (((x, 3 * x + noise), 2), ((x, noise), 1), ((x, np.zeros(90)), 1)):
        report = build(
            np.column_stack(columns), n_clusters=3, methods=[], trials=2, names=["a", "b"]
        )
        segments = report.content["segments"]
        rules = [segments["rules"][node] for node in nodes_of(segments["parent"], 3)]
        assert [len(found) for found in rules] == [count] * 3
        assert [rule["text"].count("a") for found in rules for rule in found[:1]] == [1] * 3
        for _, other in rules if count == 2 else ():
            assert other["by_other_columns"]
            assert "a" not in other["text"]
            assert other["coverage"] > 0.9


def test_means_have_the_digits_that_their_spread_deserves(rows):
    values = rows * np.array([1e-3, 1.0, 100.0, 1e4])
    segments = build(rows, methods=[], trials=2, values=values).content["segments"]
    overall, deviation = segments["profiles"][0]["means"], values.std(axis=0)
    np.testing.assert_allclose(overall, values.mean(axis=0), atol=0.06 * deviation.max())
    for mean, spread in zip(overall, deviation, strict=True):
        decimals = max(0, 1 - int(np.floor(np.log10(spread))))
        assert mean == round(mean, decimals)


def test_costs_of_a_sample_are_scaled_to_all_rows(rows, report, monkeypatch):
    monkeypatch.setattr(cost_of_clusters, "_COST_ROWS", 45)
    segments = build(rows, methods=[], trials=2).content["segments"]
    assert segments["cost_rows"] == 45
    np.testing.assert_allclose(
        segments["costs"][:4], report.content["segments"]["costs"][:4], rtol=0.15
    )


def test_large_data_are_thinned_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(movement, "_MAX_LEFT_OUT", 20)
    rng = np.random.default_rng(0)
    many = rng.normal(size=(10_000, 6)) + 5 * rng.integers(0, 3, size=(10_000, 1))
    report = build(many, methods=["ward"], delete=[0.05], trials=2, ids=range(10_000))
    content = report.content
    assert content["comparison"]["n_rows"] == 1000
    assert content["comparison"]["sampled_from"] == 10_000
    points = content["segments"]["points"]
    named = {e["row"] for part in ("influential", "unstable") for e in content["rows"][part]}
    wanted = named | {c["row"] for c in content["segments"]["centers"]}
    assert wanted <= {*points["rows"]}
    assert 3000 <= len(points["rows"]) <= 3000 + len(wanted)
    assert points["n_rows"] == sum(content["segments"]["sizes"]) == 10_000
    assert content["rows"]["n_measured"] == 1000
    assert content["segments"]["cost_rows"] == 3000
    assert "sample of 1,000 of 10,000 rows" in content["verdict"]["sentence"]
    assert all("1,000 rows" in content["verdict"]["numbers"][i]["detail"] for i in (0, 1, 3))
    assert len(report.to_html().encode()) < 1_000_000


def test_sample_is_keyed_by_content():
    rows = np.random.default_rng(1).normal(size=(500, 3))
    rows[7] = 0.0
    taken = keyed_sample(rows, 100, 3, "test")
    turned = keyed_sample(rows[::-1], 100, 3, "test")
    assert sorted(499 - turned) == taken.tolist()
    left = np.delete(np.arange(500), np.setdiff1d(np.arange(500), taken)[:50])
    assert left[keyed_sample(rows[left], 100, 3, "test")].tolist() == taken.tolist()
    negative = rows.copy()
    negative[7] = -0.0
    assert keyed_sample(negative, 100, 3, "test").tolist() == taken.tolist()
    assert keyed_sample(rows, 100, 4, "test").tolist() != taken.tolist()


@pytest.mark.parametrize(("method", "epsilon"), [("means", 0.001), ("medoids", 0.05)])
def test_other_methods_and_own_clusterers_work(rows, monkeypatch, method, epsilon):
    monkeypatch.setattr(choosing, "_EPSILON_TRIALS", 3)
    report = build(
        rows[:40], estimator=HierarchicalKMedian(method=method), trials=2, delete=[1],
        methods={"mine": lambda X, k, seed: np.arange(len(X)) % k},
    )  # fmt: skip
    names = [m["name"] for m in report.content["comparison"]["methods"]]
    assert names == [method, "mine"]
    assert report.content["choosing"]["epsilon"]["used"] == epsilon
    assert report.verdict.startswith("When one row is removed")
    assert "mine" in report.verdict


def test_default_comparison_names_each_method_once(rows):
    inputs = check_inputs(
        rows, n_clusters=4, names=None, ids=None, values=None,
        estimator=HierarchicalKMedian(method="medoids"), methods=None, delete=[1], trials=2,
        repeats=1, full=False, n_jobs=1, random_state=0, show_rows=True, title="", command="",
        preparation=(), progress=False,
    )  # fmt: skip
    assert [m.name for m in inputs.methods] == [
        "medoids", "means", "tree", "ward", "average", "complete", "single", "bisecting_kmeans",
    ]  # fmt: skip
    assert [m.is_own for m in inputs.methods] == [True] + [False] * 7


def test_every_cost_is_the_k_median_cost(rows, report):
    """The same number for the same clusters, in the table of cuts and in the comparison."""
    content = report.content
    hierarchy = HierarchicalKMedian(method="tree", random_state=0).fit(rows).hierarchy_
    expected = [k_median_cost(rows, hierarchy.cut(k)) for k in range(1, 33)]
    assert content["segments"]["costs"] == pytest.approx(expected, rel=1e-4)
    assert content["segments"]["cost_rows"] == len(rows)
    own, ward = content["comparison"]["methods"][:2]
    assert ward["relative_cost"] == 1
    assert content["comparison"]["cost_reference"] == "Ward linkage"
    assert own["relative_cost"] == pytest.approx(own["cost"] / ward["cost"], rel=1e-3)
    assert own["against_k"]["relative_cost"][2] == own["relative_cost"]


def test_methods_are_compared_trial_by_trial():
    """The same rows are removed for every method: what all of them suffer is no difference."""
    inputs = SimpleNamespace(k=4, deletes=(1, 0.05), main_delete=0.05)
    own = np.array([[0.1, 0.2, 0.3], [0.5, 0.6, 0.7], [0.2, 0.3, 0.4]])
    other = own[:2, :2] + [[0.01, 0.03], [0.01, 0.03]]  # fewer trials, fewer random states

    def compare(values):
        tables = [np.array([np.zeros_like(values), values])[:, None] for values in (values, own)]
        theirs, ours = (SimpleNamespace(values=t, n_clusters=(4,)) for t in tables)
        return movement._compare_trials(inputs, theirs, ours)

    expected = mean_error(other - own[:2, :2], exhaustive=False)
    found = compare(other)
    assert found["mean"] == pytest.approx(0.02)
    assert [found["low"], found["high"]] == pytest.approx(expected.interval(), rel=1e-3)
    steady = compare(np.array([[0.2], [0.6], [0.3]]))  # no random states: stands beside each
    assert steady["mean"] == pytest.approx(0.0, abs=1e-12)
    assert steady["high"] == pytest.approx(
        mean_error([[0.2], [0.6], [0.3]] - own, exhaustive=False).interval()[1], rel=1e-3
    )


def test_page_has_the_difference_of_every_method(report):
    own, ward, average = report.content["comparison"]["methods"]
    assert own["difference"] == {"mean": 0, "low": 0, "high": 0}
    for peer in (ward, average):
        found = peer["difference"]
        assert found["mean"] == pytest.approx(peer["moved"] - own["moved"], rel=1e-2)
        assert found["low"] < found["mean"] < found["high"]


def suggestion_of(*means, error=0.005):
    """Ks from 2 on with these movements."""
    ks = tuple(range(2, 2 + len(means)))
    errors = np.full(len(means), error)
    return SimpleNamespace(
        n_clusters=ks, mean=np.array(means), standard_error=errors, best=(), clear=()
    )


def test_last_stable_k_is_where_movement_starts_to_rise():
    assert choosing._find_last_stable(suggestion_of(0, 0, 0.001, 0.08, 0.1)) == 4
    assert choosing._find_last_stable(suggestion_of(0, 0.08, 0.1)) is None  # says little
    assert choosing._find_last_stable(suggestion_of(0.05, 0, 0.3)) is None
    assert choosing._find_last_stable(suggestion_of(0, 0, 0.02, error=0.02)) is None
    _, text = choosing._explain_k(suggestion_of(0, 0, 0.08), None, 3, 3, [None, 0.4, 0.6, 0.5])
    assert text == (
        "Up to k = 3, at most 1.0% of the remaining rows change cluster; at k = 4, 8.0% do. "
        "Separation is best at k = 3 (mean silhouette 0.60)."
    )


def test_k_stands_out_only_where_no_other_k_moves_less():
    """A dip on a slope is no sign of natural groups."""
    dip = suggestion_of(0.02, 0.09, 0.09, 0.13, 0.11, 0.2)
    dip.best, dip.clear = (2, 6), (True, True)
    assert choosing._pick(dip) is None
    _, text = choosing._explain_k(dip, None, None, None, [])
    assert "No k moves clearly less than the others. The smallest" in text
    dip.mean[4] = 0.08
    assert choosing._pick(dip) == 6
    headline, text = choosing._explain_k(dip, 6, None, None, [])
    assert headline == "k = 6 stands out"
    assert "8.0% of the remaining rows change cluster: less than at both neighbors" in text
    assert "less than at its neighbor" in choosing._explain_k(dip, 7, None, None, [])[1]


def test_the_last_k_is_not_called_best_separated():
    segments = {"sizes": [5, 4, 3], "parent": [-1, 0, 0], "max_k": 3}
    assert choosing._find_separated({**segments, "separation": [None, 0.6, 0.5]}) == 2
    assert choosing._find_separated({**segments, "separation": [None, 0.5, 0.6]}) is None
    assert choosing._find_separated({**segments, "separation": [None, 0.4, 0.3]}) is None


def test_k_is_named_by_the_clearest_evidence():
    def name(*found):
        return choosing._explain_k(suggestion_of(*[0.1] * 6), *found, [None, 0.5, 0.6])[0]

    assert name(5, 4, 3) == "k = 5 stands out"
    assert name(None, 4, 3) == "Stable up to k = 4"
    assert name(None, None, 3) == "k = 3 is best separated"
    assert name(None, None, None) == "No k stands out"


def test_separation_is_the_silhouette(rows, report):
    segments = report.content["segments"]
    labels = HierarchicalKMedian(method="tree", random_state=0).fit(rows).hierarchy_.cut(4)
    widths = silhouette_samples(rows, labels)
    assert segments["separation"][3] == pytest.approx(widths.mean(), abs=6e-4)
    by_cluster = [widths[labels == cluster].mean() for cluster in range(4)]
    assert segments["cluster_separation"][3] == pytest.approx(by_cluster, abs=6e-4)
    assert segments["separation"][0] is None


def test_profiles_are_means_in_original_units(rows, report):
    segments, shown = report.content["segments"], rows * 10 + 1000
    labels = HierarchicalKMedian(method="tree", random_state=0).fit(rows).hierarchy_.cut(2)
    for node in (1, 2):
        own = shown[labels == node - 1].mean(axis=0)
        difference = (own - shown.mean(axis=0)) / shown.std(axis=0)
        assert segments["profiles"][node]["means"] == pytest.approx(own, rel=1e-3)
        assert segments["profiles"][node]["differences"] == pytest.approx(difference, abs=0.0051)
    assert segments["profiles"][0]["differences"] == [0, 0, 0, 0]


def test_two_columns_are_their_own_axes():
    rows = np.random.default_rng(0).normal(size=(24, 2))
    points = build(rows, n_clusters=2, methods=[], trials=2).content["segments"]["points"]
    assert points["axes"] == []
    assert len(points["values"]) == 2


def test_data_frame_gives_names_and_ids():
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(0).normal(size=(16, 2))
    frame = pandas.DataFrame(values, columns=["height", "width"], index=list("abcdefghijklmnop"))
    few = {"n_clusters": 2, "methods": [], "trials": 2}
    content = build(frame, **few).content
    assert content["data"]["names"] == ["height", "width"]
    assert content["segments"]["points"]["ids"] == list("abcdefghijklmnop")
    counted = build(frame.reset_index(drop=True), **few).content
    assert counted["segments"]["points"]["ids"] is None


def test_progress_counts_every_round_once(rows):
    seen = []
    build(
        rows[:40], methods=["ward", "kmeans"], trials=2,
        progress=lambda what, done, total: seen.append((what, done, total)),
    )  # fmt: skip
    done, totals = [entry[1] for entry in seen], {entry[2] for entry in seen}
    assert len(totals) == 1
    assert done == sorted(done)
    assert done[-1] == pytest.approx(totals.pop())
    parts = ["measuring holdfast tree", "measuring Ward linkage", "measuring k-means"]
    parts += ["finding rows to look at", "measuring each segment", "examining epsilon"]
    assert {*parts} <= {entry[0] for entry in seen}


def test_missing_values_are_shown_as_missing(rows):
    shown = rows.copy()
    shown[:, 1] = np.nan
    shown[::2, 0] = np.nan
    content = build(rows, values=shown, methods=[], trials=2).content
    assert content["segments"]["points"]["values"][1] == [None] * len(rows)
    told = [entry for node in content["segments"]["distinguishing"] for entry in node]
    assert {column for column, _, _ in told} == {0, 2, 3}
    assert all(mean is not None for _, _, mean in told)


def test_one_column_has_a_page():
    rows = np.random.default_rng(0).normal(size=(20, 1))
    report = build(rows, n_clusters=2, methods=["ward"], trials=2)
    assert report.content["segments"]["points"]["axes"] == []


def test_method_that_always_fails_is_left_out_with_its_reason(rows):
    def broken(X, k, seed):
        raise FloatingPointError("no luck")

    report = build(rows[:30], methods={"ward": METHODS["ward"].build(), "broken": broken}, trials=2)
    (left_out,) = report.content["comparison"]["left_out"]
    assert left_out["name"] == "broken"
    assert "no luck" in left_out["reason"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 1}, "n_clusters must be between 2 and 32"),
        ({"n_clusters": 33}, "n_clusters must be between 2 and 32"),
        ({"names": ["a"]}, "names must have one for each of 4 columns; got 1"),
        ({"ids": ["a"]}, "ids must have one for each of 90 rows; got 1"),
        ({"values": np.zeros((90, 3))}, "values must have the shape of X"),
        ({"methods": ["word"]}, "names among means, .*; got 'word'"),
        ({"methods": {"tree": METHODS["ward"].build()}}, "choose another name"),
        ({"delete": [0.97]}, "leaves 3 of 90 rows, too few for 4 clusters"),
        ({"trials": 0}, "trials must be an integer of at least 1"),
        ({"trials": 1}, "trials must be at least 2"),
    ],
)
def test_wrong_arguments_are_refused(rows, options, message):
    with pytest.raises(ValueError, match=message):
        build(rows, **options)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 3)),
        np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0),
        np.column_stack((np.arange(20), np.ones(20, dtype=np.int64))),
        np.random.default_rng(0).normal(size=(8, 40)),
    ],
    ids=["equal rows", "two places", "integers and a constant column", "few rows, many columns"],
)
def test_data_without_much_in_them_have_a_page(X):
    report = build(X, n_clusters=2, methods=["ward"], trials=2)
    assert report.verdict.startswith("When 5% of the rows are removed")
    assert len(report.content["data"]["columns"]) == min(X.shape[1], 12)


def test_values_that_overflow_are_refused(rows):
    with pytest.raises(ValueError, match="too large for sums of squared distances"):
        build(rows * 1e160)


def test_few_rows_are_refused():
    with pytest.raises(ValueError, match="at least 8 rows; got 7"):
        build(np.arange(14.0).reshape(7, 2), n_clusters=2)
