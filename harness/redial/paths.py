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


def template_folders(templates: Path) -> list[Path]:
    """Where a name such as ``72_send/row.inc.j2`` is looked for: the folder itself, in which a mutant
    has its areas, and that of each module."""
    return [templates, *sorted({area.parent for area in templates.glob("*/[0-9][0-9]_*/")})]


CLONE = _clone()
ROOT = CLONE or PACKAGE
"""Of the clone; where there is none, of what is shipped."""
SQL = ROOT / "sql"
"""Configurations, templates, what is rendered from them, probes, known-bad text."""
CONFIGS = SQL / "configs"
TEMPLATES = SQL / "templates"
"""A folder a module, in which the areas are, and what keys of a conversation differ in."""
GENERATED = SQL / "generated"
DOCS = ROOT / "docs"
PAGES = DOCS / "generated"
"""Pages made by ``redial pages``."""
EVIDENCE = ROOT / "evidence"
"""What was found by machine, for the pages: results of searches, traces, examples."""
