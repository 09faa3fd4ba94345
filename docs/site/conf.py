"""The documentation as a site: `make docs`. Its pages are the same files that GitHub shows."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import tinyssb_node  # noqa: E402 - from this copy

project = "tinySSB node"
author = "the tinySSB node contributors"
project_copyright = "Apache License 2.0"
release = tinyssb_node.version()
html_title = f"{project} {release}"

extensions = ["myst_parser", "sphinx_external_toc", "sphinx.ext.autodoc", "sphinxarg.ext"]
external_toc_path = str(Path(__file__).parent / "toc.yml")
include_patterns = ["*.md", "docs/**.md", "docs/site/*.rst", "hw/**.md", "tests/vectors/**.md"]
exclude_patterns = [".venv", "build", "dist"]
highlight_language = "none"  # blocks without a language are diagrams and lines of formats

myst_heading_anchors = 6  # links name headings as GitHub does

autodoc_member_order = "bysource"

html_theme = "furo"
html_extra_path = ["index.html"]
html_static_path = ["print.css"]
html_search_scorer = str(Path(__file__).with_name("search_order.js"))
html_css_files = ["print.css"]
html_show_sphinx = False
html_copy_source = False
