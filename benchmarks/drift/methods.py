"""Who follows: peers fitted again, peers that remember something, and holdfast.

A method starts on the first release and steps to each next one. After every step it has, for each
k, a name for the cluster of every row. Methods that are fitted again carry yesterday's names over
by `holdfast.match_labels`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, Protocol

import numpy as np
from costs import cost_to_means
from numpy.typing import NDArray
from planted import Release
from series import KS
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin

from holdfast import HierarchicalKMedian, match_labels
from holdfast.clusterers import METHODS as REGISTRY
from holdfast.clusterers.adapt import Clusterer

Array = NDArray[np.float64]
Labels = NDArray[np.integer]
Names = Mapping[int, Labels]

HOLDFAST = "means"
REFERENCE, WARM = "means", "kmeans_warm"
"""Costs are divided by the first one's, movement by the second one's."""
FOLLOW, GUARDED, BUDGETED = "follow", "follow_tolerance", "follow_budget"
PRICED = ("follow_0.1", FOLLOW, "follow_0.5")
BUDGET, TOLERANCE = 0.01, 0.05
RANDOM_STATE = 0
_N_INIT = 10


@dataclass(frozen=True)
class State:
    """After a step.

    Attributes
    ----------
    release : Release
    names : dict
        For each k, the name of the cluster of every row.
    memory : Any
        What the next step starts from.
    """

    release: Release
    names: Names
    memory: Any = None


class Stepper(Protocol):
    """Something that goes from release to release."""

    def start(self, release: Release) -> State:
        """Cluster the first release."""
        ...

    def step(self, state: State, release: Release) -> State:
        """Cluster the next one."""
        ...


@dataclass(frozen=True)
class Refit:
    """Fitted again each time; clusters that share most rows keep their name."""

    build: Callable[[], Clusterer]

    def start(self, release: Release) -> State:
        return State(release, self._cut(release.X))

    def step(self, state: State, release: Release) -> State:
        cuts = self._cut(release.X)
        return State(release, {k: carry_names(state, release, k, cuts[k]) for k in KS})

    def _cut(self, X: Array) -> Names:
        fitted = self.build().fit(X, RANDOM_STATE)
        return {k: np.asarray(fitted.cut(k), dtype=np.int64) for k in KS}


@dataclass(frozen=True)
class WarmKMeans:
    """k-means started from yesterday's centers."""

    def start(self, release: Release) -> State:
        return _state_of(release, {k: _fit_kmeans(release.X, k) for k in KS})

    def step(self, state: State, release: Release) -> State:
        models = {
            k: KMeans(k, init=state.memory[k].cluster_centers_, n_init=1).fit(release.X) for k in KS
        }
        return _state_of(release, models)


@dataclass(frozen=True)
class PartialFit:
    """MiniBatchKMeans, fitted once; each release is one more batch."""

    def start(self, release: Release) -> State:
        models = {
            k: MiniBatchKMeans(k, n_init=_N_INIT, random_state=RANDOM_STATE).fit(release.X)
            for k in KS
        }
        return _state_of(release, models)

    def step(self, state: State, release: Release) -> State:
        # A copy: what is tried from one state must not change it.
        from copy import deepcopy

        models = {k: deepcopy(state.memory[k]).partial_fit(release.X) for k in KS}
        return State(release, {k: models[k].predict(release.X) for k in KS}, models)


@dataclass(frozen=True)
class Frozen:
    """k-means fitted once: each row goes to the nearest center.

    With a tolerance, it is fitted again when it costs more than 1 + tolerance times a new fit, and
    the names are matched.
    """

    tolerance: float = np.inf

    def start(self, release: Release) -> State:
        models = {k: _fit_kmeans(release.X, k) for k in KS}
        labels = {k: models[k].labels_ for k in KS}
        centers = {k: dict(enumerate(models[k].cluster_centers_)) for k in KS}
        return State(release, labels, centers)

    def step(self, state: State, release: Release) -> State:
        names, memory = {}, {}
        for k, centers in state.memory.items():
            known = np.array(list(centers))
            nearest = pairwise_distances_argmin(release.X, np.stack(list(centers.values())))
            names[k], memory[k] = known[nearest], centers
            if not np.isfinite(self.tolerance):
                continue
            new = _fit_kmeans(release.X, k)
            limit = (1.0 + self.tolerance) * cost_to_means(release.X, new.labels_)
            if cost_to_means(release.X, names[k]) > limit:
                names[k] = carry_names(state, release, k, new.labels_)
                first = [int(np.flatnonzero(new.labels_ == c)[0]) for c in range(k)]
                memory[k] = dict(zip(names[k][first].tolist(), new.cluster_centers_, strict=True))
        return State(release, names, memory)


