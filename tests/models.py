"""Estimators for tests: with what users choose, and what only tests and the paper ask for."""

from dataclasses import replace
from typing import Any

from holdfast import HierarchicalKMedian
from holdfast.parameters import Settings
from holdfast_paper.unshifted import UnshiftedKMedian


class FewCandidates(HierarchicalKMedian):
    """Medoids that are chosen among fewer rows than the library's own limit."""

    def __init__(
        self,
        n_clusters=8,
        *,
        max_candidates=4096,
        method="medoids",
        metric="euclidean",
        epsilon="auto",
        max_centers=None,
        random_state=0,
        verbose=False,
    ):
        super().__init__(
            n_clusters,
            method=method,
            metric=metric,
            epsilon=epsilon,
            max_centers=max_centers,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_candidates = max_candidates

    def _settings_for(self, *given: Any, **named: Any) -> Settings:
        settings = super()._settings_for(*given, **named)
        return replace(settings, max_candidates=self.max_candidates)


def build_model(n_clusters: int = 8, **parameters: Any) -> HierarchicalKMedian:
    """Build the estimator that takes these parameters; its method is the tree unless given."""
    if "max_candidates" in parameters:
        return FewCandidates(n_clusters, **parameters)
    if not parameters.pop("random_shift", True):
        return UnshiftedKMedian(n_clusters, **parameters)
    return HierarchicalKMedian(n_clusters, **{"method": "tree", **parameters})
