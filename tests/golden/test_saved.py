"""Files written by earlier versions load, and answer as they did."""

import pytest
from golden.saved import FOLDER, SAVED, answers_of, stored_answers

import holdfast
from holdfast.storage.archive import read_archive, write_archive
from holdfast.storage.hierarchy import hierarchy_to_arrays


def test_every_file_has_its_answers():
    assert sorted(path.stem for path in FOLDER.glob("*.holdfast")) == sorted(SAVED)
    assert sorted(stored_answers()) == sorted(SAVED)


@pytest.mark.parametrize("name", SAVED)
def test_file_gives_the_stored_answers(name: str):
    found = answers_of(holdfast.load(FOLDER / f"{name}.holdfast").hierarchy_, SAVED[name])
    stored = stored_answers()[name]
    assert found.keys() == stored.keys()
    for part in stored:
        assert found[part] == stored[part], part


@pytest.mark.parametrize("name", SAVED)
def test_writing_it_today_gives_the_same_content(name: str, tmp_path):
    """Whatever a fit would choose today: that may change, and is for test_golden to notice."""
    hierarchy = holdfast.load(FOLDER / f"{name}.holdfast").hierarchy_
    write_archive(tmp_path / "today", "hierarchy", *hierarchy_to_arrays(hierarchy))
    then, now = read_archive(FOLDER / f"{name}.holdfast"), read_archive(tmp_path / "today")
    assert (then.kind, then.version, then.metadata) == (now.kind, now.version, now.metadata)
    assert {key: value.tobytes() for key, value in then.arrays.items()} == {
        key: value.tobytes() for key, value in now.arrays.items()
    }


def test_both_locators_and_all_metrics_are_there():
    metadata = [read_archive(path).metadata for path in FOLDER.glob("*.holdfast")]
    assert {found["locator"] for found in metadata} == {"cells", "splits"}
    metrics = {found["metric"] for found in metadata if found["locator"] == "splits"}
    assert metrics == {"euclidean", "manhattan", "cosine"}
