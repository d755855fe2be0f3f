"""Whether something that was made from the package is still what the package would make."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_SHAPES_PICTURES = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib", "pandas", "dask")


@cache
def digest_of_package() -> str:
    """SHA-256 of everything in src/ and of the versions of the packages that results pass through."""
    found = hashlib.sha256()
    for name in _SHAPES_PICTURES:
        found.update(f"{name} {version(name)}\n".encode())
    _add_files(found, sorted((ROOT / "src").rglob("*")))
    return found.hexdigest()


def digest_with(files: Iterable[Path]) -> str:
    """SHA-256 of the package and of these files."""
    found = hashlib.sha256(digest_of_package().encode())
    _add_files(found, sorted(files))
    return found.hexdigest()


def _add_files(found: "hashlib._Hash", paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_file() and "__pycache__" not in path.parts:
            content = path.read_bytes()
            found.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode())
            found.update(content)
