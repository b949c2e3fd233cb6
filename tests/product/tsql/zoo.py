"""Reads the statement lists under ``zoo/``."""

from __future__ import annotations

from pathlib import Path

ZOO = Path(__file__).parent / "zoo"


def read(name: str) -> list[tuple[str, str]]:
    """Return (batch, expectation) of every line of one list."""
    lines = (ZOO / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    return [tuple(line.rsplit(" --> ", 1)) for line in lines if line and not line.startswith("--")]


def accepted() -> list[tuple[str, str]]:
    """Return every batch the parser must take, with its statements' classes."""
    names = sorted(path.stem for path in ZOO.glob("*.sql") if path.stem != "refused")
    return [entry for name in names for entry in read(name)]
