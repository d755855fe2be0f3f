"""``holdfast``: from a file to an answer, without Python.

Data flow of a command: `options` (what the user wrote) -> `tables` (file -> Arrow table) ->
`dataset` (table -> prepared rows, ids, weights) -> the library -> `outputs` (checked first, written
whole) and `console` (results on standard output, everything else on standard error). One file a
command; `program` runs them and turns problems into one line and an exit code.
"""

import gc
import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich", "pyarrow")


def main() -> None:
    """Run the program on the arguments of this process, and end it."""
    absent = [name for name in _NEEDED if find_spec(name) is None]
    if absent:
        print(
            f"holdfast: the command line needs {', '.join(absent)}, not installed here. "
            "Install them with: pip install 'holdfast[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    from holdfast.cli.program import buffer_output, run_program, unwind_on_termination

    buffer_output()
    unwind_on_termination()
    status = run_program(sys.argv[1:])
    gc.freeze()  # the process ends: looking for garbage once more would take a third of a second
    sys.exit(status)
