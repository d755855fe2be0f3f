"""Lock what development installs: ``python supply/lock.py`` writes requirements-dev.lock anew.

pip resolves ``.[dev]`` for this interpreter without installing anything, and reports each package with
its version and the SHA-256 of the file that it would install. `pip install --require-hashes` accepts
the lock on the system that it was made for; elsewhere its versions serve as constraints.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements-dev.lock"


def lock_lines(report: dict[str, Any]) -> list[str]:
    """One requirement a line, with its hash, in the order of names; holdfast itself is left out."""
    found = {}
    for item in report["install"]:
        metadata, archive = item["metadata"], item["download_info"].get("archive_info")
        name = metadata["name"].lower().replace("_", "-").replace(".", "-")
        if archive is None:
            continue  # a folder: this project
        found[name] = f"{name}=={metadata['version']} --hash=sha256:{archive['hashes']['sha256']}"
    return [found[name] for name in sorted(found)]


def main() -> int:
    """Resolve and write."""
    call = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call += ["--dry-run", "--ignore-installed", "--report", "-", ".[dev]"]
    run = subprocess.run(call, cwd=ROOT, check=False, capture_output=True, text=True)
    if run.returncode:
        print(run.stderr, file=sys.stderr)
        return run.returncode
    version = ".".join(platform.python_version_tuple()[:2])
    system = f"{platform.system()} {platform.machine()}, Python {version}"
    header = [
        "# Written by `make lock` from pyproject.toml; do not edit.",
        f"# Hashes are those of the files for {system}.",
    ]
    lines = lock_lines(json.loads(run.stdout))
    LOCK.write_text("\n".join([*header, *lines]) + "\n")
    print(f"{len(lines)} packages in {LOCK.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
