"""The gallery: every file in examples/ runs, and its pictures and output become a page."""

import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.sorting import FunctionSortKey

from _site.freshness import digest_of_package

# Scripts -> pages, and the order of the pages.
FOLDERS = {"examples": "gallery", "docs/lessons": "tutorials"}
ORDER = (
    "first_clustering",
    "segments_that_last",
    "next_week",
    "who_moved",
    "how_many_clusters",
    "is_it_stable",
    "explain_clusters",
    "mixed_tables",
    "cluster_texts",
    "million_places",
    "rows_that_must_be_forgotten",
    "larger_than_memory",
    "dask_cluster",
    "paper_figure",
)
_STAMP = "package.sha256"


def settings(docs: Path) -> dict[str, Any]:
    """Return the settings of sphinx-gallery. Two processes run the examples; one that fails ends it."""
    return {
        "examples_dirs": [str(docs.parent / source) for source in FOLDERS],
        "gallery_dirs": list(FOLDERS.values()),
        "filename_pattern": r"\.py$",
        "within_subsection_order": FunctionSortKey(_place, "the order of ORDER"),
        "abort_on_example_error": True,
        "only_warn_on_example_error": False,
        "parallel": 2,
        "remove_config_comments": True,
        "download_all_examples": False,
        "notebook_extensions": set(),
        "show_memory": False,
        "min_reported_time": 600,  # pages do not show how long the machine took
        "show_signature": False,
        "image_scrapers": ("matplotlib",),
        "matplotlib_animations": False,
        "reset_modules_order": "both",
        "thumbnail_size": (400, 280),
        "write_computation_times": False,
    }


def _place(file_name: str) -> int:
    return ORDER.index(file_name.removesuffix(".py"))


def discard_stale(docs: Path) -> None:
    """Remove all pages of examples if they were made with another state of the package.

    sphinx-gallery runs an example again only if its own file changed. An example that shows
    holdfast must also run again if holdfast changed.
    """
    for folder in FOLDERS.values():
        made = docs / folder
        stamp = made / _STAMP
        if made.exists() and (not stamp.exists() or stamp.read_text() != digest_of_package()):
            shutil.rmtree(made)
        made.mkdir(exist_ok=True)
        stamp.write_text(digest_of_package())
