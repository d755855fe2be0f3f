"""``python -m holdfast_paper``: run the paper's experiments."""

import argparse
import sys

from holdfast_paper.config import PANELS, ConfigError
from holdfast_paper.flow import SEED, reproduce

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Read the arguments, run, and say where things are."""
    parser = argparse.ArgumentParser(
        prog="python -m holdfast_paper",
        description="Run every experiment of the paper; an interrupted run continues.",
    )
    parser.add_argument("--out", default="results", help="folder to write to (default: results)")
    parser.add_argument("--quick", action="store_true", help="a first look, under 3 minutes")
    parser.add_argument("--data-dir", help="folder with wholesale.csv, yeast.csv, yeast_mulan.csv")
    parser.add_argument("--raw", action="store_true", help="keep all dimensions of the data sets")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument("--panels", nargs="+", metavar="NAME", help=f"some of {', '.join(PANELS)}")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--profile", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        reproduce(
            options.out,
            quick=options.quick,
            data_dir=options.data_dir,
            n_jobs=options.jobs,
            panels=options.panels,
            raw=options.raw,
            seed=options.seed,
            profile=options.profile,
        )
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command continues where it was.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
