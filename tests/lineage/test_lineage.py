"""Releases of a known chain: what a lineage tells of them, and what it refuses."""

import os
import shutil
from uuid import uuid4

import numpy as np
import pytest
from lineage.chain import FakeModel, build_chain
from scipy.sparse import csr_matrix

from holdfast import HierarchicalKMedian, Lineage
from holdfast.storage.archive import DamagedFile, write_archive

LABELS = ["week 1", "week 2", "week 3"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    lineage = Lineage(tmp_path_factory.mktemp("series") / "segments.lineage")
    for model, label in zip(build_chain(), LABELS, strict=True):
        lineage.append(model, label=label, time="2026-01-01T00:00:00+00:00", levels=[2, 3])
    return lineage


@pytest.fixture
def copied(written, tmp_path):
    return Lineage(shutil.copytree(written.path, tmp_path / "copy.lineage"))


def test_a_folder_has_one_file_for_each_release(written):
    assert sorted(p.name for p in written.path.iterdir()) == [
        "000000.release", "000001.release", "000002.release"
    ]  # fmt: skip
    again = Lineage(written.path)
    assert again.labels == LABELS
    assert again["week 2"].number == again[1].number == again[-2].number == 1


def test_a_release_reads_back_as_it_was(written):
    model, release = build_chain()[1], written[1]
    for k in (2, 3):
        assert release.names(k).tolist() == model._names[k].tolist()
    np.testing.assert_array_equal(release.rows, model.rows_)
    assert release.ids.tolist() == model.ids_.tolist()
    assert (release.n_survivors, release.n_new, release.n_left) == (10, 0, 0)
    assert (release.budget, release.budget_binds) == (0.2, True)
    assert release.levels["cost_of_staying"].tolist() == [2.5, 2.5]
    assert release.clusters["parent"].tolist() == [-1, -1, 0, 1, 1]
    fine = release.centers[release.clusters["level"] == 3]
    np.testing.assert_allclose(fine[0], model.rows_[model._names[3] == 0].mean(axis=0))


def test_flows_are_those_of_counting_ids(written):
    chain = build_chain()
    for before, after, release in zip(chain, chain[1:], list(written)[1:], strict=False):
        for k in (2, 3):
            was = dict(zip(before.ids_, before._names[k], strict=True))
            now = dict(zip(after.ids_, after._names[k], strict=True))
            pairs = [(was.get(id, -1), now.get(id, -1)) for id in {**was, **now}]
            flows = release.flows[release.flows["level"] == k]
            found = {(a, b): n for _, a, b, n in flows.tolist()}
            assert found == {pair: pairs.count(pair) for pair in pairs}


def test_moves_name_the_column_that_carried_the_row(written):
    moves = written.moves(level=3)
    first = moves[0]
    assert (first["id"], first["from"], first["to"]) == ("b", 0, 1)
    assert (first["column"], first["before"], first["after"]) == ("spend", 1.0, 8.0)
    assert written.moves(since="week 3", level=2).size == 0
    assert set(written.moves(since=2)["release"]) == {2}


def test_a_row_whose_values_did_not_change_was_carried_by_no_column(written):
    still = written.moves(since="week 3", level=3)
    assert set(still["id"]) == {"h", "i", "j"}
    assert set(still["column"]) == {""}
    assert np.isnan(still["before"]).all()


def test_history_follows_one_cluster(written):
    old, new = written.history(2), written.history(3)
    assert old["label"].tolist() == ["week 1", "week 2"]
    assert new["label"].tolist() == ["week 3"]
    assert (new["event"][0], new["size"][0], new["joined"][0], new["new"][0]) == ("new", 4, 3, 1)
    zero = written.history(0)
    assert zero["size"].tolist() == [4, 3, 2]
    assert zero["left"].tolist() == [0, 1, 0]
    assert zero["removed"].tolist() == [0, 0, 1]
    assert written.history(1, level=2)["size"].tolist() == [6, 7, 8]
    with pytest.raises(ValueError, match="no release has a cluster 9 at level 3"):
        written.history(9, level=3)


def test_rows_that_joined_clusters_add_up_to_the_moves(written):
    for release in list(written)[1:]:
        here = written.clusters()[written.clusters()["release"] == release.number]
        for level in release.levels["level"]:
            n_moves = np.count_nonzero(release.moves["level"] == level)
            assert here["joined"][here["level"] == level].sum() == n_moves


def test_of_tells_where_a_row_was(written):
    found = written.of("b")
    assert found[found["level"] == 3]["name"].tolist() == [0, 1, 1]
    assert set(written.of("a")["label"]) == {"week 1", "week 2"}
    with pytest.raises(ValueError, match="no release has a row with the id 'z'"):
        written.of("z")


def test_tables_become_data_frames(written):
    pandas = pytest.importorskip("pandas")
    for what, size in (("clusters", 15), ("moves", 5), ("events", 11), ("levels", 6)):
        frame = written.to_pandas(what)
        assert isinstance(frame, pandas.DataFrame)
        assert len(frame) == size, what
    with pytest.raises(ValueError, match="what must be one of"):
        written.to_pandas("rows")


def test_a_notebook_shows_the_releases(written, tmp_path):
    shown = written._repr_html_()
    assert "1 of 10 rows (10.00%) changed cluster at 2 clusters, 1 (10.00%) at 3;" in shown
    assert "Cluster 2 ended; cluster 3 is new." in shown
    assert "The budget of 20.00% binds." in shown
    assert "0 releases" in Lineage(tmp_path / "new")._repr_html_()


def test_the_picture_has_a_bar_for_each_cluster_and_a_band_for_each_flow(written):
    pytest.importorskip("matplotlib")
    from holdfast.lineage.show import lay_out

    picture = lay_out(written, 3)
    assert {(bar.release, bar.name, bar.high - bar.low) for bar in picture.bars} == {
        (r.number, name, size)
        for r in written
        for level, name, _, size, _ in r.clusters.tolist()
        if level == 3
    }
    bars = {(bar.release, bar.name): bar for bar in picture.bars}
    for band in picture.bands:
        source, target = bars[band.release, band.source], bars[band.release + 1, band.target]
        assert source.low <= band.start <= band.start + band.size <= source.high
        assert target.low <= band.end <= band.end + band.size <= target.high
    axes = written.plot(level=3)
    assert len(axes.patches) == len(picture.bars) + len(picture.bands)
    with pytest.raises(ValueError, match="level must be one of 2, 3; got 4"):
        written.plot(level=4)


def test_the_latest_release_can_be_appended_again(copied):
    before = {p.name: p.read_bytes() for p in copied.path.iterdir()}
    copied.append(build_chain()[-1], label="week 3")
    assert {p.name: p.read_bytes() for p in copied.path.iterdir()} == before
    model = build_chain()[-1]
    model.rows_[0] += 1.0
    with pytest.raises(ValueError, match="belongs to release 2, which has other clusters"):
        copied.append(model, label="week 3")


def same_again(model: FakeModel) -> FakeModel:
    return FakeModel(model.rows_, model._names, model.ids_.tolist(), model)


def test_a_week_without_changes_is_a_release(copied):
    copied.append(same_again(build_chain()[-1]), label="week 4")
    assert len(copied) == 4
    assert copied.moves(since="week 4").size == 0


def test_the_label_is_the_date_unless_given(tmp_path):
    lineage = Lineage(tmp_path / "dated")
    model = build_chain()[0]
    for day in ("2026-01-01", "2026-01-08"):
        lineage.append(model, time=f"{day}T06:00:00+00:00")
        lineage.append(model, time=f"{day}T07:00:00+00:00")
        model = same_again(model)
    assert lineage.labels == ["2026-01-01", "2026-01-08"]


def wrong_models() -> dict[str, tuple[FakeModel, str]]:
    last = build_chain()[-1]
    fresh = FakeModel(last.rows_, last._names, last.ids_.tolist())
    columns = same_again(last)
    columns.feature_names_in_ = np.array(["spend", "age"], dtype=object)
    names = {k: np.roll(found, 1) for k, found in last._names.items()}
    other = FakeModel(last.rows_, names, last.ids_.tolist())
    nameless = same_again(last)
    nameless.ids_ = None
    nameless.moves_ = nameless.moves_[:0]
    nameless.follow_.next_moves = nameless.moves_
    return {
        "fresh": (fresh, "fitted without following release 2"),
        "columns": (columns, "have different columns or scales"),
        "another chain": (same_again(other), "follows another one"),
        "ids": (nameless, "only one of the model and release 2"),
    }


@pytest.mark.parametrize("what", wrong_models())
def test_a_model_that_does_not_come_next_is_refused(copied, what):
    model, reason = wrong_models()[what]
    before = {p.name: p.read_bytes() for p in copied.path.iterdir()}
    with pytest.raises(ValueError, match=reason):
        copied.append(model, label="week 4")
    assert {p.name: p.read_bytes() for p in copied.path.iterdir()} == before


def test_a_skipped_release_is_noticed(tmp_path):
    lineage = Lineage(tmp_path / "skipped")
    first, _, third = build_chain()
    lineage.append(first)
    with pytest.raises(
        ValueError, match="as `holdfast follow LINEAGE` does, append the models in between"
    ):
        lineage.append(third, label="later")


@pytest.mark.parametrize("label", ["", "  ", "week 1"])
def test_a_label_is_new_text(copied, label):
    with pytest.raises(ValueError, match="label"):
        copied.append(same_again(build_chain()[-1]), label=label)
    assert len(Lineage(copied.path)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"label": "\ud800"},
            "label must be at most 200 characters of valid Unicode on one line; got 1 ",
        ),
        ({"label": "a\x1b[31m"}, r"label must be .* on one line; got 6 characters: 'a\\x1b"),
        ({"label": "x" * 201}, "label must be at most 200 characters .* got 201"),
        ({"time": ""}, "time must be ISO 8601, .* got ''"),
        ({"time": 5}, "time must be ISO 8601, .* got 5"),
        ({"levels": [2.5]}, r"levels must be an integer of at least 1; got 2\.5"),
        ({"levels": []}, "levels must have at least one number of clusters; got none"),
        ({"levels": 3}, "levels must be a list of numbers of clusters; got 3"),
        ({"staleness": 1}, r"staleness must be what model\.staleness\(\) returns; got 1"),
        ({"model": HierarchicalKMedian()}, "model must be a fitted HierarchicalKMedian; got Hier"),
        ({"model": None}, "model must be a fitted HierarchicalKMedian; got None"),
        ({"model": HierarchicalKMedian(2).fit(csr_matrix(np.eye(4)))}, "needs dense rows"),
    ],
)
def test_bad_arguments_write_nothing(tmp_path, options, message):
    lineage = Lineage(tmp_path / "new")
    with pytest.raises((TypeError, ValueError), match=message):
        lineage.append(**({"model": build_chain()[0]} | options))
    assert list(lineage.path.iterdir() if lineage.path.exists() else []) == []


