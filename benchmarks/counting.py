"""What the paper's own O(n^3) counting takes, and would take for a million rows."""

from growth import fit_exponent
from inputs import Rows, scale_size
from speed import compare, fit_whole
from table import Row, format_figure
from tasks import Fit, Group, Results, Settings

SIZES = (100, 200, 400, 800)
FULL = 1e6


def count_naively(settings: Settings) -> list[Fit]:
    # Time grows with the cube of n, so sizes shrink with the cube root of the scale.
    sizes = [scale_size(n, settings.scale ** (1 / 3)) for n in SIZES]
    return [Fit("naive", Rows(n)) for n in sizes]


def plan(settings: Settings) -> list[Fit]:
    naive = count_naively(settings)
    ours = [fit_whole(task.rows) for task in naive]
    pairs = [task for pair in zip(ours, naive, strict=True) for task in pair]
    return [*pairs, fit_whole(Rows(scale_size(FULL, settings.scale)))]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    naive = count_naively(settings)
    rows = [
        compare(f"{task.rows.title}, whole hierarchy", results, fit_whole(task.rows), task)
        for task in naive
    ]
    sizes, seconds = [task.rows.n for task in naive], [results.best(task) for task in naive]
    exponent = fit_exponent(sizes, seconds)
    full = fit_whole(Rows(scale_size(FULL, settings.scale)))
    extrapolated = seconds[-1] * (full.rows.n / sizes[-1]) ** 3
    fitted = seconds[-1] * (full.rows.n / sizes[-1]) ** exponent
    note = (
        f"by n^3 from n = {sizes[-1]}; by the fitted exponent, which the fixed costs of NumPy's "
        f"calls lower, {format_figure(fitted, 's')}; its distances fill "
        f"{8 * full.rows.n**2 / 2**30:,.3g} GiB"
    )
    return [
        *rows,
        Row("exponent of naive counting", peer=exponent, against="naive counting", unit=""),
        Row(
            f"{full.rows.title}, whole hierarchy",
            ours=results.best(full),
            peer=extrapolated,
            against="naive, extrapolated",
            note=note,
        ),
    ]


GROUP = Group("naive", "the paper's O(n^3) counting", plan, list_rows)
