"""The Python on the pages of the site runs as written, one block after the other on each page.

``python docs/_site/run_blocks.py`` runs the pages that promise it: the front page and how-to.
Each page has a process and an empty folder of its own. A block that shows only a shape, such
as the address of somebody's cluster, is marked ``python no-run`` in its fence.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
PAGES = ("index.md", "howto/*.md")
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks_of(page: Path) -> list[str]:
    """Return the Python blocks of a page."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def run(page: Path) -> bool:
    """Run the blocks of a page; print what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "page.py"
        script.write_text("\n\n".join(blocks_of(page)), encoding="utf-8")
        call = [sys.executable, "-W", "error", script]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{page.relative_to(DOCS)}: its Python does not run:\n{done.stderr}")
    return done.returncode == 0


def main() -> int:
    """Run all pages that have Python."""
    pages = [p for pattern in PAGES for p in sorted(DOCS.glob(pattern)) if blocks_of(p)]
    passed = sum(run(page) for page in pages)
    print(f"{passed} of {len(pages)} pages with Python run as written")
    return 0 if passed == len(pages) else 1


if __name__ == "__main__":
    sys.exit(main())
