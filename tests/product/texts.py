"""What tests ask of rendered T-SQL as text."""

from __future__ import annotations

import re

CALLED = re.compile(r"(?:GRANT EXECUTE ON|PROCEDURE_NAME =) [^;]*?\.\[(usp_\w+)\]")


def code(text: str) -> str:
    """T-SQL without comments and literals."""
    return re.sub(r"/\*.*?\*/|--[^\n]*|N?'(?:[^']|'')*'", " ", text, flags=re.S)


def called_from_outside(scripts: dict[str, str]) -> set[str]:
    """Procedures that a role may execute or a queue starts; scripts: file name -> T-SQL."""
    return {
        name
        for file, text in scripts.items()
        if file[:2].isdigit()
        for name in CALLED.findall(text)
    }
