"""Every dependency has a licence, and what users install has a permissive one.

``python supply/licences.py`` checks all packages that holdfast and its extras need, as far as they
are installed here, and prints those that are wrong; ``--list`` prints all of them.
"""

import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution

SHIPPED = ("", "plot", "cli", "report", "dask")
"""Extras that users install (the first is the package itself): permissive licences only."""

TOOLS = ("test", "lint", "browser", "bench", "peers")
"""Extras of development: some licence."""

NOT_PERMISSIVE = {
    "certifi": "MPL-2.0; of selenium and pip-audit: a list of certificates",
    "deadwood": "AGPL-3.0; of genieclust",
    "genieclust": "AGPL-3.0; a peer, in a process of its own in benchmarks/",
    "hypothesis": "MPL-2.0; in tests only",
    "kmedoids": "GPL-3.0; a peer, in a process of its own in benchmarks/",
    "pathspec": "MPL-2.0; of mypy",
    "quitefastmst": "AGPL-3.0; of genieclust",
    "tqdm": "MPL-2.0 and MIT; of evoc",
}
"""Tools that may have another licence, and why."""

_PERMISSIVE = re.compile(
    r"\b(0?BSD|MIT|MIT-CMU|Apache|ISC|Zlib|PSF|PSFL|Python Software Foundation|HPND|Unlicense"
    r"|CC0|CNRI|Boost|BSL)\b",
    re.IGNORECASE,
)
_COPYLEFT = re.compile(r"\b(A?GPL|LGPL|MPL|EPL|EUPL|CDDL|GNU|Mozilla)", re.IGNORECASE)


def licence_of(package: Distribution) -> str:
    """Licence as the package's metadata state it; empty if they do not."""
    metadata = package.metadata
    expression = metadata.get("License-Expression", "")
    classified = " / ".join(
        value.rpartition(" :: ")[2]
        for value in metadata.get_all("Classifier") or []
        if value.startswith("License :: ") and value != "License :: OSI Approved"
    )
    text = metadata.get("License", "").strip().partition("\n")[0]
    # Some packages name the file instead of the licence.
    named = "" if text.upper() in ("UNKNOWN", "LICENSE") else text
    stated = expression or classified or named
    return stated or _title_of_file(package)


def _title_of_file(package: Distribution) -> str:
    """First line of a licence file that comes with a package."""
    for path in package.files or []:
        if re.match(r"(LICEN[CS]E|COPYING)", path.name, re.IGNORECASE):
            for line in path.read_text().splitlines():
                if line.strip():
                    return line.strip()
    return ""


def is_permissive(licence: str) -> bool:
    """Whether a licence asks for no more than notices; one of several is enough (OR, /)."""
    choices = re.split(r"\s+OR\s+|\s*/\s*", licence, flags=re.IGNORECASE)
    return any(_PERMISSIVE.search(c) and not _COPYLEFT.search(c) for c in choices)


def needed_by(extras: Iterable[str]) -> dict[str, Distribution]:
    """Find the installed packages that holdfast needs with these extras, at any remove."""
    found: dict[str, Distribution] = {}
    open_: list[tuple[str, str]] = [("holdfast", extra) for extra in extras]
    seen = set(open_)
    while open_:
        name, extra = open_.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed here, or not for this system
        if name != "holdfast":
            found[name] = package
        for requirement in package.requires or []:
            for after in _after(requirement, extra):
                if after not in seen:
                    seen.add(after)
                    open_.append(after)
    return found


def _after(requirement: str, extra: str) -> list[tuple[str, str]]:
    """Name and extras of a requirement, if it holds for this extra (system markers aside)."""
    text, _, marker = requirement.partition(";")
    wanted = re.findall(r"extra\s*==\s*['\"]([^'\"]+)['\"]", marker)
    if wanted and extra not in wanted:
        return []
    parts = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^]]*)\])?", text)
    if parts is None:
        return []
    name = re.sub(r"[-_.]+", "-", parts[1]).lower()
    inner = [part.strip() for part in (parts[2] or "").split(",") if part.strip()]
    return [(name, part) for part in ["", *inner]]


def check() -> list[str]:
    """Say what is wrong, a line a package."""
    wrong = []
    shipped = needed_by(SHIPPED)
    for name, package in sorted({**needed_by(TOOLS), **shipped}.items()):
        licence = licence_of(package)
        if not licence:
            wrong.append(f"{name}: states no licence")
        elif not is_permissive(licence) and (name in shipped or name not in NOT_PERMISSIVE):
            wrong.append(f"{name}: {licence} is not permissive")
    return wrong


def main() -> int:
    """Print what is wrong; fail if anything is."""
    if "--list" in sys.argv:
        for name, package in sorted(needed_by((*SHIPPED, *TOOLS)).items()):
            print(f"{name} {package.version}: {licence_of(package)}")
    wrong = check()
    for line in wrong:
        print(f"licence of {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
