import io
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from holdfast.cli.app import run_program


@dataclass(frozen=True)
class Done:
    """What a run of the program left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def holdfast(folder, capsys, monkeypatch):
    """Run the program in this process, in an empty folder."""

    def run(*arguments: object, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run_program([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def people(folder) -> Path:
    """Sixty rows in three groups, with an id, a text column, and a weight."""
    rng = np.random.default_rng(0)
    place = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 30.0]], 20, axis=0)
    x = place + rng.normal(size=(60, 2))
    lines = ["id,town,height,width,count"]
    for i, (a, b) in enumerate(x):
        lines.append(f"p{i},{'Ulm' if i % 2 else 'Bern'},{a:.3f},{b:.3f},{1 + i % 3}")
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