@dataclass(frozen=True)
class Follow:
    """`HierarchicalKMedian.follow`, at all levels at once, from a fit that was polished."""

    options: Mapping[str, float] = field(default_factory=dict)

    def start(self, release: Release) -> State:
        model = HierarchicalKMedian(max(KS), random_state=RANDOM_STATE)
        model = model.fit(release.X, ids=release.ids).polish(KS)
        return self._describe(release, model)

    def step(self, state: State, release: Release) -> State:
        model = state.memory.follow(release.X, ids=release.ids, levels=list(KS), **self.options)
        return self._describe(release, model)

    def _describe(self, release: Release, model: Any) -> State:
        hierarchy = model.hierarchy_
        return State(release, {k: hierarchy.names(k)[hierarchy.cut(k)] for k in KS}, model)


def carry_names(state: State, release: Release, k: int, labels: Labels) -> Labels:
    """Rename the clusters of a new fit after those of yesterday."""
    return np.asarray(
        match_labels(state.names[k], labels, reference_ids=state.release.ids, new_ids=release.ids)
    )


def _fit_kmeans(X: Array, k: int) -> KMeans:
    return KMeans(k, n_init=_N_INIT, random_state=RANDOM_STATE).fit(X)


def _state_of(release: Release, models: Mapping[int, Any]) -> State:
    return State(release, {k: models[k].labels_ for k in KS}, models)


@dataclass(frozen=True)
class Method:
    """A method under a name.

    Attributes
    ----------
    name : str
    title : str
        For tables and figures.
    look : str
        What the figure draws it as: a name of `holdfast_paper.style.LOOKS`.
    build : callable
    follows : bool
        Whether it is `HierarchicalKMedian.follow`.
    marker : str
        Instead of the look's, where several methods have the same look.
    """

    name: str
    title: str
    look: str
    build: Callable[[], Stepper]
    follows: bool = False
    marker: str = ""

    @property
    def can_run(self) -> bool:
        """Whether `follow` takes its options."""
        stepper = self.build()
        known = signature(HierarchicalKMedian.follow).parameters
        return not isinstance(stepper, Follow) or stepper.options.keys() <= known.keys()


def _refit(name: str, **parameters: Any) -> Method:
    known = REGISTRY[name]
    again = partial(Refit, partial(known.build, **parameters))
    return Method(name, f"{known.title}, fitted again", name, again)


def _follow(name: str, title: str, marker: str, **options: float) -> Method:
    build = partial(Follow, options)
    return Method(name, f"follow, {title}", HOLDFAST, build, follows=True, marker=marker)


METHODS = (
    _refit("ward"),
    _refit("kmeans", n_init=_N_INIT),
    _refit("bisecting_kmeans"),
    _refit("minibatch_kmeans"),
    Method(WARM, "k-means from yesterday's centers", "kmeans", WarmKMeans, marker="D"),
    Method(
        "minibatch_partial",
        "mini-batch k-means, partial_fit",
        "minibatch_kmeans",
        PartialFit,
        marker="^",
    ),
    Method("frozen", "k-means, frozen", "kmeans", Frozen, marker="X"),
    Method(
        "frozen_refit",
        "k-means, frozen, fitted again at 5%",
        "kmeans",
        partial(Frozen, TOLERANCE),
        marker="d",
    ),
    _refit(REFERENCE),
    _follow("follow_0.1", "price 0.1", "o", price=0.1),
    _follow(FOLLOW, "price 0.25", "o"),
    _follow("follow_0.5", "price 0.5", "o", price=0.5),
    _follow(BUDGETED, "budget 1%", "v", budget=BUDGET),
    _follow(GUARDED, "tolerance 5%", "s", tolerance=TOLERANCE),
)
"""All methods; those that follow last."""
