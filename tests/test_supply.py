"""What holdfast depends on: bounded, locked, licensed, and tested at both ends in CI."""

import json
import re
import tomllib
from importlib.metadata import PathDistribution
from pathlib import Path

import audit
import licences
import lock
import lower_bounds
import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text()


def test_every_dependency_states_a_lower_bound():
    bounds = lower_bounds.lower_bounds(PROJECT)
    assert {"numpy", "scipy", "scikit-learn", "numba", "joblib", "typer", "dask"} <= bounds.keys()
    unbounded = PROJECT.replace('"joblib>=1.4', '"joblib')
    assert unbounded != PROJECT
    with pytest.raises(ValueError, match="joblib.*states no lower bound"):
        lower_bounds.lower_bounds(unbounded)


def test_the_highest_of_two_bounds_counts():
    text = '[project]\nname = "a"\ndependencies = ["b_c>=1.9", "B-c[x]>=1.10"]\n'
    text += '[project.optional-dependencies]\ndev = ["a[x]"]\n'
    assert lower_bounds.lower_bounds(text) == {"b-c": "1.10"}


def test_the_lock_file_holds_every_dependency_with_hashes():
    text = (ROOT / "requirements-dev.lock").read_text()
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, flags=re.MULTILINE))
    for name, bound in lower_bounds.lower_bounds(PROJECT).items():
        if name in tools_of_supply():
            continue
        assert name in locked, "run: make lock"
        assert version_numbers(locked[name]) >= version_numbers(bound)
    for line in text.splitlines():
        assert re.fullmatch(r"#.*|[a-z0-9-]+==\S+ --hash=sha256:[0-9a-f]{64}", line), line


def test_a_lock_leaves_out_the_project_itself():
    here = {"metadata": {"name": "holdfast", "version": "1"}, "download_info": {"dir_info": {}}}
    hashes = {"archive_info": {"hashes": {"sha256": "ab"}}}
    other = {"metadata": {"name": "Zope_X.y", "version": "2"}, "download_info": hashes}
    first = {"metadata": {"name": "a", "version": "3"}, "download_info": hashes}
    found = lock.lock_lines({"install": [here, other, first]})
    assert found == ["a==3 --hash=sha256:ab", "zope-x-y==2 --hash=sha256:ab"]


def tools_of_supply() -> set[str]:
    """What writes the lock is not in it."""
    extra = tomllib.loads(PROJECT)["project"]["optional-dependencies"]["supply"]
    return {requirement.partition(">=")[0] for requirement in extra}


def version_numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def test_ci_runs_make_goals_at_both_ends():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    for versions, goal in (("oldest", "oldest"), ("locked", "test"), ("newest", "test")):
        assert f"versions: {versions}, goal: {goal}," in text
    goals = set(re.findall(r"run: make ([a-z]+)$", text, flags=re.MULTILINE))
    goals |= set(re.findall(r"goal: ([a-z]+),", text))
    makefile = (ROOT / "Makefile").read_text()
    for goal in goals:
        assert re.search(rf"^{goal}:", makefile, flags=re.MULTILINE), goal
    (oldest,) = re.findall(r'requires-python = ">=([\d.]+)"', PROJECT)
    assert f'python: "{oldest}"' in text
    for version in re.findall(r"Python :: (3\.\d+)", PROJECT):
        assert f'python: "{version}"' in text


# Licences


def test_every_dependency_has_a_fitting_licence():
    assert licences.check() == []
    shipped = licences.needed_by(licences.SHIPPED)
    assert {"numpy", "scipy", "numba", "llvmlite", "typer", "pyarrow", "dask"} <= shipped.keys()
    assert not shipped.keys() & licences.NOT_PERMISSIVE.keys()


@pytest.mark.parametrize(
    ("licence", "permissive"),
    [
        ("MIT", True),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", True),
        ("BSD License / GNU General Public License v2 (GPLv2)", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-or-later", False),
        ("GNU Affero General Public License v3", False),
        ("LGPL-2.1", False),
        ("MPL-2.0", False),
        ("Proprietary", False),
    ],
)
def test_permissive_licences_are_told_apart(licence, permissive):
    assert licences.is_permissive(licence) == permissive


def test_a_package_without_a_licence_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "bare-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: bare\nVersion: 1\n")
    package = PathDistribution(folder)
    assert licences.licence_of(package) == ""
    monkeypatch.setattr(licences, "needed_by", lambda extras: {"bare": package})
    assert licences.check() == ["bare: states no licence"]
    with (folder / "METADATA").open("a") as file:
        file.write("License-Expression: GPL-3.0-only\n")
    assert licences.check() == ["bare: GPL-3.0-only is not permissive"]


# Vulnerabilities


def test_only_vulnerabilities_of_what_users_install_fail(capsys):
    def found(name):
        vulnerability = {"id": "PYSEC-1", "fix_versions": ["9"]}
        package = {"name": name, "version": "1", "vulns": [vulnerability]}
        return {"dependencies": [package, {"name": "skipped", "skip_reason": "editable"}]}

    assert audit.report(found("numpy")) == 1
    assert "pip-audit: numpy 1: PYSEC-1, fixed in 9" in capsys.readouterr().out
    assert audit.report(found("pytest")) == 0
    assert "development tool pytest 1: PYSEC-1" in capsys.readouterr().out
    assert audit.report(json.loads('{"dependencies": []}')) == 0


def test_an_audit_without_a_network_says_so_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(audit, "DATABASE", "http://127.0.0.1:9/nothing")
    assert audit.main() == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("pip-audit: not run, URLError")
