import inspect
import json
import subprocess
import sys

import pytest

import holdfast

NOT_AT_IMPORT = {"dask", "matplotlib", "pandas", "plotly", "typer"}


def test_import_leaves_optional_packages_alone():
    # In a process of its own: here the other tests have imported most of them.
    script = "import json, sys, holdfast; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)}
    assert "holdfast" in loaded
    assert sorted(loaded & NOT_AT_IMPORT) == []


@pytest.mark.parametrize("name", holdfast.__all__)
def test_public_name_is_reachable_and_listed(name):
    assert getattr(holdfast, name) is not None
    assert name in dir(holdfast)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = holdfast.no_such_name


@pytest.mark.parametrize("name", holdfast.__all__)
def test_signatures_read_well_in_help(name):
    """Annotations are shown by their names, not by what these stand for."""
    found = getattr(holdfast, name)
    members = vars(found).values() if inspect.isclass(found) else ()
    functions = [found, *(member for member in members if inspect.isfunction(member))]
    for function in functions:
        if not callable(function) or getattr(function, "__name__", "").startswith("_"):
            continue
        shown = str(inspect.signature(function))
        assert "numpy._typing" not in shown
        assert "collections.abc" not in shown
