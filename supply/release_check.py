"""Everything that must hold before a release: ``make release-check``.

Version, changelog and recipe are compared with pyproject.toml. An sdist and a wheel are built from the
files that git knows, compared with them, checked by twine, and the wheel alone is installed into empty
environments, one for each extra, and used there. ``--tag v1.2.3`` is for the release itself: the version
must be the tag's, and the changelog must have its section. ``--no-install`` leaves the environments out.
"""

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import yaml
from smoke import SMOKE

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def main() -> int:
    """Check in order; print a line for each thing that holds, and stop at the first that does not."""
    parser = argparse.ArgumentParser(description="Check that a release can be made.")
    parser.add_argument("--tag", default="", help="the tag of the release, such as v1.2.3")
    parser.add_argument("--no-install", action="store_true", help="build and compare only")
    given = parser.parse_args()
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    try:
        check_version(project["version"], given.tag)
        check_changelog(_read("CHANGELOG.md"), project["version"], released=bool(given.tag))
        check_recipe(yaml.safe_load(_read("supply/conda/recipe.yaml")), project)
        sdist, wheel = build()
        known = files_in_git()
        compare("sdist", files_of_sdist(sdist), {*known, "PKG-INFO"})
        compare("wheel", files_of_wheel(wheel), {f[4:] for f in known if f.startswith("src/")})
        run(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel))
        say("twine accepts both")
        for extra in () if given.no_install else SMOKE:
            install_and_use(wheel, extra)
    except (AssertionError, subprocess.CalledProcessError) as error:
        print(f"release-check: {getattr(error, 'stdout', None) or error}", file=sys.stderr)
        return 1
    say(f"sha256 of {sdist.name}: {hashlib.sha256(sdist.read_bytes()).hexdigest()}")
    return 0


def check_version(version: str, tag: str) -> None:
    """Compare the version of pyproject.toml with every other file that must state it."""
    assert not tag or tag == f"v{version}", f"the tag is {tag}; pyproject.toml has {version}."
    stated = f"\nversion: {version}\n" in _read("CITATION.cff")
    assert stated, f"CITATION.cff must state the version {version}."
    literal = f'"{version}"'
    found = [f for f in files_in_git() if f.startswith("src/") and f.endswith(".py")]
    repeated = [name for name in found if literal in _read(name)]
    assert not repeated, f"{repeated} repeat the version; importlib.metadata has it."
    say(f"version {version}")


def check_changelog(text: str, version: str, *, released: bool) -> None:
    """Look for the section of the version; before the release, [Unreleased] will do."""
    title = f"## [{version}] - " if released else "## ["
    starts = [line for line in text.splitlines() if line.startswith(title)]
    assert starts, f"CHANGELOG.md needs a section '{title}YYYY-MM-DD': rename [Unreleased]."
    say(f"changelog: {starts[0][3:]}")


def check_recipe(recipe: dict[str, Any], project: dict[str, Any]) -> None:
    """Compare the conda recipe with pyproject.toml."""
    context, wanted = recipe["context"], project["version"]
    assert context["version"] == wanted, f"the recipe's version must be {wanted}."
    python = project["requires-python"].removeprefix(">=")
    assert context["python_min"] == python, f"the recipe's python_min must be {python}."
    run_needs = [need for need in recipe["requirements"]["run"] if not need.startswith("python ")]
    needs = [need.replace(">=", " >=") for need in project["dependencies"]]
    assert run_needs == needs, f"the recipe runs with {run_needs}; pyproject.toml says {needs}."
    (script,) = recipe["build"]["python"]["entry_points"]
    assert script == f"holdfast = {project['scripts']['holdfast']}", "the entry point differs."
    optional = project["optional-dependencies"]
    allowed = {need.replace(">=", " >=") for extra in ("plot", "cli") for need in optional[extra]}
    allowed |= {"matplotlib-base >=3.8", "dask >=2025.7"}  # named otherwise on conda-forge
    wrong = set(recipe["requirements"]["run_constraints"]) - allowed
    assert not wrong, f"the recipe constrains {sorted(wrong)}, which no extra does."
    assert recipe["about"]["license"] == project["license"]
    say("the conda recipe says what pyproject.toml says; it has not been built")


def files_in_git() -> set[str]:
    """Files that are committed or about to be."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def build() -> tuple[Path, Path]:
    """Build an sdist, and from it a wheel, into an empty dist/."""
    for old in DIST.glob("holdfast-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def files_of_sdist(path: Path) -> set[str]:
    """Names in an sdist, without its one folder."""
    with tarfile.open(path) as archive:
        return {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}


def files_of_wheel(path: Path) -> set[str]:
    """Names in a wheel, without its metadata."""
    with zipfile.ZipFile(path) as archive:
        return {n for n in archive.namelist() if ".dist-info/" not in n}


def compare(what: str, found: set[str], wanted: set[str]) -> None:
    """Fail on files that are missing or too many."""
    missing, extra = sorted(wanted - found), sorted(found - wanted)
    assert not missing, f"the {what} lacks {missing}."
    assert not extra, f"the {what} has {extra}, which git does not know."
    say(f"{what}: {len(found)} files, those of the repository")


def install_and_use(wheel: Path, extra: str) -> None:
    """Install the wheel with an extra into an empty environment and use it in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", str(home))
        python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        run(*pip, "--disable-pip-version-check", f"{wheel}[{extra}]" if extra else str(wheel))
        work = Path(folder) / "empty"
        work.mkdir()
        for command in SMOKE[extra]:
            run(str(python), "-I", *command, cwd=work)
    say(f"the wheel alone{f' with [{extra}]' if extra else ''}: {len(SMOKE[extra])} uses")


def run(*command: str, cwd: Path = ROOT) -> str:
    """Return the output of a command that must succeed."""
    done = subprocess.run(
        command, cwd=cwd, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(command[:6])} ... failed:\n{done.stdout}")
    return done.stdout


def say(line: str) -> None:
    """Print at once: some steps take minutes."""
    print(f"release-check: {line}", flush=True)


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
