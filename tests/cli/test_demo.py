"""The demo says what it does, in a folder of its own."""

import subprocess
import sys
from functools import partial

from holdfast.cli import demo


def test_demo_prints_the_table_and_writes_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = partial(demo.report_wine, trials=2, repeats=2, delete=[0.05], n_jobs=1)
    monkeypatch.setattr(demo, "report_wine", few)
    demo.main()
    printed = capsys.readouterr().out
    for name in (
        "holdfast means", "holdfast medoids", "holdfast tree", "Ward linkage", "average linkage", "complete linkage",
        "single linkage", "bisecting k-means",
    ):  # fmt: skip
        assert f"\n{name} " in printed
    assert "When 5% of the rows are removed" in printed
    assert printed.rstrip().endswith(str(tmp_path / "demo-report.html"))
    assert (tmp_path / "demo-report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_demo_needs_no_extra():
    script = (
        "import sys\n"
        "class Absent:\n"  # not None in sys.modules, which scikit-learn takes for pandas
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('typer', 'rich', 'pyarrow', 'pandas', 'matplotlib'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from holdfast.cli import demo\n"
        "demo.report_wine = lambda **options: sys.exit('it comes this far')\n"
        "demo.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr == "it comes this far\n"
    assert "One hierarchy" in done.stdout
