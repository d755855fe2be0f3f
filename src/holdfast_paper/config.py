"""TOML files -> panels: what is measured for each figure, checked before anything runs.

One file a figure. Tables named after a profile ("quick", "test") change some keys for that profile;
tables named after a series ("fixed_tree", "earth_mover") change some keys for that series.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from holdfast_paper.methods import METHODS

PROFILES = ("full", "quick", "test")
KINDS = ("sensitivity", "cost", "clusterability", "datasets", "summary")
SERIES = ("same_seed", "fixed_tree", "earth_mover")
PANELS = (
    "datasets", "line", "clnss", "regression", "cost", "sensitivity", "wine", "clusterability",
    "summary",
)  # fmt: skip
"""In the order they are run and reported."""

_NEEDED = {
    "sensitivity": ("data", "methods", "n_clusters", "delete", "trials", "repeats", "x"),
    "cost": ("data", "methods", "max_clusters", "repeats"),
    "clusterability": ("data", "radius", "min_samples"),
    "datasets": ("data", "paper"),
    "summary": ("sensitivity", "cost", "delete", "n_clusters"),
}
_COUNTS = ("trials", "repeats", "draws", "block", "max_clusters", "min_samples")


class ConfigError(ValueError):
    """An invalid configuration file."""


@dataclass(frozen=True)
class Series:
    """One way to measure sensitivity.

    Attributes
    ----------
    name : {"same_seed", "fixed_tree", "earth_mover"}
        "same_seed": same seed on both sides, tree rebuilt. "fixed_tree": the same, on the tree of
        all rows. "earth_mover": tree rebuilt, independent seeds, Eq. 2 of [LHBP25].
    methods : tuple of str
    draws, trials, repeats : int
    trials_of, repeats_of : dict of str to int
        Other numbers for some methods.
    """

    name: str
    methods: tuple[str, ...]
    draws: int
    trials: int
    repeats: int
    trials_of: Mapping[str, int]
    repeats_of: Mapping[str, int]


@dataclass(frozen=True)
class Panel:
    """One figure: its file, merged with a profile.

    Attributes
    ----------
    name : str
    title : str
    kind : {"sensitivity", "cost", "clusterability", "datasets", "summary"}
    settings : dict
        The keys that its kind needs.
    series : tuple of Series
        For sensitivity: what is measured in which way.
    """

    name: str
    title: str
    kind: str
    settings: Mapping[str, Any]
    series: tuple[Series, ...] = field(default=())

    def __getitem__(self, key: str) -> Any:
        """Return a setting."""
        return self.settings[key]

    def shows(self, data: str, k: int) -> bool:
        """Whether the figure shows this k of a data set; the others are for the summary."""
        shown = self.settings.get("shown_of", {}).get(data, self.settings.get("shown"))
        return shown is None or k == shown


def read_panels(names: list[str] | None, profile: str) -> list[Panel]:
    """Read the panels named, or all of them, in the order of `PANELS`."""
    unknown = sorted(set(names or ()) - set(PANELS))
    if unknown:
        raise ConfigError(f"panels must be among {', '.join(PANELS)}; got {', '.join(unknown)}.")
    wanted = PANELS if names is None else [name for name in PANELS if name in names]
    folder = files("holdfast_paper") / "config"
    return [read_panel(folder / f"{name}.toml", profile) for name in wanted]


def read_panel(path: Any, profile: str = "full") -> Panel:
    """Read and check one file.

    Parameters
    ----------
    path : Path or Traversable
    profile : {"full", "quick", "test"}

    Returns
    -------
    Panel
    """
    if profile not in PROFILES:
        raise ConfigError(f"profile must be one of {', '.join(PROFILES)}; got {profile!r}.")
    name = Path(path.name).stem
    keys = _read_toml(path)
    profiles = {other: keys.pop(other, {}) for other in PROFILES}
    keys = _merge(keys, profiles[profile])
    kind = keys.pop("kind", None)
    if kind not in KINDS:
        raise ConfigError(f"{path.name}: kind must be one of {', '.join(KINDS)}; got {kind!r}.")
    for key in ("title", *_NEEDED[kind]):
        if key not in keys:
            raise ConfigError(f"{path.name}: the key {key!r} is missing; kind {kind!r} needs it.")
    _check_values(path.name, keys)
    title = keys.pop("title")
    series = _read_series(path.name, keys) if kind == "sensitivity" else ()
    return Panel(name, title, kind, keys, series)


def read_claims() -> list[dict[str, Any]]:
    """Read the paper's claims with their criteria."""
    return list(_read_toml(files("holdfast_paper") / "config" / "claims.toml")["claim"])


def _read_toml(path: Any) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path.name} is not TOML: {error}.") from None


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inside = merged.get(key)
        both = isinstance(value, dict) and isinstance(inside, dict)
        merged[key] = _merge(inside, value) if both else value  # type: ignore[arg-type]
    return merged


def _check_values(name: str, keys: Mapping[str, Any]) -> None:
    for method in keys.get("methods", ()):
        if method not in METHODS:
            raise ConfigError(
                f"{name}: methods must be among {', '.join(METHODS)}; got {method!r}."
            )
    for key in _COUNTS:
        value = keys.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError(f"{name}: {key} must be an integer of at least 1; got {value!r}.")
    for key in ("data", "n_clusters"):
        value = keys.get(key, [1])
        if not isinstance(value, list) or not value:
            raise ConfigError(f"{name}: {key} must be a list with something in it; got {value!r}.")
    if keys.get("x", "delete") not in ("n_rows", "n_clusters", "delete"):
        raise ConfigError(
            f'{name}: x must be "n_rows", "n_clusters" or "delete"; got {keys["x"]!r}.'
        )


def _read_series(name: str, keys: dict[str, Any]) -> tuple[Series, ...]:
    """Take the tables of series out of the keys; each inherits what it does not change."""
    tables = {series: keys.pop(series, None) for series in SERIES[1:]}
    names = {f.name for f in fields(Series)} - {"name"}
    defaults = {"draws": 1, "trials_of": {}, "repeats_of": {}}
    inherited = {**defaults, **{key: value for key, value in keys.items() if key in names}}
    found = []
    for series, table in {SERIES[0]: {}, **tables}.items():
        if table is None:
            continue
        wrong = sorted(set(table) - names)
        if wrong:
            raise ConfigError(
                f"{name}: [{series}] takes {', '.join(sorted(names))}; got {', '.join(wrong)}."
            )
        merged = {**inherited, **table}
        _check_values(f"{name}, [{series}]", merged)
        merged["methods"] = tuple(merged["methods"])
        if merged["methods"]:
            found.append(Series(name=series, **merged))
    return tuple(found)
