"""Models written by earlier versions load, and answer as they did."""

import pytest
from golden.saved_models import FOLDER, MODELS, answers_of_model, stored_answers

import holdfast
from holdfast.model_file import save_model
from holdfast.storage.archive import read_archive


def test_every_file_has_its_answers():
    assert sorted(path.stem for path in FOLDER.glob("*.holdfast")) == sorted(MODELS)
    assert sorted(stored_answers()) == sorted(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_file_gives_the_stored_answers(name: str):
    found = answers_of_model(holdfast.load(FOLDER / f"{name}.holdfast"), MODELS[name])
    assert found == stored_answers()[name]


@pytest.mark.parametrize("name", MODELS)
def test_writing_it_today_gives_the_same_content(name: str, tmp_path):
    save_model(tmp_path / "today", holdfast.load(FOLDER / f"{name}.holdfast"))
    then, now = read_archive(FOLDER / f"{name}.holdfast"), read_archive(tmp_path / "today")
    assert (then.kind, then.metadata) == (now.kind, now.metadata)
    assert {key: value.tobytes() for key, value in then.arrays.items()} == {
        key: value.tobytes() for key, value in now.arrays.items()
    }