def test_a_model_of_partial_fit_can_be_the_first(tmp_path):
    rows = np.arange(12.0).reshape(6, 2)
    lineage = Lineage(tmp_path / "new")
    assert lineage.append(HierarchicalKMedian(2).partial_fit(rows)).n_rows == 6


def test_a_missing_release_is_named(copied):
    (copied.path / "000001.release").unlink()
    with pytest.raises(DamagedFile, match=r"000001\.release .* this release is missing"):
        Lineage(copied.path)


def test_a_release_of_another_segmentation_is_named(copied, tmp_path):
    other = Lineage(tmp_path / "other")
    model = build_chain()[0]
    model.rows_ += 1.0
    other.append(model, label="week 1")
    other.append(same_again(model), label="week 2")
    shutil.copy(other.path / "000001.release", copied.path / "000003.release")
    with pytest.raises(DamagedFile, match="it is release 1. Remove it if it is a copy"):
        Lineage(copied.path)
    shutil.copy(other.path / "000001.release", copied.path / "000001.release")
    with pytest.raises(DamagedFile, match="of another segmentation.* Restore the one of the two"):
        Lineage(copied.path)


@pytest.mark.parametrize("where", [0, 100, 3000, -1])
def test_a_truncated_release_is_named(copied, where):
    path = copied.path / "000001.release"
    path.write_bytes(path.read_bytes()[:where])
    with pytest.raises(DamagedFile, match=r"000001\.release"):
        Lineage(copied.path)


