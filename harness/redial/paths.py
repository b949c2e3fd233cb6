"""Where files are: what is shipped with the package, and the clone it is run from, if it is one."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

PACKAGE = Path(str(files("redial")))
SOURCES = PACKAGE.parent
"""The folder on Python's path that holds our packages."""


def _clone() -> Path | None:
    """The clone this package is part of: the nearest folder above that has its templates."""
    above = (folder for folder in PACKAGE.parents if (folder / "sql" / "templates").is_dir())
    return next(above, None)


CLONE = _clone()
ROOT = CLONE or PACKAGE
"""Of the clone; where there is none, of what is shipped."""
SQL = ROOT / "sql"
"""Configurations, templates, what is rendered from them, probes, known-bad text."""
CONFIGS = SQL / "configs"
TEMPLATES = SQL / "templates"
GENERATED = SQL / "generated"
DOCS = ROOT / "docs"
PAGES = DOCS / "generated"
"""Pages made by ``redial pages``."""
EVIDENCE = ROOT / "evidence"
"""What was found by machine, for the pages: results of searches, traces, examples."""
