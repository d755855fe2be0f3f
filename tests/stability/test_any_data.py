"""Tables, sparse rows, texts and distances; whole pipelines; clusterers that choose k."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from scipy.sparse import csr_matrix
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast import (
    HierarchicalKMedian,
    average_sensitivity,
    cluster_stability,
    clustering_distance,
    row_influence,
)
from holdfast.clusterers import METHODS
from holdfast.stability import Add, Bootstrap, Jitter, SensitivityResult
from holdfast.stability.measures import encode_labels, mutual_information, overlap_table
from holdfast_paper import draws

rng = np.random.default_rng(0)
ROWS = draws.normal(rng, (60, 3)) + 4.0 * rng.integers(3, size=(60, 1))
FEW = {"trials": 6, "repeats": 2, "n_jobs": 1}


def same(a: SensitivityResult, b: SensitivityResult) -> None:
    np.testing.assert_array_equal(a.matched, b.matched)


@pytest.mark.parametrize(
    "clusterer", [KMeans(n_init=1), METHODS["ward"].build(), HierarchicalKMedian()]
)
def test_tables_give_what_their_values_give(clusterer):
    plain = average_sensitivity(clusterer, ROWS, 3, **FEW)
    names = ["a", "b", "c"]
    for table in (pd.DataFrame(ROWS, columns=names), pl.DataFrame(ROWS, schema=names)):
        same(average_sensitivity(clusterer, table, 3, **FEW), plain)


def test_sparse_rows_give_what_dense_ones_give():
    rows = np.where(ROWS > 4.0, ROWS, 0.0)
    clusterer = KMeans(n_init=1, init="random")
    found = average_sensitivity(clusterer, csr_matrix(rows), 3, **FEW)
    same(found, average_sensitivity(clusterer, rows, 3, **FEW))


def test_distances_give_what_their_rows_give():
    distances = squareform(pdist(ROWS))
    for change in ({"delete": 3}, {"perturb": [Bootstrap(), Add(2)]}):
        given = average_sensitivity(
            AgglomerativeClustering(metric="precomputed", linkage="average"),
            distances, 4, **change, **FEW,
        )  # fmt: skip
        rows = average_sensitivity(
            AgglomerativeClustering(linkage="average"), ROWS, 4, **change, **FEW
        )
        same(given, rows)

    given = average_sensitivity(METHODS["average"].by_distance(), distances, 4, **FEW)
    same(given, average_sensitivity(METHODS["average"].build(), ROWS, 4, **FEW))

    def nearest(D, k, seed):
        return AgglomerativeClustering(k, metric="precomputed", linkage="single").fit_predict(D)

    told = average_sensitivity(nearest, distances, 4, pairwise=True, **FEW)
    rows = average_sensitivity(AgglomerativeClustering(linkage="single"), ROWS, 4, **FEW)
    np.testing.assert_array_equal(told.matched[..., :1], rows.matched)
    with pytest.raises(ValueError, match="square matrix of distances"):
        average_sensitivity(DBSCAN(metric="precomputed"), distances[:, :5], **FEW)
    assert (
        row_influence(nearest, distances, 2, trials=3, n_jobs=1, pairwise=True).influence.size == 60
    )


def test_mixed_tables_and_texts_go_through_pipelines():
    table = pd.DataFrame({"size": ROWS[:, 0], "kind": np.where(ROWS[:, 1] > 4.0, "x", "y")})
    mixed = make_pipeline(
        make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["kind"])),
        KMeans(n_init=1),
    )
    assert average_sensitivity(mixed, table, 2, **FEW).mean.item() < 0.5
    animals = ["cat dog", "dog wolf", "cat lion", "lion wolf dog"]
    ships = ["boat sail", "sail mast boat", "mast boat", "boat sail sea"]
    words = make_pipeline(TfidfVectorizer(), TruncatedSVD(2), KMeans(n_init=1))
    result = average_sensitivity(words, 5 * (animals + ships), 2, delete=0.1, **FEW)
    assert np.isfinite(result.mean.item())


def docstrings() -> list[str]:
    """Real texts that come with a package."""
    found = (inspect.getdoc(getattr(scipy.stats, name)) for name in sorted(scipy.stats.__all__))
    return [text for text in found if text and len(text) > 500]


def test_real_texts_go_through_pipelines():
    """Words, their weights and the components are fitted again, or held, in every fit."""
    texts = docstrings()[::2]
    assert len(texts) > 50
    words = TfidfVectorizer(stop_words="english", min_df=2)
    pipeline = make_pipeline(words, TruncatedSVD(8), KMeans(n_init=1))
    result = average_sensitivity(pipeline, texts, 4, delete=0.05, by_stage=True, **FEW)
    assert list(result.stages) == ["tfidfvectorizer", "truncatedsvd"]
    assert 0.0 < result.mean.item() < 1.0
    for given in (np.array(texts, dtype=object), pd.Series(texts, index=range(7, 7 + len(texts)))):
        same(result, average_sensitivity(clone(pipeline), given, 4, delete=0.05, **FEW))


def test_sparse_rows_of_texts_reach_means():
    texts = docstrings()[::2]
    words = TfidfVectorizer(stop_words="english", min_df=2)
    model = HierarchicalKMedian(metric="cosine")
    rows = words.fit_transform(texts)
    found = average_sensitivity(model, rows, 4, delete=0.05, **FEW)
    same(found, average_sensitivity(model, rows.toarray(), 4, delete=0.05, **FEW))
    assert average_sensitivity(make_pipeline(words, model), texts, 4, **FEW).mean.item() < 1.0


def test_a_held_stage_is_not_fitted_again():
    """One far row sets the scale of a column; only fitting the scaler again moves the others."""
    X = np.column_stack((np.arange(40.0), 50.0 * (np.arange(40) % 2)))
    X[0, 1] = 5_000.0

    pipeline = make_pipeline(StandardScaler(), PCA(2), AgglomerativeClustering())
    result = average_sensitivity(
        pipeline, X, 3, trials="all", n_jobs=1, measure="moved", by_stage=True
    )
    assert list(result.stages) == ["standardscaler", "pca"]
    held = result.stages["standardscaler"]
    assert held.mean.item() < result.mean.item()
    same(
        held,
        average_sensitivity(
            make_pipeline(PCA(2), AgglomerativeClustering()),
            StandardScaler().fit_transform(X), 3, trials="all", n_jobs=1,
        ),
    )  # fmt: skip
    again = SensitivityResult.from_json(result.to_json())
    assert again.stages["pca"].mean.item() == result.stages["pca"].mean.item()
    assert "standardscaler and all steps before it held" in repr(result)
    with pytest.raises(TypeError, match="by_stage needs a scikit-learn Pipeline; got KMeans"):
        average_sensitivity(KMeans(), X, 3, by_stage=True, **FEW)


@pytest.mark.parametrize(
    "clusterer", [HDBSCAN(copy=True), OPTICS(min_samples=4), DBSCAN(1.0)], ids=lambda c: type(c).__name__
)  # fmt: skip
def test_clusterers_that_choose_k(clusterer):
    result = average_sensitivity(clusterer, ROWS, **FEW)
    assert result.n_clusters == (0,)
    assert 0.0 <= result.mean.item() <= 1.0
    assert (result.found == np.round(result.found)).all()
    assert "k=chosen" in repr(result)
    frame = result.to_frame()
    assert 0.0 <= frame["information"].item() <= 1.0
    with pytest.raises(ValueError, match="KMeans does not. Pass n_clusters"):
        average_sensitivity(KMeans(), ROWS, **FEW)


def test_functions_that_choose_k_are_told_so():
    asked = []

    def chooses(X, k, seed):
        asked.append(k)
        return np.where(X[:, 0] > 4.0, 1, -1)

    assert average_sensitivity(chooses, ROWS, **FEW).mean.item() == 0.0
    assert set(asked) == {None}


def test_noise_is_matched_with_noise_only():
    # As a cluster of its own, noise would be matched with cluster 5 and nothing would move.
    assert clustering_distance([-1, -1, 0, 0], [5, 5, 7, 7]) == 0.5
    assert clustering_distance([-1, -1, 0, 0], [-1, -1, 7, 7]) == 0.0
    assert clustering_distance([0, 0, 0, 0], [-1, -1, -1, 3]) == 0.75
    assert clustering_distance([-1, -1], [-1, -1]) == 0.0
    assert clustering_distance([-1, 0, 1], [1, 0, -1]) == pytest.approx(2 / 3)


def test_cluster_stability_leaves_noise_out():
    found = cluster_stability(DBSCAN(1.2), ROWS, None, trials=5, n_jobs=1)
    labels = DBSCAN(1.2).fit_predict(ROWS)
    assert (labels == -1).any()
    np.testing.assert_array_equal(found.labels, labels)
    assert found.jaccard.size == found.sizes.size == labels.max() + 1


def test_mutual_information_is_scikit_learns():
    for seed in range(20):
        draw = np.random.default_rng(seed)
        a, b = draw.integers(draw.integers(1, 5), size=(2, 30))
        table = overlap_table(encode_labels(a), encode_labels(b))
        assert mutual_information(table) == pytest.approx(
            normalized_mutual_info_score(a, b), abs=1e-12
        )


def test_consensus_counts_pairs():
    result = average_sensitivity(
        KMeans(n_init=1), ROWS[:20], [2, 3], delete=[2], keep_labels=True, **FEW
    )
    assert result.labels.shape == (1, 2, 12, 20)
    matrix = result.consensus(3).matrix
    for i, j in [(0, 1), (2, 7), (11, 19)]:
        fits = [fit for fit in result.labels[0, 1] if fit[i] > -2 and fit[j] > -2]
        assert matrix[i, j] == np.mean([fit[i] == fit[j] for fit in fits])
    assert (np.diag(matrix) == 1.0).all()
    assert (result.labels == -2).sum() == 2 * 12 * 2  # two rows less in each fit and cut
    noise = average_sensitivity(
        lambda X, k, s: np.full(len(X), -1), ROWS[:9], keep_labels=True, **FEW
    )
    assert noise.consensus().matrix.sum() == 9.0
    with pytest.raises(ValueError, match="keep_labels=True"):
        average_sensitivity(KMeans(n_init=1), ROWS, 2, **FEW).consensus()


def test_consensus_is_drawn_in_blocks():
    result = average_sensitivity(METHODS["ward"].build(), ROWS, 3, keep_labels=True, **FEW)
    consensus = result.consensus()
    axes = consensus.plot()
    drawn = np.asarray(axes.images[0].get_array())
    assert (np.abs(np.diff(drawn, axis=0)).sum(axis=1) > 0.5 * 60 / 3).sum() <= 6
    assert "60 rows" in repr(consensus)


def test_what_cannot_be_selected_is_refused():
    table = pd.DataFrame({"a": ["x", "y", "z", "x"]})
    with pytest.raises(ValueError, match="Jitter changes values and needs an array"):
        average_sensitivity(
            make_pipeline(OneHotEncoder(), KMeans()), table, 2, perturb=Jitter(), **FEW
        )
    with pytest.raises(ValueError, match="at least 2 rows"):
        average_sensitivity(make_pipeline(TfidfVectorizer(), KMeans()), ["one"], 1, **FEW)
    with pytest.raises(ValueError, match="keep_labels needs"):
        average_sensitivity(
            METHODS["ward"].build(), ROWS, 2, delete=1, perturb=Add(1), keep_labels=True, **FEW
        )


def test_checkpoints_tell_tables_apart(tmp_path):
    table = pd.DataFrame({"kind": ["x", "y", "z", "x"] * 4})
    pipeline = make_pipeline(OneHotEncoder(), KMeans(n_init=1))
    first = average_sensitivity(pipeline, table, 2, checkpoint=tmp_path, **FEW)
    same(average_sensitivity(pipeline, table, 2, checkpoint=tmp_path, **FEW), first)
    with pytest.raises(ValueError, match="belongs to another run"):
        average_sensitivity(pipeline, table[::-1], 2, checkpoint=tmp_path, **FEW)
