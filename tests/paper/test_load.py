"""The paper's data sets: the right rows, prepared as listed, or a clear refusal."""

import csv
import os
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal

from holdfast_paper.datasets import (
    DATA_VARIABLE,
    DATASETS,
    PAPER_DATASETS,
    DatasetNotAvailable,
    load_dataset,
    prepare_dataset,
)

OFFLINE = ("iris", "wine", "diabetes", "wdbc", "digits")
# Rows and columns after the paper's preparation, and raw.
SHAPES = {
    "iris": ((149, 4), (150, 4)),
    "wine": ((178, 13), (178, 13)),
    "wholesale": ((440, 3), (440, 6)),
    "diabetes": ((442, 3), (442, 10)),
    "wdbc": ((569, 3), (569, 30)),
    "digits": ((1797, 3), (1797, 64)),
    "yeast": ((1453, 8), (1484, 8)),
    "yeast_mulan": ((2417, 3), (2417, 103)),
}


def folder_with(name: str) -> Path:
    """The folder of extra data sets; tests that need it say so where it is not there."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        pytest.skip(f"{name}.csv was not found: {DATA_VARIABLE} names no folder")
    return Path(folder)


@pytest.mark.parametrize("name", DATASETS)
def test_shapes_are_those_of_the_table(name):
    folder = None if name in OFFLINE else folder_with(name)
    raw = load_dataset(name, prepared=False, data_dir=folder, download=False)
    prepared = load_dataset(name, data_dir=folder, download=False)
    assert (prepared.X.shape, raw.X.shape) == SHAPES[name]
    if raw.target is not None:
        assert raw.target.shape == raw.X.shape[:1]
        assert prepared.target.shape == prepared.X.shape[:1]
    assert not raw.X.flags.writeable
    assert not prepared.X.flags.writeable


@pytest.mark.parametrize("name", OFFLINE)
def test_prepared_rows_are_standardised_or_principal_components(name):
    raw, X = load_dataset(name, prepared=False), load_dataset(name).X
    assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    if X.shape[1] == raw.X.shape[1]:
        assert_allclose(X.std(axis=0), 1.0)
        return
    # By hand: projections on the leading eigenvectors of the correlation matrix.
    spread = raw.X.std(axis=0)
    Z = (raw.X - raw.X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    _, vectors = np.linalg.eigh(Z.T @ Z)
    expected = Z @ vectors[:, ::-1][:, :3]
    assert_allclose(np.abs(X), np.abs(expected), atol=1e-8)


def test_switch_for_all_dimensions_only_leaves_out_the_projection():
    raw = load_dataset("wdbc", prepared=False)
    X = prepare_dataset(raw, reduce_dimensions=False).X
    assert X.shape == (569, 30)
    assert_allclose(X.std(axis=0), 1.0)


def test_iris_without_its_repeated_row_keeps_the_order():
    raw, prepared = load_dataset("iris", prepared=False), load_dataset("iris")
    # Rows 101 and 142 are equal.
    assert_array_equal(raw.X[101], raw.X[142])
    assert_array_equal(prepared.target, np.delete(raw.target, 142))


def test_the_seven_sets_of_the_paper():
    assert len(PAPER_DATASETS) == 7
    assert set(PAPER_DATASETS) < set(DATASETS)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"name must be one of iris, wine.*got 'irises'"):
        load_dataset("irises")


def test_missing_file_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(DatasetNotAvailable, match=r"HOLDFAST_DATA is set.*Put yeast.csv"):
        load_dataset("yeast", download=False)
    with pytest.raises(DatasetNotAvailable, match=r"yeast.csv does not exist"):
        load_dataset("yeast", data_dir=tmp_path, download=False)


def test_without_network_the_error_names_both_ways(tmp_path, monkeypatch):
    def no_network(**arguments):
        assert arguments["data_id"] == 1511
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    with pytest.raises(
        DatasetNotAvailable, match=r"does not exist; OpenML could not be read.*no route"
    ):
        load_dataset("wholesale", data_dir=tmp_path)


def test_openml_is_asked_in_words_that_it_takes(tmp_path, monkeypatch):
    asked = []

    def no_network(request, *rest):
        asked.append(request.full_url)
        raise URLError("no route to host")

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    with pytest.raises(DatasetNotAvailable, match=r"OpenML could not be read \(URLError: .*route"):
        load_dataset("wholesale", data_dir=tmp_path)
    assert "1511" in asked[0]


def test_a_file_with_other_content_is_refused(tmp_path):
    lines = ["Channel,Region,Fresh,Milk,Grocery,Frozen,Detergents_Paper,Delicassen"]
    lines += ["1,3,1,2,3,4,5,6"] * 440
    (tmp_path / "wholesale.csv").write_text("\n".join(lines))
    with pytest.raises(DatasetNotAvailable, match=r"does not hold .*SHA-256 .*unchanged copy"):
        load_dataset("wholesale", data_dir=tmp_path)
    (tmp_path / "wholesale.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DatasetNotAvailable, match=r"columns Fresh to Delicassen"):
        load_dataset("wholesale", data_dir=tmp_path)


def test_the_folder_of_the_environment_is_used(monkeypatch):
    folder = folder_with("wholesale")
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    dataset = load_dataset("wholesale", prepared=False, download=False)
    assert_array_equal(dataset.X[0], [12669, 9656, 7561, 214, 2674, 1338])
    assert_array_equal(np.bincount(dataset.target), [298, 142])
    assert str(folder) not in dataset.description


def test_openml_rows_are_found_wherever_the_columns_stand(tmp_path, monkeypatch):
    with (folder_with("wholesale") / "wholesale.csv").open(newline="") as file:
        table = np.array(list(csv.reader(file))[1:], dtype=np.float64)
    moved = np.concatenate((table[:, 2:], table[:, :2]), axis=1)
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", lambda **arguments: SimpleNamespace(data=moved)
    )
    dataset = load_dataset("wholesale", prepared=False, data_dir=tmp_path)
    assert_array_equal(dataset.X, table[:, 2:])
    moved[7, 3] += 1.0
    with pytest.raises(DatasetNotAvailable, match=r"no 6 columns with the SHA-256"):
        load_dataset("wholesale", prepared=False, data_dir=tmp_path)
