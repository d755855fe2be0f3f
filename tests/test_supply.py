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
import release_check
import yaml

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
    (oldest,) = re.findall(r'requires-python = ">=([\d.]+)"', PROJECT)
    assert f'python: "{oldest}"' in text
    for version in re.findall(r"Python :: (3\.\d+)", PROJECT):
        assert f'python: "{version}"' in text


# Workflows, which cannot be run here: `make lint` runs zizmor on them, too.

WORKFLOWS = {path.name: path for path in (ROOT / ".github" / "workflows").glob("*.yml")}


def test_there_are_workflows():
    assert WORKFLOWS.keys() == {"ci.yml", "docs.yml", "nightly.yml", "release.yml"}


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_workflows_name_make_goals_that_exist(name):
    text = WORKFLOWS[name].read_text()
    goals = set(re.findall(r"run: make ([a-z-]+)", text)) | set(re.findall(r"goal: (\w+),", text))
    assert goals
    makefile = (ROOT / "Makefile").read_text()
    for goal in goals:
        assert re.search(rf"^{goal}:", makefile, flags=re.MULTILINE), goal


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_workflows_pin_actions_and_start_without_permissions(name):
    workflow = yaml.safe_load(WORKFLOWS[name].read_text())
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert job["permissions"]
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step.get("uses", "a@" + 40 * "0"))


def test_paths_that_workflows_name_exist():
    for path in set(re.findall(r"\btests/[\w/.]+", WORKFLOWS["ci.yml"].read_text())):
        assert (ROOT / path).exists(), path


def test_only_publishing_may_sign():
    for name, path in WORKFLOWS.items():
        for title, job in yaml.safe_load(path.read_text())["jobs"].items():
            if "id-token" in job["permissions"]:
                assert (name, title) in {
                    ("release.yml", "build"), ("release.yml", "publish"), ("docs.yml", "publish")
                }  # fmt: skip


# Releases


def test_everything_that_states_the_version_agrees():
    version = tomllib.loads(PROJECT)["project"]["version"]
    release_check.check_version(version, "")
    release_check.check_version(version, f"v{version}")
    with pytest.raises(AssertionError, match="the tag is v9"):
        release_check.check_version(version, "v9")


def test_a_release_needs_its_section_of_the_changelog():
    release_check.check_changelog("## [Unreleased]\n", "1.2.3", released=False)
    release_check.check_changelog("## [1.2.3] - 2030-01-02\n", "1.2.3", released=True)
    with pytest.raises(AssertionError, match="rename"):
        release_check.check_changelog("## [Unreleased]\n", "1.2.3", released=True)


def test_the_conda_recipe_says_what_the_project_says():
    recipe = yaml.safe_load((ROOT / "supply" / "conda" / "recipe.yaml").read_text())
    project = tomllib.loads(PROJECT)["project"]
    release_check.check_recipe(recipe, project)
    recipe["requirements"]["run"][1] = "numpy >=1.0"
    with pytest.raises(AssertionError, match="numpy >=1.0"):
        release_check.check_recipe(recipe, project)


def test_a_file_too_many_or_too_few_is_named():
    release_check.compare("wheel", {"a"}, {"a"})
    with pytest.raises(AssertionError, match="lacks.*b"):
        release_check.compare("wheel", {"a"}, {"a", "b"})
    with pytest.raises(AssertionError, match="has.*c"):
        release_check.compare("wheel", {"a", "c"}, {"a"})


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
    text = "Metadata-Version: 2.1\nName: bare\nVersion: 1\nLicense: LICENSE\n"
    (folder / "METADATA").write_text(text)  # the name of a file is no licence
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
