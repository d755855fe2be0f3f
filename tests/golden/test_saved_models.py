"""Models written by earlier versions load, answer as they did, and are written as today's."""

import numpy as np
import pandas as pd
import pytest
from golden.saved_models import FOLDER, MODELS, answers_of_model, stored_answers

import holdfast


def test_every_file_has_its_answers():
    assert sorted(path.stem for path in FOLDER.glob("*.holdfast")) == sorted(MODELS)
    assert sorted(stored_answers()) == sorted(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_file_gives_the_stored_answers(name: str):
    found = answers_of_model(holdfast.load(FOLDER / f"{name}.holdfast"), MODELS[name])
    assert found == stored_answers()[name]


@pytest.mark.parametrize("name", MODELS)
def test_saving_it_today_keeps_all_of_it(name: str, tmp_path):
    model = holdfast.load(FOLDER / f"{name}.holdfast")
    model.save(tmp_path / "today")
    again = holdfast.load(tmp_path / "today")
    assert answers_of_model(again, MODELS[name]) == stored_answers()[name]


def test_old_model_is_updated_like_a_fit():
    model = holdfast.load(FOLDER / "model-tree-1.holdfast")
    prepared, scale = model.rows_, np.array(model.table_.preparation.scale)
    raw = pd.DataFrame(prepared * scale, columns=model.feature_names_in_)
    ids = np.array(model.ids_)
    model.forget(ids=ids[:3]).partial_fit(raw[:2], ids=ids[:2])
    expected = holdfast.HierarchicalKMedian(
        5, method="tree", epsilon=np.inf, random_state=2**64 - 1
    ).fit(np.concatenate((prepared[3:], prepared[:2])))
    n = expected.hierarchy_.n_centers
    np.testing.assert_array_equal(
        model.predict(raw[3:]), expected.hierarchy_.predict(prepared[3:], 5)
    )
    assert np.unique(model.rows_, axis=0).shape[0] <= n
