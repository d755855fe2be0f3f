"""Part 6: everything needed to make the page again."""

import platform
from importlib.metadata import version
from typing import Any

from holdfast.report.inputs import Inputs

__all__ = ["list_versions", "summarise_making"]

_PACKAGES = ("holdfast", "numpy", "scipy", "scikit-learn", "numba")


def summarise_making(inputs: Inputs) -> dict[str, Any]:
    """Parameters, seed, versions and command. No date and no duration: equal inputs, equal page."""
    estimator = inputs.estimator
    return {
        "command": inputs.command,
        "seed": str(inputs.seed),  # 64 bits do not fit a number of JavaScript
        "parameters": {name: _as_text(value) for name, value in estimator.get_params().items()},
        "measurements": {
            "trials": inputs.trials,
            "seeds": inputs.repeats,
            "deletions": ", ".join(
                f"{100 * a:.6g}%" if isinstance(a, float) else str(a) for a in inputs.deletes
            ),
            "methods": ", ".join(inputs.methods),
            "rows compared on": int(inputs.compared.size),
        },
        "versions": list_versions(),
    }


def list_versions() -> dict[str, str]:
    """Python and the packages that decide numbers."""
    return {"Python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def _as_text(value: Any) -> str:
    return str(value)
