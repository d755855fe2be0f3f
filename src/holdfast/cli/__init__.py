"""``holdfast``: from a file to an answer, without Python.

A command takes `options`, reads with `holdfast.tables`, calls the
library, and writes with `holdfast.tables` and `console`. `app` registers the commands and turns
errors into one line and an exit code.
"""

import gc
import sys
from importlib.metadata import version
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich", "pyarrow")


def main() -> None:
    """Run the program on the arguments of this process, and end it."""
    if sys.argv[1:] == ["--version"]:  # which needs none of them
        print(f"holdfast {version('holdfast')}")
        sys.exit(0)
    absent = [name for name in _NEEDED if find_spec(name) is None]
    if absent:
        print(
            f"holdfast: the command line needs {', '.join(absent)}, which is not installed. "
            "Install it with: pip install 'holdfast[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    from holdfast.cli.app import buffer_output, run_program, unwind_on_termination

    buffer_output()
    unwind_on_termination()
    status = run_program(sys.argv[1:])
    gc.freeze()  # the process ends: looking for garbage once more would take a third of a second
    sys.exit(status)
