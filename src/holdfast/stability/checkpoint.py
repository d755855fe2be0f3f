"""Finished blocks on disk, so that a run can be continued.

A checkpoint is a folder: `arguments.json`, what the numbers depend on, and one `.npz` file a block.
Each file is written under another name first and then renamed, so a file that is there is whole.
Nothing is pickled.
"""

import functools
import hashlib
import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from holdfast._machine.files import write_whole
from holdfast.stability.blocks import Block, Failure
from holdfast.stability.plan import Plan

__all__ = ["Checkpoint", "describe_plan"]

_FORMAT = 1


class Checkpoint:
    """Blocks of one plan in a folder.

    Parameters
    ----------
    path : str or path-like
        A folder, made if it is not there.
    arguments : dict of str to str
        From `describe_plan`. A folder with others is an error, not overwritten.
    """

    def __init__(self, path: str | os.PathLike[str], arguments: dict[str, str]) -> None:
        self.folder = Path(path)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"checkpoint must be a folder; {self.folder} is a file.")
        self.folder.mkdir(parents=True, exist_ok=True)
        stored = self.folder / "arguments.json"
        if not stored.exists():
            if any(self.folder.glob("*.npz")) or any(self.folder.glob("*.json")):
                raise ValueError(
                    f"the folder {self.folder} holds other files; give checkpoint an empty one."
                )
            text = json.dumps(arguments, indent=1)
            write_whole(stored, lambda file: file.write(text.encode()))
            return
        known = json.loads(stored.read_text())
        for name in sorted({*known, *arguments}):
            if known.get(name) != arguments.get(name):
                raise ValueError(
                    f"the checkpoint {self.folder} belongs to another run: there {name} is "
                    f"{known.get(name)}, now it is {arguments.get(name)}. Use the same arguments, "
                    "or another folder."
                )

    def load(self) -> list[Block]:
        """Read all blocks, in the order of their names."""
        return [_read_block(path) for path in sorted(self.folder.glob("block-*.npz"))]

    def store(self, block: Block) -> None:
        """Write one block."""
        change, trial = block.units[0]
        path = self.folder / f"block-{change}-{trial}.npz"
        arrays = {f.name: getattr(block, f.name) for f in fields(block) if f.name != "failures"}
        failures = json.dumps([asdict(failure) for failure in block.failures])
        # No allow_pickle: NumPy 1 would store it as one more array. None of these holds objects.
        write_whole(path, lambda file: np.savez(file, failures=np.array(failures), **arrays))


def _read_block(path: Path) -> Block:
    try:
        # Opened here: np.load leaves the file open where it is damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        failures = json.loads(str(arrays.pop("failures")))
        return Block(**arrays, failures=tuple(Failure(**failure) for failure in failures))
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} cannot be read ({error}); delete it to compute it anew."
        ) from None


def describe_plan(plan: Plan, per_row: bool) -> dict[str, str]:
    """Everything that a plan's numbers depend on, except the number of trials.

    That one may grow: trial j does not depend on it. A function is known by its name only.
    """
    return {
        "format": str(_FORMAT),
        "holdfast": version("holdfast"),
        "clusterer": _describe(plan.clusterer),
        "data": ", ".join(_describe(base.rows) for base in plan.bases),
        "changes": ", ".join(_describe(change.perturbation) for change in plan.changes),
        "n_clusters": str(list(plan.ks)),
        "trials": _describe_trials(plan),
        "repeats": str(plan.repeats),
        "coupling": plan.coupling,
        "random_state": str(plan.seed),
        "per_row": str(per_row),
    }


def _describe_trials(plan: Plan) -> str:
    if not plan.exhaustive:
        return "sampled"
    return "all" if plan.limit is None else f"{plan.limit} rows"


def _describe(value: Any) -> str:
    """Text that is equal for equal values, in every process."""
    if isinstance(value, np.ndarray):
        digest = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()
        return f"{value.dtype} array of shape {value.shape} ({digest})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_describe, value))}]"
    if isinstance(value, dict):
        return _describe_items("", value.items())
    if isinstance(value, functools.partial):
        return f"partial({_describe(value.func)}, {_describe(value.args)}, {_describe(value.keywords)})"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "get_params"):
        return _describe_items(name, value.get_params(deep=False).items())
    if is_dataclass(value):
        return _describe_items(name, ((f.name, getattr(value, f.name)) for f in fields(value)))
    if repr(value) == object.__repr__(value):  # an address says nothing
        return _describe_items(name, getattr(value, "__dict__", {}).items())
    return repr(value)


def _describe_items(name: str, items: Iterable[tuple[Any, Any]]) -> str:
    inside = sorted(f"{key}={_describe(value)}" for key, value in items)
    return f"{name}({', '.join(inside)})"
