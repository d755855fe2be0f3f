"""Pin every direct dependency of pyproject.toml, extras included, to its lower bound.

``python supply/lower_bounds.py`` prints a constraints file for pip. What a requirement without
``>=`` would be pinned to is unknown, so that is an error: every dependency states the oldest version
that it is tested with.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?(?P<rest>.*)")
_LOWER_BOUND = re.compile(r">=\s*(?P<version>[0-9][0-9.]*)")


def lower_bounds(text: str) -> dict[str, str]:
    """Name -> lower bound of each requirement of a pyproject.toml; the highest where there are two.

    Parameters
    ----------
    text : str
        Contents of the file.
    """
    project = tomllib.loads(text)["project"]
    requirements = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        requirements.extend(extra)
    found: dict[str, str] = {}
    for requirement in requirements:
        parts = _REQUIREMENT.fullmatch(requirement)
        if parts is None:
            raise ValueError(f"cannot read the requirement {requirement!r} of {PROJECT.name}.")
        name = re.sub(r"[-_.]+", "-", parts["name"]).lower()
        if name == project["name"]:
            continue
        bound = _LOWER_BOUND.search(parts["rest"])
        if bound is None:
            raise ValueError(f"{requirement!r} states no lower bound; write {name}>=the oldest.")
        found[name] = max(found.get(name, "0"), bound["version"], key=_as_numbers)
    return found


def _as_numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def main() -> int:
    """Print the constraints."""
    for name, version in sorted(lower_bounds(PROJECT.read_text()).items()):
        print(f"{name}=={version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