def test_a_changed_byte_is_found_and_the_others_are_intact(copied):
    path = copied.path / "000001.release"
    data = bytearray(path.read_bytes())
    data[-400] ^= 1
    for place in range(len(data) // 2, len(data), 997):
        changed = bytearray(path.read_bytes())
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(DamagedFile, match=r"000001\.release"):
            Lineage(copied.path)[1]
        assert Lineage(copied.path)[2].label == "week 3"
        changed[place] ^= 1
        path.write_bytes(changed)
    assert Lineage(copied.path)[1].label == "week 2"


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a release")
    with pytest.raises(DamagedFile, match=r"it contains notes\.txt and no releases"):
        Lineage(tmp_path)
    with pytest.raises(DamagedFile, match="it is not a folder of releases"):
        Lineage(tmp_path / "notes.txt")


def test_a_folder_called_like_a_release_is_named(tmp_path):
    (tmp_path / "000000.release").mkdir()
    with pytest.raises(DamagedFile, match=r"000000\.release cannot be loaded: it is a folder"):
        Lineage(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are not files here")
def test_a_link_to_nothing_and_a_pipe_are_named(copied):
    path = copied.path / "000003.release"
    for make in (lambda: path.symlink_to("nothing"), lambda: os.mkfifo(path)):
        make()
        with pytest.raises(
            DamagedFile, match=r"000003\.release cannot be loaded: it is not a file"
        ):
            Lineage(copied.path)
        path.unlink()


def test_files_of_others_are_left_alone(copied):
    """A name with more digits is no release, and only what a killed process left is removed."""
    mine = [copied.path / name for name in ("0000001.release", ".notes.part")]
    stale = copied.path / f".000003.release.{uuid4().hex}.part"
    for path in (*mine, stale):
        path.write_text("text")
    again = Lineage(copied.path)
    again.append(same_again(build_chain()[-1]), label="week 4")
    assert len(Lineage(copied.path)) == 4
    assert all(path.exists() for path in mine)
    assert not stale.exists()


def test_releases_are_found_by_number_or_label(written):
    with pytest.raises(ValueError, match="no release is called 'week 9'"):
        written["week 9"]
    with pytest.raises(IndexError, match="has 3 releases; got the number 3"):
        written[3]


CRAFTED = {
    "no label": lambda metadata, arrays: metadata.pop("label"),
    "label": lambda metadata, arrays: metadata.update(label=3),
    "texts": lambda metadata, arrays: metadata.update(texts=3),
    "columns": lambda metadata, arrays: metadata.update(columns=None),
    "field": lambda metadata, arrays: metadata.update(extra=1),
    "count": lambda metadata, arrays: metadata.update(n_new="many"),
    "table": lambda metadata, arrays: arrays.pop("clusters.size"),
    "shape": lambda metadata, arrays: arrays.update(held=arrays["held"][:3]),
    "index": lambda metadata, arrays: arrays["assigned"].__setitem__(0, 999),
    "row": lambda metadata, arrays: arrays["moves.row"].__setitem__(0, -1),
    "word": lambda metadata, arrays: arrays["events.event"].__setitem__(0, 99),
    "model": lambda metadata, arrays: metadata.update(model={}),
}


@pytest.mark.parametrize("what", CRAFTED)
def test_a_crafted_release_is_refused(copied, what):
    """Its checksums are right; its content is not that of a release."""
    release = copied[1]
    metadata, arrays = release.to_archive()
    arrays = {name: array.copy() for name, array in arrays.items()}
    CRAFTED[what](metadata, arrays)
    path = copied.path.parent / "crafted" / "000000.release"
    path.parent.mkdir()
    write_archive(path, "release", metadata | {"number": 0, "previous": None}, arrays)
    with pytest.raises(DamagedFile, match=r"000000\.release"):
        Lineage(path.parent)[0]
