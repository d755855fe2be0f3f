"""The wheel works where nothing of the checkout is: built, installed and used there."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]

USE = """
import json
import holdfast
import numpy as np
from holdfast import HierarchicalKMedian

rows = np.random.default_rng(0).normal(size=(50, 2))
model = HierarchicalKMedian(3).fit(rows)
print(json.dumps({"file": holdfast.__file__, "last": int(model.labels_.max())}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Output of a command that must succeed and sees nothing of this process's import path."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, CHECKOUT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_package_and_nothing_else(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.partition("/")[0] for name in names}
    assert "holdfast/py.typed" in names
    assert "holdfast/report/templates/page.html" in names
    assert "holdfast_paper/config/claims.toml" in names
    packages = {folder for folder in folders if not folder.endswith(".dist-info")}
    assert packages == {"holdfast", "holdfast_paper"}
    assert not [name for name in names if "/tests/" in name or "__pycache__" in name]


def test_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path):
    home = tmp_path / "venv"
    python = home / "bin" / "python"
    # Without a pip of its own, and without compiling what is never imported: much faster.
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=tmp_path)
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-compile", wheel, cwd=tmp_path)

    script = tmp_path / "use.py"
    script.write_text(USE)
    seen = json.loads(run(python, "-I", script, cwd=tmp_path))

    assert seen["last"] == 2
    assert Path(seen["file"]).is_relative_to(home)
