"""Microsoft's own parser (tools/tsql_oracle.py), in a process of its own; it may be absent."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.render.renderer import SQL

TOOL = SQL.parent / "tools" / "tsql_oracle.py"
GRAMMAR = "130"
"""Compatibility level whose grammar is asked: the oldest server the package is for."""

_CALLED = re.compile(r"\b\w+(?=\s*\()")


class OracleAbsent(Exception):
    """It could not be run; the text is its own reason, in one line."""


def findings(paths: list[Path]) -> list[str]:
    """Its findings on those files, ``file:line:column number text``. Raises OracleAbsent."""
    status, text = _run(["--version", GRAMMAR, *map(str, paths)])
    return [line for line in text.splitlines() if line] if status else []


def normal_form(sql: str, *, partial: bool = False) -> str:
    """How it prints a script: without comments, in its own layout. Raises OracleAbsent.

    Names before a parenthesis are in lower case: built-in functions are found in any. partial: a
    batch it cannot read (newer T-SQL) becomes a line that says so; otherwise ValueError is raised.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.sql"
        path.write_text(sql, encoding="utf-8")
        status, text = _run(["--normalize", str(path)])
    if status and not partial:
        raise ValueError(text[-500:])
    text = re.sub(rf"^{re.escape(str(path))}:.*$", "(not read)", text, flags=re.M)
    return _CALLED.sub(lambda word: word[0].lower(), text)


def _run(arguments: list[str]) -> tuple[int, str]:
    """Exit status (0 clean, 1 findings) and what it printed."""
    done = subprocess.run(
        [sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise OracleAbsent(said[-1] if said else f"exit status {done.returncode}")
    return done.returncode, done.stdout
