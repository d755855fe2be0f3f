"""Fitting in chunks equals fitting at once, whatever the chunks; what is wrong with one is named."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from holdfast import HierarchicalKMedian, fit_chunks, predict_chunks
from holdfast.rows.log import Cap

RNG = np.random.RandomState(11)
ROWS = (RNG.standard_normal((2000, 3)) + 6.0 * (np.arange(2000) % 5)[:, None]).round(3)
ROWS[::10] = ROWS[1::10]  # some rows repeat
DISTINCT, COUNTS = np.unique(ROWS, axis=0, return_counts=True)
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
TABLE = pa.table(dict(zip(NAMES, ROWS.T.copy(), strict=True)))

METHODS = pytest.mark.parametrize("method", ["tree", "medoids"])


def check_same(found: HierarchicalKMedian, expected: HierarchicalKMedian) -> None:
    for name in ("center_indices", "costs", "parent", "finest"):
        a, b = getattr(found.hierarchy_, name), getattr(expected.hierarchy_, name)
        np.testing.assert_array_equal(a, b)
    for name in ("labels_", "center_indices_", "cluster_centers_", "rows_", "row_weights_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def split(n: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.RandomState(seed)
    ends = np.sort(rng.randint(0, 2001, size=n - 1))  # some parts may be empty
    return np.split(ROWS[rng.permutation(2000)], ends)


# Laws


@METHODS
@pytest.mark.parametrize("n_chunks", [1, 7, 60])
def test_chunks_give_what_a_fit_gives(method, n_chunks):
    expected = HierarchicalKMedian(6, method=method).fit(DISTINCT, sample_weight=COUNTS)
    model = fit_chunks(HierarchicalKMedian(6, method=method), split(n_chunks, n_chunks))
    check_same(model, expected)
    np.testing.assert_array_equal(
        model.predict(ROWS), HierarchicalKMedian(6, method=method).fit(ROWS).labels_
    )
    model.forget(ROWS[:100])
    left = np.unique(ROWS[100:], axis=0, return_counts=True)
    check_same(model, HierarchicalKMedian(6, method=method).fit(left[0], sample_weight=left[1]))


@METHODS
def test_capped_chunks_give_the_same_whatever_they_are(method):
    models = [
        fit_chunks(
            HierarchicalKMedian(6, method=method), split(n, n), max_cells=300, chunk_rows=size
        )
        for n, size in ((1, 10**6), (5, 10**6), (40, 10**6), (3, 17))
    ]
    for model in models[1:]:
        check_same(model, models[0])
    assert 100 < len(models[0].rows_) <= 300
    assert models[0].row_weights_.sum() == 2000


@pytest.mark.parametrize("max_cells", [1, 2, 3, 10, 300])
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_a_cell_are_labelled_alike(max_cells, seed):
    """Every center owns whole cells, so that labels are those of the cells that were clustered."""
    model = HierarchicalKMedian(1, method="tree", random_state=seed)
    rows = ROWS[:, : 1 + seed % 3] * 10.0 ** (seed - 3)
    fit_chunks(model, [rows], max_cells=max_cells, chunk_rows=100)
    cell = Cap(max_cells, seed).place(rows.shape[1])
    exponent = model._held.extent.exponent
    numbers = [tuple(row) for row in cell.cell_numbers(model.rows_, exponent).tolist()]
    row_of = {number: i for i, number in enumerate(numbers)}
    where = [row_of[tuple(row)] for row in cell.cell_numbers(rows, exponent).tolist()]
    hierarchy = model.hierarchy_
    for k in {1, 2, 5, hierarchy.n_centers} & set(range(hierarchy.n_centers + 1)):
        np.testing.assert_array_equal(hierarchy.predict(rows, k), hierarchy.cut(k)[where])


def test_root_of_a_capped_fit_is_that_of_all_rows():
    model = fit_chunks(HierarchicalKMedian(5, method="tree"), [ROWS], max_cells=500)
    exact = HierarchicalKMedian(5, method="tree").fit(ROWS)
    assert model.hierarchy_.locator.grid.root_exponent == (
        exact.hierarchy_.locator.grid.root_exponent
    )
    # Cells stand for rows: costs differ by less than the rows are apart in a cell.
    assert model.hierarchy_.costs[:5] == pytest.approx(exact.hierarchy_.costs[:5], rel=0.3)


def test_coarse_models_take_rows_but_do_not_give_them_back():
    whole = fit_chunks(HierarchicalKMedian(5, method="tree"), [ROWS], max_cells=200)
    model = fit_chunks(HierarchicalKMedian(5, method="tree"), [ROWS[:1500]], max_cells=200)
    model.partial_fit(ROWS[1500:])
    check_same(model, whole)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="max_cells=200"):
        model.forget(ROWS[:1])
    assert vars(model) == before


@METHODS
@pytest.mark.parametrize("k", [1, 2, 9, 40])
def test_locator_of_the_first_centers_labels_their_cut(method, k):
    hierarchy = HierarchicalKMedian(2, method=method).fit(ROWS).hierarchy_
    rows = np.random.RandomState(0).uniform(-20.0, 50.0, size=(500, 3))
    for X in (rows, ROWS):
        np.testing.assert_array_equal(hierarchy.locator.first(k).finest(X), hierarchy.predict(X, k))


# What a chunk can be


def write(kind: str, path: Path, table: pa.Table = TABLE, part: int = 123) -> Path:
    if kind == "parquet":
        pa.parquet.write_table(table, path, row_group_size=part)
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    elif kind == "feather":
        pa.feather.write_feather(table, path, chunksize=part)
    elif kind == "arrow":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=part)
    return path


KINDS = ["parquet", "csv", "feather", "arrow"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", ["labels.parquet", "labels.csv", "labels.arrow"])
def test_files_are_read_and_labels_written_as_streams(kind, labels, tmp_path):
    path = write(kind, tmp_path / f"rows.{kind}")
    model = HierarchicalKMedian(6, method="tree")
    fit_chunks(model, [str(path), path], labels=tmp_path / labels, chunk_rows=100)
    check_same(model, HierarchicalKMedian(6, method="tree").fit(DISTINCT, sample_weight=2 * COUNTS))
    assert list(model.feature_names_in_) == NAMES
    read = {"parquet": pd.read_parquet, "csv": pd.read_csv, "arrow": pd.read_feather}
    written = read[labels.partition(".")[2]](tmp_path / labels)
    expected = model.predict(FRAME)
    np.testing.assert_array_equal(written["label"], np.tile(expected, 2))
    found = np.concatenate(list(predict_chunks(model, path, chunk_rows=64)))
    np.testing.assert_array_equal(found, expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, labels])


@pytest.mark.parametrize(
    "batches",
    [
        [ROWS[:999], ROWS[999:]],
        (ROWS[i::3] for i in range(3)),
        lambda: iter([ROWS]),
        [FRAME],
        [pl.DataFrame(ROWS, schema=NAMES)],
        [TABLE],
        TABLE.to_batches(max_chunksize=77),
        [ROWS.tolist()],
    ],
    ids=["list", "iterator", "function", "pandas", "polars", "table", "batches", "lists"],
)
def test_kinds_of_chunks(batches):
    model = fit_chunks(HierarchicalKMedian(6, method="tree"), batches)
    check_same(model, HierarchicalKMedian(6, method="tree").fit(DISTINCT, sample_weight=COUNTS))


def test_columns_are_chosen(tmp_path):
    path = write("csv", tmp_path / "rows.csv")
    path.write_text(path.read_text().replace('"a"', '"name"', 1))
    table = TABLE.append_column("word", pa.array(["x"] * 2000))
    expected = HierarchicalKMedian(6, method="tree").fit(*(np.unique(ROWS[:, [2, 1]], axis=0),))
    for batches in ([path], [table], [FRAME]):
        model = fit_chunks(HierarchicalKMedian(6, method="tree"), batches, columns=["c", "b"])
        assert list(model.feature_names_in_) == ["c", "b"]
        np.testing.assert_array_equal(model.rows_, expected.rows_)


# Weights

WEIGHTS = np.arange(2000) % 4


@METHODS
@pytest.mark.parametrize("max_cells", [10**6, 300])
def test_weights_equal_repeated_rows(method, max_cells, tmp_path):
    expected = fit_chunks(
        HierarchicalKMedian(6, method=method),
        [np.repeat(ROWS, WEIGHTS, axis=0)],
        max_cells=max_cells,
    )
    pairs = [(ROWS[i : i + 300], WEIGHTS[i : i + 300]) for i in range(0, 2000, 300)]
    path = tmp_path / "rows.csv"
    frame = FRAME.assign(times=WEIGHTS)
    frame.to_csv(path, index=False)
    for batches, options in (
        (pairs, {}),
        ([frame[:700], pl.DataFrame(frame[700:])], {"sample_weight": "times"}),
        (path, {"sample_weight": "times"}),
        (path, {"sample_weight": "times", "columns": NAMES}),
    ):
        model = HierarchicalKMedian(6, method=method)
        fit_chunks(model, batches, max_cells=max_cells, chunk_rows=170, **options)
        check_same(model, expected)


def test_every_row_gets_a_label_whatever_its_weight(tmp_path):
    labels = tmp_path / "labels.csv"
    model = fit_chunks(HierarchicalKMedian(6, method="tree"), [(ROWS, WEIGHTS)], labels=labels)
    np.testing.assert_array_equal(pd.read_csv(labels)["label"], model.predict(ROWS))


def test_wrong_weights_are_named(tmp_path):
    half = (ROWS, WEIGHTS / 2)
    check_refused([(ROWS, WEIGHTS), half], "chunk 1: .*must be integers", tmp_path)
    check_refused([(ROWS, WEIGHTS[:-1])], "chunk 0: must have one weight for each", tmp_path)
    check_refused([(ROWS, 0 * WEIGHTS)], "no rows", tmp_path)
    check_refused([ROWS], "chunk 0: .*'w' of weights", tmp_path, sample_weight="w")
    check_refused([FRAME], "chunk 0: .*'w' of weights", tmp_path, sample_weight="w")
    both = {"error": TypeError, "sample_weight": "w"}
    check_refused([(FRAME, WEIGHTS)], "chunk 0: .*one way", tmp_path, **both)
    check_refused([ROWS], "name of a column", tmp_path, TypeError, sample_weight=WEIGHTS)


# What is wrong is named, nothing is written, and the estimator stays as it was


def check_refused(batches, message, tmp_path, error=ValueError, **options):
    labels = tmp_path / "labels.parquet"
    before_files = sorted(tmp_path.iterdir())
    model = HierarchicalKMedian(6, method="tree").fit(ROWS[:50])
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        fit_chunks(model, batches, labels=labels, **options)
    assert vars(model) == before
    assert all(vars(model)[name] is before[name] for name in before)
    assert sorted(tmp_path.iterdir()) == before_files


def chunks_with(number: int, chunk) -> list:
    parts = [part.copy() for part in np.array_split(ROWS, 40)]
    parts[number] = chunk(parts[number])
    return parts


def with_nan(part: np.ndarray) -> np.ndarray:
    part[13, 1] = np.nan
    return part


BAD_CHUNKS = {
    "NaN": (with_nan, "chunk 37: must be finite; row 13"),
    "other columns": (lambda part: part[:, :2], "chunk 37: must have 3 columns.*got 2"),
    "named columns": (lambda part: pd.DataFrame(part), "chunk 37: must have 3 columns"),
    "another dtype": (lambda part: part.astype(np.float32), "chunk 37.*float64; got float32"),
    "words": (lambda part: part.astype(str), "chunk 37: columns must be numbers"),
    "one dimension": (lambda part: part[0], r"chunk 37: must have rows.*shape \(3,\)"),
}


@pytest.mark.parametrize("case", BAD_CHUNKS)
def test_bad_chunk_is_named(case, tmp_path):
    change, message = BAD_CHUNKS[case]
    check_refused(chunks_with(37, change), message, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_row_of_a_file_is_named(kind, tmp_path):
    path = tmp_path / f"rows.{kind}"
    frame = FRAME.assign(b=FRAME["b"].mask(FRAME.index == 37 * 40 + 13))
    write(kind, path, pa.Table.from_pandas(frame), part=40)
    message = f"rows.{kind}, chunk 37: must be finite; row 13"
    check_refused([path], message, tmp_path, chunk_rows=40)


def test_other_names_of_columns_are_named(tmp_path):
    other = FRAME.rename(columns={"b": "beta"})
    check_refused([FRAME, other], r"chunk 1: .*\['a', 'b', 'c'\].*'beta'", tmp_path)
    mixed = FRAME.astype({"b": np.float32})
    check_refused([FRAME, mixed], "chunk 1.*dtypes.*float32", tmp_path)
    words = FRAME.assign(b="x")
    check_refused([FRAME, words], "chunk 1.*column 'b'", tmp_path)


def test_empty_chunks_take_no_part(tmp_path):
    parts = [ROWS[:0].astype(object).astype(int), ROWS[:700], ROWS[:0], ROWS[700:], ROWS[:0]]
    path = tmp_path / "labels.parquet"
    model = fit_chunks(HierarchicalKMedian(6, method="tree"), parts, labels=path)
    check_same(model, HierarchicalKMedian(6, method="tree").fit(DISTINCT, sample_weight=COUNTS))
    assert len(pd.read_parquet(path)) == 2000
    path.unlink()
    check_refused([ROWS[:0]], "no rows", tmp_path)
    check_refused([], "no chunks", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_file_that_ends_in_the_middle(kind, share, tmp_path):
    path = write(kind, tmp_path / f"rows.{kind}")
    content = path.read_bytes()
    cut = content[: int(share * len(content))]
    if kind == "csv":  # in the middle of a line, or there is nothing to notice
        cut = cut[: cut.rfind(b",")] if cut else cut
    path.write_bytes(cut)
    check_refused([path], f"rows.{kind}", tmp_path)


def test_other_bad_arguments(tmp_path):
    (tmp_path / "rows.xls").write_bytes(b"\xd0\xcf\x11\xe0\0\0")
    check_refused([tmp_path / "rows.xls"], "not plain text", tmp_path)
    check_refused([tmp_path / "no.csv"], "there is no file", tmp_path, FileNotFoundError)
    check_refused(ROWS, "Put a single array in a list", tmp_path, TypeError)
    check_refused(3, "got int", tmp_path, TypeError)
    check_refused(iter([ROWS]), "second pass", tmp_path, TypeError)
    check_refused([ROWS], "chunk_rows", tmp_path, chunk_rows=0)
    check_refused([FRAME], r"must have the columns \['z'\]", tmp_path, columns=["z"])
    path = write("parquet", tmp_path / "rows.parquet")
    check_refused([path], "no column 'z'", tmp_path, columns=["z"])
    for value in (0, 2.5, True, None):
        check_refused([ROWS], "max_cells must be an integer", tmp_path, max_cells=value)
    passes = [[ROWS], [ROWS[:-1]]]
    check_refused(lambda: passes.pop(0), "second pass gave 1999 rows", tmp_path)
    with pytest.raises(ValueError, match="labels must end in"):
        fit_chunks(HierarchicalKMedian(method="tree"), [ROWS], labels=tmp_path / "labels.txt")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        fit_chunks(
            HierarchicalKMedian(method="tree"), [ROWS], labels=tmp_path / "no" / "labels.csv"
        )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("größe,b\n1,2\n".encode("latin-1"), "Convert it to UTF-8, or add --encoding latin-1"),
        ("a,b\n1,2\n".encode("utf-16"), "convert it to UTF-8, or add --encoding utf-16"),
    ],
)
def test_advice_on_text_names_no_parameter_that_is_not_there(content, told, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    check_refused([path], f"rows.csv .*{told} .*to a command", tmp_path)


def test_rows_that_parameters_do_not_allow_are_named(tmp_path):
    model = HierarchicalKMedian(3, method="medoids", metric="cosine")
    with pytest.raises(ValueError, match="chunk 1: Row 4 .*cosine"):
        fit_chunks(model, [ROWS + 50.0, np.concatenate((ROWS[:4] + 50.0, np.zeros((1, 3))))])


def test_predict_chunks_checks_columns():
    model = fit_chunks(HierarchicalKMedian(3, method="tree"), [FRAME])
    with pytest.raises(ValueError, match=r"chunk 0.*\['a', 'b', 'c'\]"):
        list(predict_chunks(model, [FRAME[["b", "a", "c"]]]))
    with pytest.raises(ValueError, match="chunk 0.*3 columns"):
        list(predict_chunks(model, [ROWS[:, :2]]))
