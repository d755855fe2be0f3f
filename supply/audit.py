"""Look for known vulnerabilities in what is installed here, by pip-audit.

What users install with holdfast must have none: that fails. Those of development tools are named
only. Where pip-audit or its database cannot be reached, one line says so and nothing fails.
"""

import json
import subprocess
import sys
import urllib.request
from typing import Any

from licences import SHIPPED, needed_by

TOOL = "pip-audit>=2.7"
DATABASE = "https://pypi.org/pypi/pip/json"
_SECONDS_TO_REACH = 5
_SECONDS_TO_INSTALL = 60
_SECONDS_TO_AUDIT = 60


def main() -> int:
    """Audit, or say why not."""
    try:
        with urllib.request.urlopen(DATABASE, timeout=_SECONDS_TO_REACH) as answer:
            answer.read(1)
        _install_tool()
        found = _audit()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"pip-audit: not run, {type(error).__name__}: {str(error).splitlines()[0][:100]}")
        return 0
    return report(found)


def report(found: dict[str, Any]) -> int:
    """Print the vulnerabilities that pip-audit found; 1 if one is in what users install."""
    shipped = needed_by(SHIPPED)
    wrong = 0
    for package in found["dependencies"]:
        for vulnerability in package.get("vulns", []):
            serious = package["name"].lower() in shipped
            wrong += serious
            fixed = ", ".join(vulnerability["fix_versions"]) or "no version yet"
            print(
                f"pip-audit: {'' if serious else 'development tool '}{package['name']} "
                f"{package['version']}: {vulnerability['id']}, fixed in {fixed}"
            )
    unknown = [p["skip_reason"] for p in found["dependencies"] if "vulns" not in p]
    checked = len(found["dependencies"]) - len(unknown)
    print(
        f"pip-audit: {checked} packages looked up, {wrong} vulnerabilities in what users install"
        + (f"; {len(unknown)} not looked up, the first: {unknown[0]}" if unknown else "")
    )
    return 1 if wrong else 0


def _install_tool() -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TOOL]
    subprocess.run(pip, check=True, capture_output=True, timeout=_SECONDS_TO_INSTALL)


def _audit() -> dict[str, Any]:
    call = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off"]
    call += ["--format", "json", "--timeout", "10"]
    run = subprocess.run(
        call, check=False, capture_output=True, text=True, timeout=_SECONDS_TO_AUDIT
    )
    if not run.stdout.strip():
        raise ValueError(run.stderr.strip() or "no answer")
    found: dict[str, Any] = json.loads(run.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
