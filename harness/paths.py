"""Where the files of this checkout are: the one place that counts folders."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SQL = ROOT / "sql"
"""Configurations, templates, what is rendered from them, probes, known-bad text."""
CONFIGS = SQL / "configs"
TEMPLATES = SQL / "templates"
GENERATED = SQL / "generated"
DOCS = ROOT / "docs"
