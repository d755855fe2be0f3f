"""What the figures depend on besides the code: machine and versions."""

import hashlib
import importlib.util
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = (
    "holdfast",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "genieclust",
    "fastcluster",
    "matplotlib",
)


def describe_machine() -> dict[str, str]:
    return {
        "CPU": _name_processor(),
        "cores": str(_count_cores()),
        "memory": f"{_count_memory() / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()}",
    }


def list_versions() -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def describe_commit() -> str:
    """Return the commit of the checkout, and whether files differ from it; empty outside git."""
    try:
        commit, status = (
            subprocess.run(
                ["git", "-C", str(HERE), *command], capture_output=True, text=True, check=True
            ).stdout.strip()
            for command in (
                ["rev-parse", "--short=12", "HEAD"],
                ["status", "--porcelain", "--", "../src", "../benchmarks/*.py"],
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{commit}, with uncommitted changes" if status else commit


def measure_load() -> float | None:
    """Return the mean number of busy processes in the last minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def fingerprint() -> str:
    """Hash of machine, versions and the code measured: figures with equal ones may be mixed."""
    state = hashlib.sha256(json.dumps([describe_machine(), list_versions()]).encode())
    spec = importlib.util.find_spec("holdfast")
    package = Path((spec.submodule_search_locations or [""])[0]) if spec else HERE
    for folder in (package, HERE):
        for path in sorted(folder.rglob("*.py")):
            state.update(str(path.relative_to(folder)).encode())
            state.update(path.read_bytes())
    return state.hexdigest()


def _name_processor() -> str:
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
            if line.startswith("flags"):  # on which the sorts of NumPy depend
                return f"{name} with {'AVX-512' if 'avx512f' in line else 'AVX2 or less'}"
    except OSError:
        pass
    return name


def _count_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _count_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0
