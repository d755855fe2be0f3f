"""The documentation site, built by `make docs`: Sphinx, the pydata theme, an executed gallery.

What the site shows of the package is made from it while it builds: the reference, the texts of the
command line, the report on the front page and every picture of the gallery (see ``_site/``).
"""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

# Without a window, also in the processes that run examples.
os.environ["MPLBACKEND"] = "Agg"
# The threads of scikit-learn wait without working: examples run beside each other.
os.environ["OMP_WAIT_POLICY"] = "passive"

from _site import front, gallery, pages, reference, report, twins  # noqa: E402

project = "holdfast"
author = "the holdfast developers"
copyright = "the holdfast developers"
version = release = installed_version("holdfast")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_made", "_site", "_static", "lessons"]
templates_path = ["_templates"]

# Every reference must lead somewhere; text in single backticks is code, not a reference.
nitpicky = True
default_role = "code"
show_warning_types = True
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which are not stored

smartquotes = False  # "--full" is an option, and quotes are those of the code
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Pages show other people's code; a prompt that is copied with it does not run.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

autodoc_typehints = "none"  # the docstrings say it, in words and with shapes
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = gallery.settings(HERE)

html_theme = "pydata_sphinx_theme"
html_title = "holdfast"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "holdfast"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc", "markdown-twin"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["markdown-index"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


def setup(app):
    """Make what is made from the package, before pages are read and after they are written."""
    gallery.discard_stale(HERE)
    report.write_wine_report(HERE / "_extra" / "wine-report.html")
    front.draw_pictures(HERE / "_made")
    reference.write_pages(HERE / "reference")
    pages.write_shown_files(HERE)
    pages.connect(app)
    twins.connect(app)
